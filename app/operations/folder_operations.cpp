// SPDX-License-Identifier: Apache-2.0
// Folders of problems: made from a kernel, and their references run on inputs of the caller's.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/operations/kernel_request.h"
#include "app/operations/written_path.h"
#include "app/setup/assembler.h"
#include "codegen/source/skeleton.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/hash.h"
#include "runtime/check/dump_files.h"
#include "runtime/evaluator/reference_dump.h"

namespace ak::operations {
namespace {

namespace fs = std::filesystem;

const Workload& chosen_workload(const ProblemInstance& problem, const Json& request) {
  std::vector<std::string> names;
  for (const Workload& workload : problem.workloads) names.push_back(workload.name);
  const std::string wanted = request.value("workload", names.size() == 1 ? names.front() : "");
  const auto found = std::ranges::find(problem.workloads, wanted, &Workload::name);
  if (found == problem.workloads.end())
    fail(ExitCode::usage, "workload '{}': expected one of {}", wanted, fmt::join(names, ", "));
  return *found;
}

/// What the folder of the request has to hold. Throws Error(usage) with the name of a file that is missing.
void check_given_files(const ProblemInstance& problem, const Workload& workload, const fs::path& folder) {
  for (const TensorSpec& input : problem.definition.inputs) {
    const std::string name = runtime::given_input_file(workload.name, input.name);
    if (!fs::is_regular_file(folder / name))
      fail(ExitCode::usage, "folder '{}': expected the file {} with the values of '{}'", folder.string(),
           name, input.name);
  }
}

}  // namespace

Answer new_problem(const Json& request, const Context&, const Callbacks&) {
  const fs::path folder = new_folder(request["folder"]);
  const std::vector<std::string> open = codegen::new_problem(folder, request["path"].get<std::string>());
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().filename().string());
  std::ranges::sort(files);
  return {.content = {{"folder", folder.string()}, {"files", files}, {"to_fill_in", open}}};
}

Answer run_reference(const Json& request, const Context& context, const Callbacks&) {
  const auto problem = instance_of(problem_of(request, ""), request, {});
  const Workload& workload = chosen_workload(*problem, request);
  const fs::path folder = below_working_directory(request["folder"], "folder");
  check_given_files(*problem, workload, folder);
  const app::Target target = target_of(request, context);
  if (!target.executes() || !target.device)
    fail(ExitCode::usage, "a reference needs a device that runs kernels: {}", target.notice);
  const Outcome outcome = runtime::dump_references(app::evaluator_options(target, context.config),
                                                   app::source_assembler(), *target.device,
                                                   {.problem = problem,
                                                    .workloads = {workload.name},
                                                    .seed = random_seed() >> 1,
                                                    .folder = folder,
                                                    .given_only = true});
  if (outcome.status != Status::ok) fail(ExitCode::bad_input, "{}", explain(outcome));
  const Json index = parse_json(read_file(folder / "index.json"));
  const Json& data = index.at("data_sets").at(0);
  return {.content = {{"workload", workload.name}, {"inputs", data["inputs"]}, {"outputs", data["outputs"]}}};
}

}  // namespace ak::operations
