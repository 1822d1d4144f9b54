// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/board/board_folder.h"
#include "app/setup/arguments.h"

namespace ak::app {

/// What a board came to, as docs/boards.md names the fields: its tasks, cells, fast_p and totals, from the rows of the
/// database.
/// @param device  part of the product's name; empty: that of the last run
/// Throws Error(usage) where nothing ran on such a device, Error(database).
[[nodiscard]] Json board_json(const BoardFolder& folder, const std::string& device);

/// The same for a terminal: a line a task.
[[nodiscard]] std::string board_text(const Json& board);

/// The session search and its number of a task on a device, the best of its present content; nothing where no search of
/// it has a kernel.
struct BestRun {
  TaskRun run;
  RowId search = 0;
};
[[nodiscard]] std::optional<BestRun> best_run(const BoardFolder& folder, const TaskState& task,
                                              const std::string& device);

/// The flags that name the kernel of a search for `evaluate` and `baselines`: "search:12 --problem DIR".
[[nodiscard]] Arguments kernel_arguments(const BoardFolder& folder, const BestRun& best);

}  // namespace ak::app
