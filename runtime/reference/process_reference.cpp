// SPDX-License-Identifier: Apache-2.0
#include "runtime/reference/process_reference.h"

#include <algorithm>
#include <filesystem>

#include "core/text/suggest.h"
#include "runtime/reference/reference_fault.h"

namespace ak::runtime {
namespace {

using std::chrono::milliseconds;

// The parent waits a little longer than this process, which knows more of what went wrong.
constexpr double kParentMarginMs = 30'000;
// What a plain kernel takes, for the limits of candidates: it loads and stores elements, computes addresses and
// loops (chosen; budgets are a hundred times of it).
constexpr double kInstructionsAnOperation = 4, kInstructionsAnElement = 16, kLanes = 32;
// Warp instructions that the CPU device runs in a millisecond at least (docs/cpu_device.md has tens of millions a
// second on one core; checks and busy machines take their share).
constexpr double kEmulatedPerMs = 1'000;
// Of packages beside a reference (chosen).
constexpr int kPackageDepth = 3;
constexpr std::size_t kMaxNote = 500, kMaxNotes = 20;

milliseconds call_limit() { return milliseconds(static_cast<std::int64_t>(kReferenceLimitMs)); }

bool on_gpu(const OpenProblem& problem) {
  return problem.device == DeviceKind::cuda && !problem.python->on_cpu;
}

Json layouts(const OpenProblem& problem) {
  Json list = Json::array();
  for (const TensorLayout& tensor : problem.tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", info(tensor.dtype).name},
                    {"output", tensor.output},
                    {"scalar", tensor.scalar}});
  }
  return list;
}

/// Names, sizes and times of the files beside it that a reference may import or load.
Json files_beside(const std::filesystem::path& reference) {
  std::vector<Json> files;
  std::error_code gone;
  for (auto file = std::filesystem::recursive_directory_iterator(reference.parent_path(), gone);
       !gone && file != std::filesystem::recursive_directory_iterator(); file.increment(gone)) {
    if (file.depth() >= kPackageDepth) file.disable_recursion_pending();
    const std::string kind = file->path().extension().string();
    if (kind == ".json" || kind == ".jsonl" || kind == ".cu" || !file->is_regular_file(gone)) continue;
    files.push_back({file->path().string(), file->file_size(gone),
                     file->last_write_time(gone).time_since_epoch().count()});
  }
  std::ranges::sort(files);
  return files;
}

ReferenceLaunch launch_of(const OpenProblem& problem, const std::optional<DeviceExchange>& exchange) {
  const PythonProcess& python = *problem.python;
  ReferenceLaunch launch{.program = python.program,
                         .path = python.path,
                         .readable = python.readable,
                         .gpu = on_gpu(problem),
                         .ordinal = problem.ordinal,
                         .device_memory = exchange ? exchange->descriptor() : -1,
                         .device_memory_bytes = exchange ? exchange->bytes() : 0,
                         .starter = python.starter,
                         .shared_as = Json{python.file, python.source_hash, files_beside(python.file),
                                           python.kind, python.options, layouts(problem)}
                                          .dump()};
  launch.readable.push_back(std::filesystem::path(python.file).parent_path().string());
  // On the CPU device there is a process for every core.
  launch.threads = launch.gpu ? 0 : 1;
  return launch;
}

std::string file_name(const OpenProblem& problem) {
  return std::filesystem::path(problem.python->file).filename().string();
}

// PyTorch takes a second to load, from a network's disk a minute.
void report_start(const RunContext& run_context) {
  run_context.report({.activity = "reference",
                      .what = "starting Python for " + file_name(run_context.problem),
                      .limit_ms = 2 * kReferenceLimitMs + kParentMarginMs});
}

}  // namespace

/// The twin as something that a candidate's place can be given to.
class ProcessReference::TwinCall final : public LibraryCall {
 public:
  TwinCall(ProcessReference& reference, const WorkloadLayout& workload, std::string mutation,
           ScalarValues scalars)
      : reference_(reference),
        workload_(workload),
        mutation_(std::move(mutation)),
        scalars_(std::move(scalars)) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<Outcome> enqueue(const AddressTable& addresses, CUstream) const override {
    if (auto failed = reference_.select(workload_)) return failed;
    reference_.sent_contents_ = 0;
    const auto cost = reference_.compute_with(ReferencePart::twin, mutation_, addresses, scalars_, true);
    reference_.sent_contents_ = 0;
    if (!cost) return cost.error();
    return std::nullopt;
  }

 private:
  ProcessReference& reference_;
  const WorkloadLayout& workload_;
  std::string mutation_;
  ScalarValues scalars_;
  std::string name_ = "the reference's twin";
};

ProcessReference::ProcessReference(RunContext& run_context)
    : run_context_(run_context),
      process_((report_start(run_context), make_device_exchange(),
                launch_of(run_context.problem, device_exchange_))),
      exchange_(process_, run_context.stream) {
  // PyTorch may have found no GPU, or not its memory; it says why in a note.
  if (device_exchange_ && process_.facts().value("exchange", Json()) == Json("device"))
    exchange_.use(*device_exchange_);
  open();
}

void ProcessReference::make_device_exchange() {
  if (on_gpu(run_context_.problem)) device_exchange_.emplace();
}

void ProcessReference::open() {
  const PythonProcess& python = *run_context_.problem.python;
  const auto opened = process_.ask({{"do", "open"},
                                    {"file", python.file},
                                    {"source_hash", python.source_hash},
                                    {"kind", python.kind},
                                    {"options", python.options},
                                    {"tensors", layouts(run_context_.problem)}},
                                   call_limit());
  if (!opened) fail(ExitCode::bad_input, "{}: {}", python.file, opened.error().message);
}

Outcome ProcessReference::fault(const std::string& what, const ReferenceFailure& failure) const {
  return reference_fault(fmt::format("{}, {}: {}", file_name(run_context_.problem), what, failure.message));
}

Result<Json, Outcome> ProcessReference::ask(Json request, const std::string& what) {
  run_context_.report(
      {.activity = "reference", .what = what, .limit_ms = kReferenceLimitMs + kParentMarginMs});
  auto answer = process_.ask(std::move(request), call_limit());
  if (!answer) return fault(what, answer.error());
  return std::move(answer).value();
}

std::optional<Outcome> ProcessReference::select(const WorkloadLayout& workload) {
  if (selected_ == &workload) return std::nullopt;
  selected_ = nullptr;
  sent_contents_ = 0;
  const auto answer = ask({{"do", "workload"}, {"axes", workload.axes}, {"shapes", workload.shapes}},
                          "workload " + workload.name);
  if (!answer) return answer.error();
  selected_ = &workload;
  return std::nullopt;
}

std::vector<TensorExchange::Tensor> ProcessReference::passing(bool outputs,
                                                              const AddressTable& tensors) const {
  std::vector<TensorExchange::Tensor> list;
  const auto& layouts = run_context_.problem.tensors;
  for (std::size_t i = 0; i < layouts.size(); ++i)
    if (layouts[i].output == outputs && !layouts[i].scalar)
      list.push_back({.index = i, .memory = tensors.at(layouts[i].name)});
  return list;
}

std::size_t ProcessReference::working_bytes(const WorkloadLayout& workload) const {
  if (!on_gpu(run_context_.problem)) return 0;
  std::size_t bytes = 0, largest = 0;
  for (std::size_t i = 0; i < workload.shapes.size(); ++i) {
    const std::size_t in_float64 = static_cast<std::size_t>(workload.elements(i)) * sizeof(double);
    bytes +=
        in_float64 + (run_context_.problem.tensors[i].output ? 0 : run_context_.tensor_bytes(workload, i));
    largest = std::max(largest, in_float64);
  }
  return bytes + largest;  // one tensor between its operators; a module of many may want more
}

void ProcessReference::hold_memory(bool held) noexcept try {
  holds_memory_ = held;
  if (held || !std::exchange(may_have_memory_, false) || !on_gpu(run_context_.problem)) return;
  // Where it fails, so does the next request.
  static_cast<void>(process_.ask({{"do", "release"}}, call_limit()));
} catch (const std::exception&) {  // of memory for the request
}

/// In slices.
std::optional<Outcome> ProcessReference::send_inputs(const std::vector<TensorExchange::Tensor>& inputs) {
  for (const auto& [index, memory] : inputs) {
    const std::string what =
        fmt::format("input '{}' of workload {}", run_context_.problem.tensors[index].name, selected_->name);
    run_context_.report(
        {.activity = "reference", .what = what, .limit_ms = kReferenceLimitMs + kParentMarginMs});
    if (auto failed = exchange_.send(index, memory)) return fault(what, *failed);
  }
  return std::nullopt;
}

std::optional<Outcome> ProcessReference::receive_outputs(const std::vector<TensorExchange::Tensor>& outputs) {
  for (const auto& [index, memory] : outputs) {
    const std::string what =
        fmt::format("output '{}' of workload {}", run_context_.problem.tensors[index].name, selected_->name);
    run_context_.report(
        {.activity = "reference", .what = what, .limit_ms = kReferenceLimitMs + kParentMarginMs});
    if (auto failed = exchange_.receive("get", index, memory)) return fault(what, *failed);
  }
  return std::nullopt;
}

ReferenceCost ProcessReference::cost_of(const WorkloadLayout& workload, double ms) const {
  if (run_context_.inspector == nullptr) return {.ms = ms};
  double elements = 0;
  for (std::size_t i = 0; i < workload.shapes.size(); ++i)
    elements += static_cast<double>(workload.elements(i));
  const double instructions =
      (kInstructionsAnOperation * workload.operations + kInstructionsAnElement * elements) / kLanes;
  return {.ms = instructions / kEmulatedPerMs, .instructions = static_cast<std::uint64_t>(instructions)};
}

/// On the inputs that the process has, or is sent now.
/// @param fresh computed now, whatever the process remembers: whoever asks wants to see that it does not change
Result<ReferenceCost, Outcome> ProcessReference::compute_with(ReferencePart part, const std::string& mutation,
                                                              const AddressTable& tensors,
                                                              const ScalarValues& scalars, bool fresh) {
  const auto inputs = passing(false, tensors), outputs = passing(true, tensors);
  const bool exact = part == ReferencePart::exact, at_once = exchange_.fits(outputs);
  Json request{{"do", "compute"},      {"part", exact ? "exact" : "twin"},
               {"mutation", mutation}, {"scalars", scalars},
               {"fresh", fresh},       {"hold", holds_memory_ || exact}};  // the twin's result is next
  may_have_memory_ = true;
  if (sent_contents_ == 0) {
    if (exchange_.fits(inputs)) {
      exchange_.put_all(inputs);
      request["puts"] = exchange_.places(inputs);
    } else if (auto failed = send_inputs(inputs)) {
      return *failed;
    }
  }
  if (at_once) request["gets"] = exchange_.places(outputs);
  const auto answer = ask(std::move(request), fmt::format("the {} result on workload {}",
                                                          exact ? "exact" : "twin's", selected_->name));
  if (!answer) return answer.error();
  add_notes(*answer);
  if (at_once) exchange_.take_all(outputs);
  if (!at_once)
    if (auto failed = receive_outputs(outputs)) return *failed;
  if (run_context_.inspector != nullptr)
    for (const auto& output : outputs) run_context_.inspector->mark_contents(output.memory, true);
  const Json ms = answer->value("ms", Json());
  return cost_of(*selected_, ms.is_number() ? ms.get<double>() : 0);
}

Result<ReferenceCost, Outcome> ProcessReference::compute(ReferencePart part, const WorkloadLayout& workload,
                                                         const AddressTable& tensors,
                                                         const ScalarValues& scalars,
                                                         std::uint64_t contents) {
  const Key key{workload.name, part, contents};
  if (ReferenceCost cost; recall(key, tensors, cost)) return cost;
  if (auto failed = select(workload)) return *failed;
  if (sent_contents_ != contents) sent_contents_ = 0;
  const auto cost = compute_with(part, "", tensors, scalars, false);
  sent_contents_ = cost ? contents : 0;
  if (cost) remember(key, tensors, *cost);
  return cost;
}

bool ProcessReference::recall(const Key& key, const AddressTable& tensors, ReferenceCost& cost) {
  const ResultCache::Results* const known = cache_.find(key);
  if (known == nullptr) return false;
  std::size_t next = 0;
  for (const TensorLayout& tensor : run_context_.problem.tensors) {
    if (!tensor.output) continue;
    const std::vector<std::byte>& bytes = known->outputs[next++];
    const BufferView to = tensors.at(tensor.name);
    check(driver().cuMemcpyHtoDAsync(to.address, bytes.data(), bytes.size(), run_context_.stream),
          "writing a known result");
    if (run_context_.inspector != nullptr) run_context_.inspector->mark_contents(to, true);
  }
  run_context_.synchronize("the writing of known results");
  cost = known->cost;
  return true;
}

void ProcessReference::remember(const Key& key, const AddressTable& tensors, const ReferenceCost& cost) {
  ResultCache::Results results{.cost = cost, .outputs = {}};
  std::size_t bytes = 0;
  for (const TensorLayout& tensor : run_context_.problem.tensors)
    if (tensor.output) bytes += tensors.at(tensor.name).bytes;
  if (!ResultCache::holds(bytes)) return;
  for (const TensorLayout& tensor : run_context_.problem.tensors) {
    if (!tensor.output) continue;
    const BufferView from = tensors.at(tensor.name);
    auto& output = results.outputs.emplace_back(from.bytes);
    check(driver().cuMemcpyDtoH(output.data(), from.address, from.bytes), "keeping a result");
  }
  cache_.put(key, std::move(results));
}

Result<CandidateRun, Outcome> ProcessReference::bind_twin(std::shared_ptr<const DataSet> data,
                                                          const std::string& mutation,
                                                          const ScalarValues* scalars) {
  auto call =
      std::make_shared<TwinCall>(*this, *data->workload, mutation, scalars ? *scalars : data->scalars);
  return CandidateRun::create(run_context_, std::move(data), std::move(call));
}

std::optional<Outcome> ProcessReference::draw(const WorkloadLayout& workload, std::uint64_t seed,
                                              const AddressTable& tensors) {
  if (auto failed = select(workload)) return failed;
  const auto& layouts = run_context_.problem.tensors;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < layouts.size(); ++i)
    if (tensors.contains(layouts[i].name)) wanted.push_back(i);
  const std::string what = "its own inputs for workload " + workload.name;
  const auto drawn = ask({{"do", "draw"}, {"tensors", wanted}, {"seed", seed}}, what);
  if (!drawn) return drawn.error();
  for (const std::size_t i : wanted)
    if (auto failed = exchange_.receive("take_drawn", i, tensors.at(layouts[i].name)))
      return fault(what, *failed);
  return std::nullopt;
}

void ProcessReference::add_notes(const Json& answer) {
  const Json notes = answer.value("notes", Json::array());
  if (!notes.is_array()) return;
  for (const Json& note : notes) {
    if (!note.is_string() || notes_.size() >= kMaxNotes) continue;
    std::string text = sanitize(note.get_ref<const std::string&>(), kMaxNote);
    if (std::ranges::find(notes_, text) == notes_.end()) notes_.push_back(std::move(text));
  }
}

}  // namespace ak::runtime
