// SPDX-License-Identifier: Apache-2.0
#include "app/problem/python_problem.h"

#include <fmt/format.h>

#include "app/problem/new_folder.h"
#include "app/problem/rehearsal.h"
#include "app/setup/assembler.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/json_reader.h"
#include "core/text/written_json.h"
#include "runtime/reference/reference_process.h"
#include "runtime/reference/reference_starter.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

// A plain kernel to start from, for simple operators.
constexpr const char* kStartingKernel = "start.cu";
// Next to a file of GPU MODE.
constexpr const char* kTaskFile = "task.yml";

fs::path file_of(const PythonSource& source) {
  const fs::path file = fs::absolute(source.file).lexically_normal();
  return fs::is_directory(file) ? file / "reference.py" : file;
}

/// The workloads of a FlashInfer-Bench definition: workloads/**/NAME.jsonl next to `definitions`. Empty where there is
/// no such file.
fs::path workloads_of(const fs::path& definition) {
  fs::path at = definition.parent_path();
  while (at.filename() != "definitions" && at.has_relative_path()) at = at.parent_path();
  const fs::path folder = at.parent_path() / "workloads";
  if (definition.extension() != ".json" || !at.has_relative_path() || !fs::is_directory(folder)) return {};
  const fs::path name = definition.stem() += ".jsonl";
  fs::path found;
  for (const auto& entry :
       fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied))
    if (entry.is_regular_file() && entry.path().filename() == name && (found.empty() || entry.path() < found))
      found = entry.path();
  return found;
}

runtime::ReferenceLaunch launch_of(const PythonSource& source, const runtime::PythonInstallation& python) {
  return {.program = python.program,
          .path = python.path,
          .readable = python.readable,
          .entry = "describing.describe",
          .threads = 1,
          .starter = reference_starter()->offer(python),
          .limits = {.stop = source.stop}};
}

Json describe(const fs::path& file, const PythonSource& source, const runtime::PythonInstallation& python) {
  runtime::ReferenceLaunch launch = launch_of(source, python);
  launch.readable.push_back(file.parent_path().string());
  const fs::path workloads = workloads_of(file);
  if (!workloads.empty()) launch.readable.push_back(workloads.parent_path().string());
  runtime::ReferenceProcess process(launch);
  Json options = Json::object();
  if (source.eval) options["eval"] = true;
  if (!source.kind.empty()) options["kind"] = source.kind;
  if (!workloads.empty()) options["workloads"] = workloads.string();
  auto answer =
      process.ask({{"do", "describe"}, {"file", file.string()}, {"options", options}}, source.limit);
  if (!answer) fail(ExitCode::bad_input, "{}: {}", source.file.string(), answer.error().message);
  return std::move(answer).value();
}

std::string lines_of(const Json& rows) {
  std::string text;
  for (const Json& row : rows) text += row.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return text;
}

/// Files that the reference imports, below its own folder: a confined process says which.
void copy_modules(const fs::path& folder, const fs::path& from, const Json& modules) {
  for (const std::string& module : modules.get<std::vector<std::string>>()) {
    const fs::path path = fs::path(module).lexically_normal();
    const bool below = path.is_relative() && path.begin() != path.end() && *path.begin() != "..";
    if (!below || fs::exists(folder / path))
      fail(ExitCode::bad_input, "{}: a problem folder cannot hold the file {} that it imports", from.string(),
           module);
    fs::create_directories((folder / path).parent_path());
    write_file_atomically(folder / path, read_file(file_inside(from, path.string())));
  }
}

void write_files(const fs::path& folder, const fs::path& file, const Json& described) {
  const Json& problem = described.at("problem");
  write_file_atomically(folder / "problem.json",
                        problem.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  write_file_atomically(folder / "workloads.jsonl", lines_of(described.at("workloads")));
  const bool python = file.extension() == ".py";
  write_file_atomically(folder / "reference.py",
                        python ? read_file(file) : described.at("source").get<std::string>());
  if (described.at("kernel").is_string())
    write_file_atomically(folder / kStartingKernel, described.at("kernel").get<std::string>());
  copy_modules(folder, file.parent_path(), described.at("modules"));
  if (described.at("kind") == "gpu_mode" && fs::is_regular_file(file.parent_path() / kTaskFile))
    write_file_atomically(folder / kTaskFile, read_file(file.parent_path() / kTaskFile));
}

std::vector<std::string> texts(const Json& list) { return list.get<std::vector<std::string>>(); }

PythonProblem made_problem(const fs::path& folder, const fs::path& file, const PythonSource& source,
                           const runtime::PythonInstallation& python) {
  NewFolder made(folder);
  const Json described = describe(file, source, python);
  try {
    write_files(made.path(), file, described);
    PythonProblem problem{.name = described.at("problem").at("name").get<std::string>(),
                          .notes = texts(described.at("notes")),
                          .open = texts(described.at("open")),
                          .kernel = described.at("kernel").is_string() ? kStartingKernel : ""};
    if (described.at("degenerate").is_string())
      problem.degenerate = described.at("degenerate").get<std::string>();
    // What a confined process says is checked as a user's own folder is.
    const codegen::Problem loaded = codegen::load_problem(made.path());
    const auto instance = codegen::instantiate(loaded, codegen::choose_params(loaded, {}));
    if (const std::string fault = rehearse(*instance, launch_of(source, python), source.limit);
        !fault.empty())
      fail(ExitCode::bad_input,
           "{}: in its problem folder it does not run as it does here; it has to work with itself, the "
           "Python files that it imports from its folder and the tensors that its text names: {}",
           file.string(), fault);
    made.keep();
    return problem;
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "{}: the reference process answers out of form: {}", file.string(),
         error.what());
  }
}

}  // namespace

PythonProblem make_python_problem(const fs::path& folder, const PythonSource& source,
                                  const runtime::PythonInstallation& python) {
  const fs::path file = file_of(source);
  if (!fs::is_regular_file(file)) fail(ExitCode::bad_input, "{}: there is no such file", file.string());
  try {
    return made_problem(folder, file, source, python);
  } catch (const Error&) {
    if (source.stop == nullptr || !*source.stop) throw;
    fail(ExitCode::interrupted, "{}: interrupted; {} was not made", source.file.string(), folder.string());
  }
}

}  // namespace ak::app
