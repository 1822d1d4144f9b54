// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "app/problem/python_problem.h"

namespace ak::app {

/// A task of a benchmark: what becomes one problem folder.
struct BoardTask {
  std::string name;  ///< of its folder
  PythonSource source;
};

/// A Python file, or a link, that is no task and no part of one.
struct LeftFile {
  std::string path;  ///< below the folder that was read
  std::string reason;
};

struct BoardFiles {
  std::vector<BoardTask> tasks;  ///< in order of their names
  std::vector<LeftFile> left;    ///< in order of their paths
};

/// The tasks of a folder, recognised by content: files with `class Model` and `get_inputs` (KernelBench), folders with
/// reference.py and task.yml (GPU MODE), JSON files at any depth below `definitions` (FlashInfer-Bench).
/// Links are not followed. Throws Error(bad_input) where there is no such folder.
[[nodiscard]] BoardFiles board_files(const std::filesystem::path& folder);

/// What became of a task.
struct ImportedTask {
  std::string name;
  PythonProblem problem = {};
  std::string failure = {};  ///< why it has no folder; empty where it has one
};

/// Makes a folder for each task below `output`, several at a time, and continues after failures.
/// @param limit for each of them
/// @param stop true ends the making: the tasks that have no folder then fail as interrupted
/// @param on_done called for each in the order in which they end, by one thread at a time.
/// @return one for each task, in their order.
std::vector<ImportedTask> import_board(const std::vector<BoardTask>& tasks,
                                       const std::filesystem::path& output,
                                       const runtime::PythonInstallation& python,
                                       std::chrono::milliseconds limit, const std::atomic<bool>& stop,
                                       const std::function<void(const ImportedTask&)>& on_done);

}  // namespace ak::app
