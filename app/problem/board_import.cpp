// SPDX-License-Identifier: Apache-2.0
#include "app/problem/board_import.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/text/file.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

bool holds(const fs::path& file, const char* text) { return read_file(file).find(text) != std::string::npos; }

bool is_kernelbench(const fs::path& file) {
  return file.extension() == ".py" && holds(file, "class Model(") && holds(file, "def get_inputs");
}

bool is_gpu_mode(const fs::path& file) {
  return file.filename() == "reference.py" && fs::is_regular_file(file.parent_path() / "task.yml");
}

/// definitions/OP/NAME.json
bool is_definition(const fs::path& file) {
  return file.extension() == ".json" && file.parent_path().parent_path().filename() == "definitions";
}

/// The parts of a path below the data set, as the name of one folder.
std::string folder_name(const fs::path& below) {
  std::string name = below.generic_string();
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace

std::vector<BoardTask> board_tasks(const fs::path& folder) {
  if (!fs::is_directory(folder)) fail(ExitCode::bad_input, "there is no folder {}", folder.string());
  std::vector<BoardTask> tasks;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, kOptions)) {
    if (!entry.is_regular_file() || entry.is_symlink()) continue;
    const fs::path& file = entry.path();
    fs::path below = fs::relative(file, folder);
    if (is_gpu_mode(file))
      tasks.push_back(
          {below.has_parent_path() ? folder_name(below.parent_path()) : "task", {file, "gpu_mode"}});
    else if (is_definition(file))
      tasks.push_back({folder_name(below.filename().replace_extension()), {file, "flashinfer_bench"}});
    else if (is_kernelbench(file))
      tasks.push_back({folder_name(below.replace_extension()), {file, "kernelbench"}});
  }
  std::ranges::sort(tasks, {}, &BoardTask::name);
  return tasks;
}

std::vector<ImportedTask> import_board(const std::vector<BoardTask>& tasks, const fs::path& output,
                                       const runtime::PythonInstallation& python,
                                       std::chrono::milliseconds limit, const std::atomic<bool>& stop,
                                       const std::function<void(const ImportedTask&)>& on_done) {
  std::vector<ImportedTask> done(tasks.size());
  std::atomic<std::size_t> next{0};
  std::mutex saying;
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      done[i].name = tasks[i].name;
      try {
        PythonSource source = tasks[i].source;
        source.limit = limit;
        source.stop = &stop;
        if (stop) fail(ExitCode::interrupted, "interrupted before it was made");
        done[i].problem = make_python_problem(output / tasks[i].name, source, python);
      } catch (const Error& error) {
        done[i].failure = error.what();
      }
      const std::scoped_lock lock(saying);
      on_done(done[i]);
    }
  };
  const std::size_t count =
      std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), tasks.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) threads.emplace_back(work);
  return threads.clear(), done;
}

}  // namespace ak::app
