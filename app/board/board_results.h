// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/board/board_folder.h"
#include "app/setup/arguments.h"
#include "db/store/session.h"

namespace ak::app {

/// The session of a run; nothing where the database has none of that uid, as it is another one, or was made anew.
[[nodiscard]] std::optional<db::Session> session_of(const BoardFolder& folder, const TaskRun& run);

/// What a board came to, as docs/boards.md names the fields: its tasks, cells, fast_p and totals, from the rows of the
/// database.
/// @param device  part of the product's name; empty: that of the last run
/// Throws Error(usage) where nothing ran on such a device, Error(database).
[[nodiscard]] Json board_json(const BoardFolder& folder, const std::string& device);

/// The same for a terminal: a line a task.
[[nodiscard]] std::string board_text(const Json& board);

/// The best kernel of a task's present content on a device; nothing where no search of it has one.
struct BestRun {
  TaskRun run;
  RowId search = 0, variant = 0;
};
/// @param from_file  only of searches of a problem that was made of the task's file
[[nodiscard]] std::optional<BestRun> best_run(const BoardFolder& folder, const TaskState& task,
                                              const std::string& device, bool from_file = false);

/// Which kernel a verdict is of, as its member "of" says: only of the same one is it shown.
[[nodiscard]] Json judged_kernel(const BestRun& best);

/// The flags that name the kernel of a search for `evaluate` and `baselines`: "search:12 --problem DIR".
[[nodiscard]] Arguments kernel_arguments(const BoardFolder& folder, const BestRun& best);

/// Words of a command as a shell takes them: in quotes where they need them.
[[nodiscard]] std::string shell_line(const Arguments& words);

}  // namespace ak::app
