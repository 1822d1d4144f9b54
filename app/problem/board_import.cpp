// SPDX-License-Identifier: Apache-2.0
#include "app/problem/board_import.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/text/file.h"

namespace ak::app {
namespace {

namespace fs = std::filesystem;

/// `class Model(...)`, with any blanks.
bool has_class_model(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  for (auto at = text.find("class"); at != std::string_view::npos; at = text.find("class", at + 1)) {
    const auto name = text.find_first_not_of(kBlanks, at + 5);
    if (name == at + 5 || name == std::string_view::npos || !text.substr(name).starts_with("Model")) continue;
    const auto bracket = text.find_first_not_of(kBlanks, name + 5);
    if (bracket != std::string_view::npos && text[bracket] == '(') return true;
  }
  return false;
}

/// Why a file is no task of KernelBench; empty where it is one.
std::string lacks_for_kernelbench(const fs::path& file) {
  const std::string text = read_file(file);
  if (!has_class_model(text)) return "it has no class Model(...)";
  return text.find("def get_inputs") == std::string::npos ? "it has no get_inputs()" : "";
}

/// In the folder of a GPU MODE task or below it.
bool is_of_gpu_mode(const fs::path& file, const fs::path& folder) {
  for (fs::path at = file.parent_path();; at = at.parent_path()) {
    if (fs::is_regular_file(at / "task.yml")) return true;
    if (at == folder || at == at.parent_path()) return false;
  }
}

/// At any depth below a folder `definitions`, which may be above the one that is read.
bool is_definition(const fs::path& file) {
  return file.extension() == ".json" &&
         std::ranges::any_of(file.parent_path(), [](const fs::path& part) { return part == "definitions"; });
}

/// The parts of a path below the data set, as the name of one folder.
std::string folder_name(const fs::path& below) {
  std::string name = below.generic_string();
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace

BoardFiles board_files(const fs::path& given) {
  if (!fs::is_directory(given)) fail(ExitCode::bad_input, "there is no folder {}", given.string());
  fs::path folder = fs::absolute(given).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  BoardFiles files;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, kOptions)) {
    const fs::path& file = entry.path();
    const fs::path below = file.lexically_relative(folder);
    const bool python = file.extension() == ".py";
    if (!entry.is_regular_file() || (!python && !is_definition(file))) continue;
    if (entry.is_symlink()) {
      files.left.push_back({below.generic_string(), "it is a link"});
    } else if (!python) {
      files.tasks.push_back(
          {folder_name(fs::path(below).filename().replace_extension()), {file, "flashinfer_bench"}});
    } else if (is_of_gpu_mode(file, folder)) {
      if (file.filename() == "reference.py" && fs::is_regular_file(file.parent_path() / "task.yml"))
        files.tasks.push_back(
            {below.has_parent_path() ? folder_name(below.parent_path()) : "task", {file, "gpu_mode"}});
    } else if (const std::string lacks = lacks_for_kernelbench(file); !lacks.empty()) {
      files.left.push_back({below.generic_string(), lacks});
    } else {
      files.tasks.push_back({folder_name(fs::path(below).replace_extension()), {file, "kernelbench"}});
    }
  }
  std::ranges::sort(files.tasks, {}, &BoardTask::name);
  std::ranges::sort(files.left, {}, &LeftFile::path);
  return files;
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
