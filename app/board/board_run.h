// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "app/board/board_folder.h"
#include "app/search/search_command.h"

namespace ak::app {

/// What `board run` is asked for, besides the board.
struct BoardOrder {
  std::filesystem::path tasks_folder;           ///< empty: as the time before
  std::vector<std::string> only;                ///< names of tasks; empty: all
  std::string model;                            ///< that writes kernels; empty: templates alone
  std::string device, pool, arch;               ///< empty: as configured
  std::string database;                         ///< empty: as the time before, else the configured one
  std::optional<std::int64_t> max_evaluations;  ///< of a task, at most
  std::optional<double> max_minutes;            ///< of a task, at most
  std::optional<double> limit_minutes;          ///< of this call
  bool from_files = false;  ///< tasks with a file are made of it, also where a template serves them
  bool unaudited = false;
};

/// To whom a run of a board speaks.
struct BoardReport {
  std::function<void(const std::string& line)> line;  ///< what begins, and how a task ended
  ShowSearch show;                                    ///< a search that has ended
};

/// Searches each task of the board that has no finished search of its present content on this device in this way, one
/// after another, and goes on with those that were interrupted. What was done before stays. Returns the exit code: the
/// first that is not 0 of the tasks', Ctrl-C's, or that of what ended it. Throws Error(bad_input) for what is wrong with
/// the folder of tasks.
/// @param folder  opened under `lock`
[[nodiscard]] int run_board(const BoardLock& lock, const BoardManifest& manifest, BoardFolder& folder,
                            const BoardOrder& order, const ReadGenerate& read, const BoardReport& report);

}  // namespace ak::app
