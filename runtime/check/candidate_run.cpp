// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/candidate_run.h"

namespace ak::runtime {
namespace {

// A candidate that issues a hundred times the plain reference's warp instructions is taken for hung; the
// constant part is for loops that wait, and for shapes where the reference does next to nothing.
constexpr std::uint64_t kInstructionsPerReference = 100;
constexpr std::uint64_t kMinInstructions = 1'000'000;
constexpr double kLeastLimitMs = 2'000;  // loading and start-up
// A library loads its kernels when they are first called: among four H200 at work that took over two seconds a few times.
constexpr double kLibraryLimitMs = 30'000;
// On the CPU device the instruction budget ends a hang; this is for the emulator itself to hang: checks slow
// a launch down by up to ten times.
constexpr double kEmulatedLimitMs = 30'000, kEmulatedReferences = 10 * kInstructionsPerReference;

Outcome fault(Gate gate, Status status, StageId stage, std::string message) {
  return {.status = status, .stage = stage, .message = std::move(message), .diagnostics = {}, .gate = gate};
}

}  // namespace

Result<CandidateRun, Outcome> CandidateRun::create(RunContext& run_context,
                                                   std::shared_ptr<const DataSet> data,
                                                   const ResolvedPlan& plan, const LoadedImage& image,
                                                   bool separate_outputs, const CandidateRun* outputs_of) {
  CandidateRun run(run_context, std::move(data));
  run.own_file_ = image.file_name();
  if (auto failed = run.allocate(plan, separate_outputs, outputs_of)) return *failed;
  auto prepared = PreparedPlan::prepare(plan, image, run.addresses_);
  if (!prepared) return prepared.error();
  run.plan_ = std::move(prepared).value();
  return run;
}

Result<CandidateRun, Outcome> CandidateRun::create(RunContext& run_context,
                                                   std::shared_ptr<const DataSet> data,
                                                   std::shared_ptr<const LibraryCall> call,
                                                   const CandidateRun* outputs_of) {
  CandidateRun run(run_context, std::move(data));
  run.library_ = std::move(call);
  if (auto failed = run.allocate({}, true, outputs_of)) return *failed;
  return run;
}

void CandidateRun::clear(BufferView data) const {
  check(driver().cuMemsetD8Async(data.address, 0, data.bytes, run_context_->stream), "clearing a buffer");
}

std::optional<Outcome> CandidateRun::allocate(const ResolvedPlan& plan, bool separate_outputs,
                                              const CandidateRun* outputs_of) try {
  const auto add = [&](const std::string& name, const std::string& what, DType dtype, std::size_t bytes,
                       bool zeroed) {
    auto buffer = std::make_shared<GuardedBuffer>(bytes, run_context_->random_shift(), what);
    buffer->arm_guards(run_context_->stream);
    // What a harness without poison would hand out: fresh memory.
    if (!gate_enabled(Gate::poison)) clear(buffer->data());
    addresses_[name] = buffer->data();
    buffers_.push_back(
        {.name = name, .what = what, .dtype = dtype, .buffer = std::move(buffer), .zeroed = zeroed});
    if (run_context_->inspector != nullptr)
      run_context_->inspector->name_region(addresses_[name], what, false);
  };
  for (const InputData& input : data_->inputs)
    addresses_[run_context_->problem.tensors[input.tensor].name] = input.buffer.data();
  for (std::size_t i = 0; i < run_context_->problem.tensors.size(); ++i) {
    const TensorLayout& tensor = run_context_->problem.tensors[i];
    if (!tensor.output) continue;
    if (!tensor.alias_of.empty() && !separate_outputs) {
      addresses_[tensor.name] = addresses_.at(tensor.alias_of);
    } else if (outputs_of != nullptr) {
      buffers_.push_back(*std::ranges::find(outputs_of->buffers_, tensor.name, &OwnBuffer::name));
      addresses_[tensor.name] = buffers_.back().buffer->data();
    } else {
      add(tensor.name, fmt::format("output '{}'", tensor.name), tensor.dtype,
          run_context_->tensor_bytes(*data_->workload, i), tensor.zeroed);
    }
  }
  for (const ResolvedWorkspace& workspace : plan.workspace) {
    const auto bytes =
        static_cast<std::size_t>(workspace.count) * static_cast<std::size_t>(info(workspace.dtype).bytes);
    add(workspace.name, fmt::format("workspace '{}'", workspace.name), workspace.dtype, bytes, false);
    buffers_.back().prepared = workspace.prepared;
  }
  return std::nullopt;
} catch (const CudaError& error) {
  if (error.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
  return fault(Gate::resources, Status::out_of_memory, StageId::check, error.what());
}

void CandidateRun::reset() const {
  for (const InputData& input : data_->inputs) {
    if (!input.aliased) continue;
    check(driver().cuMemcpyDtoDAsync(input.buffer.data().address, input.pristine.address(),
                                     input.buffer.data().bytes, run_context_->stream),
          "restoring input '{}'", run_context_->problem.tensors[input.tensor].name);
  }
  zero_outputs();
  for (const OwnBuffer& own : buffers_)
    if (!own.prepared) poison(own);
}

void CandidateRun::poison(const OwnBuffer& own) const {
  const BufferView data = own.buffer->data();
  if (!own.zeroed && gate_enabled(Gate::poison))
    check(driver().cuMemsetD8Async(data.address, poison_byte(own.dtype), data.bytes, run_context_->stream),
          "poisoning {}", own.what);
  if (run_context_->inspector != nullptr) run_context_->inspector->mark_contents(data, own.zeroed);
}

/// Whether the CPU device lets kernels read inputs that are no weights.
void CandidateRun::show_activations(bool shown) const {
  if (run_context_->inspector == nullptr || !gate_enabled(Gate::weights_only)) return;
  for (const InputData& input : data_->inputs) {
    if (!run_context_->problem.tensors[input.tensor].weight)
      run_context_->inspector->mark_contents(input.buffer.data(), shown);
  }
}

std::optional<Outcome> CandidateRun::prepare(StageId stage, const RunMode& mode) {
  if (!prepares_weights()) return std::nullopt;
  report_run();
  for (const OwnBuffer& own : buffers_)
    if (own.prepared) poison(own);
  show_activations(false);
  if (run_context_->inspector != nullptr) static_cast<void>(run_context_->inspector->take_counts());
  auto failed = execute(stage, mode, [this] { return time_preparation(); });
  show_activations(true);
  if (failed) {
    failed->message += ", while weights were prepared";
    return failed;
  }
  if (run_context_->inspector != nullptr) prepare_ns_ = run_context_->inspector->take_counts().cost_ns;
  prepared_hashes_ = hash_prepared();
  return std::nullopt;
}

/// Enqueues the launches; on a GPU it waits for them, too.
std::optional<Outcome> CandidateRun::time_preparation() {
  if (run_context_->inspector != nullptr) return plan_->enqueue_preparation(run_context_->stream);
  const EventHandle before = create_event(), after = create_event();
  check(driver().cuEventRecord(before.get(), run_context_->stream), "recording an event");
  if (auto failed = plan_->enqueue_preparation(run_context_->stream)) return failed;
  check(driver().cuEventRecord(after.get(), run_context_->stream), "recording an event");
  const CUresult result = driver().cuStreamSynchronize(run_context_->stream);
  if (result != CUDA_SUCCESS) return outcome_of(result, StageId::check, name());
  float elapsed_ms = 0;
  check(driver().cuEventElapsedTime(&elapsed_ms, before.get(), after.get()),
        "reading the time between two events");
  prepare_ns_ = static_cast<double>(elapsed_ms) * 1e6;
  return std::nullopt;
}

std::vector<std::uint64_t> CandidateRun::hash_prepared() const {
  std::vector<std::uint64_t> hashes;
  for (const OwnBuffer& own : buffers_)
    if (own.prepared) hashes.push_back(run_context_->kernels.hash(own.buffer->data()));
  return hashes;
}

std::optional<Outcome> CandidateRun::verify_prepared(StageId stage) const {
  if (!prepares_weights() || !gate_enabled(Gate::prepared_memory)) return std::nullopt;
  if (hash_prepared() == prepared_hashes_) return std::nullopt;
  return fault(Gate::prepared_memory, Status::integrity_violation, stage,
               fmt::format("{} modified prepared memory in a call on workload {}: only \"prepare\" writes it",
                           name(), data_->workload->name));
}

std::int64_t CandidateRun::prepared_bytes() const {
  std::int64_t bytes = 0;
  for (const OwnBuffer& own : buffers_)
    if (own.prepared) bytes += static_cast<std::int64_t>(own.buffer->data().bytes);
  return bytes;
}

void CandidateRun::zero_outputs() const {
  for (const OwnBuffer& own : buffers_) {
    if (own.zeroed) clear(own.buffer->data());
  }
}

double CandidateRun::limit_ms() const {
  if (run_context_->inspector != nullptr) return kEmulatedLimitMs + kEmulatedReferences * data_->reference_ms;
  // 20 times what the plain reference takes is far beyond any kernel worth keeping.
  return std::max(library_ ? kLibraryLimitMs : kLeastLimitMs, 20 * data_->reference_ms);
}

void CandidateRun::report_run(int calls) const {
  run_context_->report({.activity = "candidate",
                        .what = fmt::format("{} on workload {}", name(), data_->workload->name),
                        .limit_ms = calls * limit_ms()});
}

std::optional<Outcome> CandidateRun::run(StageId stage, const RunMode& mode) const {
  report_run();
  reset();
  return execute(stage, mode, [this] { return enqueue(); });
}

std::optional<Outcome> CandidateRun::execute(
    StageId stage, const RunMode& mode, const std::function<std::optional<Outcome>()>& enqueue_all) const {
  const ScopedInspection inspection(
      run_context_->inspector,
      {.check = true,
       .count_cost = mode.count_cost,
       .follow_bytes = mode.follow_bytes,
       .order_seed = mode.order_seed,
       .instruction_budget =
           gate_enabled(Gate::hang_watchdog)
               ? kMinInstructions + kInstructionsPerReference * data_->reference_instructions
               : 0,
       .own_file = own_file_});
  std::optional<Outcome> failed = enqueue_all();
  if (!failed) {
    const CUresult result = driver().cuStreamSynchronize(run_context_->stream);
    if (result == CUDA_SUCCESS || !gate_enabled(Gate::launch_errors)) return std::nullopt;
    failed = outcome_of(result, stage, name());
  } else if (run_context_->inspector == nullptr) {
    return failed;
  }
  failed->stage = stage;
  Outcome outcome = judged(run_context_->inspector, std::move(*failed));
  outcome.message += fmt::format(" (workload {})", data_->workload->name);
  return outcome;
}

std::optional<Outcome> CandidateRun::verify_guard(const GuardedBuffer& buffer, const std::string& what,
                                                  StageId stage) const {
  const auto message = [&](std::string_view side, const std::string& offset) {
    return fmt::format("{} wrote {} {} ({}) on workload {}", name(), side, what, offset,
                       data_->workload->name);
  };
  if (!gate_enabled(Gate::guard_bands)) return std::nullopt;
  const BufferView low = buffer.low_guard();
  if (const auto at = run_context_->kernels.scan(low, kGuardByte)) {
    return fault(Gate::guard_bands, Status::memory_error, stage,
                 message("before the start of", fmt::format("first at byte -{}", low.bytes - *at)));
  }
  if (const auto at = run_context_->kernels.scan(buffer.high_guard(), kGuardByte)) {
    return fault(Gate::guard_bands, Status::memory_error, stage,
                 message("beyond the end of", fmt::format("{} bytes long, first at byte {}",
                                                          buffer.data().bytes, buffer.data().bytes + *at)));
  }
  return std::nullopt;
}

std::optional<Outcome> CandidateRun::verify_guards(StageId stage) const {
  if (run_context_->inspector != nullptr) return std::nullopt;  // such a write has been refused and reported
  for (const OwnBuffer& own : buffers_) {
    if (auto wrong = verify_guard(*own.buffer, own.what, stage)) return wrong;
  }
  for (const InputData& input : data_->inputs) {
    const std::string& input_name = run_context_->problem.tensors[input.tensor].name;
    if (auto wrong = verify_guard(input.buffer, fmt::format("input '{}'", input_name), stage)) return wrong;
  }
  return std::nullopt;
}

std::optional<Outcome> CandidateRun::verify_inputs(StageId stage,
                                                   std::span<const std::uint64_t> hashes) const {
  if (!gate_enabled(Gate::input_hash)) return std::nullopt;
  for (std::size_t i = 0; i < data_->inputs.size(); ++i) {
    const InputData& input = data_->inputs[i];
    if (input.aliased || hashes[i] == input.hash) continue;
    return fault(Gate::input_hash, Status::integrity_violation, stage,
                 fmt::format("{} modified its input '{}' on workload {}", name(),
                             run_context_->problem.tensors[input.tensor].name, data_->workload->name));
  }
  return std::nullopt;
}

std::optional<Outcome> CandidateRun::verify_memory(StageId stage) const {
  if (auto wrong = verify_prepared(stage)) return wrong;
  if (run_context_->inspector != nullptr) return std::nullopt;
  if (auto wrong = verify_guards(stage)) return wrong;
  std::vector<std::uint64_t> hashes;
  for (const InputData& input : data_->inputs)
    hashes.push_back(input.aliased ? 0 : run_context_->kernels.hash(input.buffer.data()));
  return verify_inputs(stage, hashes);
}

BufferView CandidateRun::output(std::size_t tensor) const {
  return addresses_.at(run_context_->problem.tensors[tensor].name);
}

}  // namespace ak::runtime
