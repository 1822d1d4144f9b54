// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"

namespace ak::app {

/// What went into a file of trajectories.
struct TrajectoryReport {
  std::size_t answers = 0, candidates = 0, searches = 0;
  std::size_t keys = 0, paths = 0;  ///< texts out of which something was taken that looked like one
};

/// Writes every answer of a language model that the database has, a line of JSON each (docs/exchange.md#trajectories):
/// question, answer, parents, candidates with verdicts, times and counters, hypotheses, reward. What looks like a key or
/// a path of a machine is taken out. The file is whole when it is there. All is of one state of the database.
/// @param search of this search alone; nothing: of all
/// @param keys taken out in addition to what the environment holds, in whatever form
/// Throws Error(output), Error(database), Error(usage) where there is no such search.
[[nodiscard]] TrajectoryReport export_trajectories(const std::filesystem::path& database,
                                                   const std::filesystem::path& file,
                                                   std::optional<RowId> search = {},
                                                   std::vector<std::string> keys = {});

}  // namespace ak::app
