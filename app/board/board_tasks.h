// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "app/board/board_folder.h"
#include "app/problem/board_import.h"

namespace ak::app {

/// A task as it is now: the manifest's with its file.
struct FoundTask {
  ListedTask listed;
  std::filesystem::path file;  ///< on the disk; empty: it has none, or it is missing
  std::string form;            ///< of the file, as PythonSource::kind
  std::string content;         ///< hash of the file, what it imports from its folder, and the manifest's keys
  std::string missing;         ///< why it cannot be searched; empty where it can
  bool use_template = false;
};

/// The tasks of a board, those of the folder that it does not list last. Own files are written below the board's folder.
/// Throws Error(bad_input) where there is no such folder, or none of the files that are listed is there.
[[nodiscard]] std::vector<FoundTask> found_tasks(const BoardManifest& manifest, const BoardFolder& folder,
                                                 bool from_files);

/// Notes in the state what the task's content is now, and what the problem that was made of it shows, where there is one.
void note_content(const FoundTask& task, const BoardFolder& folder, TaskState& state);

/// Makes the problem folder of a task's file where it is not there yet; returns its path below the board's folder. Notes
/// what the file shows in `state`. Throws Error as make_python_problem() does.
[[nodiscard]] std::string problem_of_file(const FoundTask& task, const BoardFolder& folder, TaskState& state,
                                          const std::string& python, const std::atomic<bool>& stop);

}  // namespace ak::app
