// SPDX-License-Identifier: Apache-2.0
#include "app/baselines/pytorch_turns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "app/baselines/drawn_integers.h"
#include "app/baselines/turn_row.h"
#include "baseline_python_files.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/suggest.h"
#include "runtime/build/candidate_plan.h"
#include "runtime/process/program_output.h"
#include "runtime/process/scratch_folder.h"
#include "runtime/reference/python_installation.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// A compilation may take seven minutes on either side, the turns themselves one (turns.py); generously.
constexpr std::chrono::minutes kBaselineLimit{20};

void write_files(const fs::path& folder, std::span<const EmbeddedFile> files) {
  for (const EmbeddedFile& file : files) {
    fs::create_directories((folder / file.name).parent_path());
    write_file_atomically(folder / file.name, std::string(file.text));
  }
}

bool wants_tf32(const ProblemInstance& problem) {
  const auto found = problem.params.find("precision");
  return found != problem.params.end() && to_string(found->second) == "tf32";
}

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) std::visit([&](const auto& known) { json[name] = known; }, value);
  return json;
}

/// What PyTorch computes: the problem's own file, or what a user would write for a shipped problem.
Json subject_json(const ProblemInstance& problem, const fs::path& packages) {
  if (!problem.python)
    return {{"kind", "expression"}, {"problem", problem.problem}, {"params", params_json(problem.params)}};
  return {{"kind", "reference"},
          {"file", problem.python->file},
          {"form", problem.python->kind},
          {"options", problem.python->options},
          {"package", packages.string()}};
}

/// Every size of a workload, with derived ones.
AxisValues all_sizes(const ProblemInstance& problem, const Workload& workload) {
  AxisValues sizes = workload.axes;
  const Environment known = problem.environment(workload.axes);
  for (const Axis& axis : problem.definition.axes)
    if (axis.value || axis.derived) sizes[axis.name] = std::get<std::int64_t>(known.at(axis.name));
  return sizes;
}

Json shape_json(const TensorSpec& tensor, const AxisValues& sizes) {
  Json shape = Json::array();
  for (const std::string& axis : *tensor.shape) shape.push_back(sizes.at(axis));
  return shape;
}

/// [name, shape, dtype], or [name, null, value] of a scalar.
Json input_json(const TensorSpec& tensor, const AxisValues& sizes) {
  if (tensor.is_scalar()) return {tensor.name, nullptr, tensor.values.front()};
  return {tensor.name, shape_json(tensor, sizes), info(tensor.dtype).name};
}

Json output_json(const ProblemInstance& problem, const TensorSpec& tensor, const AxisValues& sizes) {
  const auto alias = problem.aliases.find(tensor.name);
  return {{"name", tensor.name},
          {"shape", shape_json(tensor, sizes)},
          {"dtype", info(tensor.dtype).name},
          {"alias", alias == problem.aliases.end() ? "" : alias->second},
          {"zeroed", tensor.zeroed}};
}

/// The launches of the kernel on a workload; null in a rehearsal. Throws Error(no_kernel).
Json plan_json(const PytorchTurnsRequest& request, const Workload& workload) {
  if (request.build == nullptr) return nullptr;
  const auto plans = runtime::resolve_plans(request.problem, request.candidate, {&workload}, request.device);
  if (!plans) fail(ExitCode::no_kernel, "{}: {}", request.candidate.name, plans.error().message);
  return to_json(plans->front().plan);
}

/// drawn: a folder for values that the other process cannot draw. A problem's own file draws all of its inputs.
Json workload_json(const PytorchTurnsRequest& request, const Workload& workload, const fs::path& drawn) {
  const AxisValues sizes = all_sizes(request.problem, workload);
  Json json{{"name", workload.name},
            {"axes", sizes},
            {"inputs", Json::array()},
            {"outputs", Json::array()},
            {"plan", plan_json(request, workload)},
            {"drawn", request.problem.python ? Json::object()
                                             : write_drawn_integers(request.problem, workload, drawn)}};
  for (const TensorSpec& tensor : request.problem.definition.inputs)
    json["inputs"].push_back(input_json(tensor, sizes));
  for (const TensorSpec& tensor : request.problem.definition.outputs)
    json["outputs"].push_back(output_json(request.problem, tensor, sizes));
  return json;
}

Json workloads_json(const PytorchTurnsRequest& request, const fs::path& folder) {
  Json list = Json::array();
  for (const Workload& workload : request.problem.workloads)
    if (std::ranges::find(request.workloads, workload.name) != request.workloads.end())
      list.push_back(workload_json(request, workload, folder / "drawn" / std::to_string(list.size())));
  return list;
}

/// Writes the kernel's machine code, and says what a process loads of it.
Json request_json(const PytorchTurnsRequest& request, const fs::path& folder) {
  Json json{{"subject", subject_json(request.problem, folder / "packages")},
            {"cubin", nullptr},
            {"symbols", Json::object()},
            {"workloads", workloads_json(request, folder)},
            {"baselines", request.baselines},
            {"rounds", request.rounds},
            {"rehearse", request.rehearse},
            {"tf32", wants_tf32(request.problem)}};
  if (request.build == nullptr) return json;
  write_file_atomically(folder / "kernel.cubin", request.build->cubin);
  json["cubin"] = (folder / "kernel.cubin").string();
  for (const KernelFacts& kernel : request.build->kernels)
    json["symbols"][kernel.expression] = kernel.lowered_name;
  return json;
}

/// Caches of compilers go where the folder goes.
std::vector<std::string> environment(const fs::path& folder) {
  std::vector<std::string> list = runtime::python_environment();
  for (const char* cache : {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"})
    list.push_back(fmt::format("{}={}", cache, (folder / "caches").string()));
  return list;
}

/// What the program prints, line by line; what is no such line ends it.
class Lines {
 public:
  Lines(const PytorchTurnsRequest& request, const std::function<void(std::string_view)>& on_progress)
      : asked_{.workloads = request.workloads, .labels = {}, .rehearse = request.rehearse},
        on_progress_(on_progress) {
    for (const PytorchBaseline& one : kPytorchBaselines)
      if (std::ranges::find(request.baselines, one.name) != request.baselines.end())
        asked_.labels.emplace_back(one.label);
  }

  void take(std::string_view line) {
    const Json json = try_parse_json(std::string(line));
    if (json.contains("progress")) return progress(json["progress"]);
    if (json.contains("fault")) return found.notes.push_back(fault_note(json["fault"]));
    if (!json.contains("row")) return;
    Result<TurnRow> row = read_turn_row(json["row"], asked_);
    if (!row) return found.notes.push_back("turns with PyTorch: " + row.error().message);
    found.device = row->device;
    found.turns.push_back(std::move(row->turns));
  }

  PytorchTurns found;

 private:
  void progress(const Json& text) const {
    constexpr std::size_t kMaxText = 200;
    if (text.is_string() && on_progress_) on_progress_(sanitize(text.get<std::string>(), kMaxText));
  }

  AskedTurns asked_;
  const std::function<void(std::string_view)>& on_progress_;
};

}  // namespace

std::vector<std::string> parse_baselines(const std::string& list) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  for (const auto part : std::views::split(list, ',')) {
    const std::string name(part.begin(), part.end());
    if (std::ranges::find(kPytorchBaselines, name, &PytorchBaseline::name) == kPytorchBaselines.end()) {
      std::vector<std::string> known;
      for (const PytorchBaseline& one : kPytorchBaselines) known.emplace_back(one.name);
      fail(ExitCode::usage, "there is no baseline '{}'{}; expected some of {}", sanitize(name, 40),
           did_you_mean(name, known), fmt::join(known, ", "));
    }
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

PytorchTurns pytorch_turns(const PytorchTurnsRequest& request,
                           const std::function<void(std::string_view)>& on_progress,
                           const std::atomic<bool>* stop) {
  const runtime::PythonInstallation python = runtime::find_python(request.python);
  const runtime::ScratchFolder folder;
  write_files(folder.path() / "turns", baseline_python_files());
  write_files(folder.path() / "packages" / "alphakernel_reference", runtime::reference_package());
  Lines lines(request, on_progress);
  const auto limit = kBaselineLimit * static_cast<int>(request.workloads.size() * request.baselines.size());
  const auto ended =
      runtime::output_of({python.program, "-B", (folder.path() / "turns" / "turns.py").string()},
                         environment(folder.path()), limit,
                         {.input = request_json(request, folder.path()).dump() + "\n",
                          .on_line = [&](std::string_view line) { lines.take(line); },
                          .stop = stop,
                          .last_words = true});
  if (!ended) lines.found.notes.push_back("turns with PyTorch: " + ended.error().message);
  return std::move(lines.found);
}

}  // namespace ak::app
