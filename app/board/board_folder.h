// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/board/board_manifest.h"
#include "db/process_locks.h"

namespace ak::app {

/// Why a task waits for which there is neither template nor starting kernel.
inline constexpr const char* kNeedsModel = "no template serves it; --model NAME has a kernel written";

/// A search of a task: a session of one search (docs/sessions.md).
struct TaskRun {
  std::string session;  ///< its uid, which no other database gives to another
  std::string content;  ///< hash of what was searched
  std::string way;      ///< "template" or "file", and who proposes: "template/search", "file/MODEL"
  std::string device;   ///< product or "emulator", and the target
  std::string
      problem;  ///< folder of a problem that was made of the file, below the board's; empty: a template's
};

/// What a board keeps of a task.
struct TaskState {
  std::string name, file, cell, note;
  std::string content;     ///< as TaskRun::content, of the file and manifest as they are now
  std::string failure;     ///< why it was not searched the last time; empty where it was
  std::string degenerate;  ///< evidence that results do not depend on inputs
  bool for_judge = false;  ///< of KernelBench's form
  bool gone = false;  ///< neither manifest nor folder have it any more: its runs are kept, and do not count
  std::vector<TaskRun> runs;
  Json
      baselines_of;  ///< as the verdict's "of": the kernel with which missing baselines were tried; null: none
  Json verdict;  ///< of the benchmark's own judge, as `confirm` stored it, with "of", its kernel; null: none
};

/// A board's folder: board.json, problems/ made of task files, kernels/, and the manifests of its sessions. The rows are
/// in the database.
struct BoardFolder {
  std::filesystem::path path;
  std::string name, question;
  std::filesystem::path database;
  std::filesystem::path tasks_folder;  ///< as it was given last; empty: none
  std::string device;                  ///< of the last run, as TaskRun::device
  std::vector<TaskState> tasks;        ///< in the order of the manifest

  [[nodiscard]] TaskState* find(const std::string& task);
};

/// What there is in `folder` of the board; without a board.json an empty one. Throws Error(bad_input) for a file that is
/// broken, and where the folder is another board's.
[[nodiscard]] BoardFolder open_board_folder(const std::filesystem::path& folder, const std::string& board);

/// Throws Error(usage) where a name is none of its tasks'.
void check_task_names(const BoardFolder& folder, const std::vector<std::string>& names);

/// Held by the process that changes a board, from before it reads board.json to after it has written it.
class BoardLock {
 public:
  /// Makes the folder. Throws Error(usage) where another process, or object, has it, Error(output).
  explicit BoardLock(const std::filesystem::path& folder);

 private:
  db::ProcessLocks locks_;
};

/// Writes board.json atomically. Only who holds the lock may. Throws Error(output).
void save(const BoardFolder& folder);

}  // namespace ak::app
