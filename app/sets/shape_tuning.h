// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "app/search/search_run.h"

namespace ak::app {

/// What tuning every shape alone has found.
struct TunedShapes {
  std::vector<Workload> shapes;
  std::vector<Candidate> candidates;  ///< the fastest few of each shape, each once
  agent::Progress spent;              ///< by all of these searches together
};

/// What a search that continues where others ended has come to, with what they have spent.
[[nodiscard]] agent::Progress together(const agent::Progress& before, agent::Progress now);

/// The timed shapes of a run: those that an evaluation on its device times. Throws Error(usage) where there is no device,
/// or more shapes than a set can be learned from.
[[nodiscard]] std::vector<Workload> timed_shapes(const SearchRun& run);

/// One search a shape, each with its share of the run's budgets, and first of all the points that were best on the
/// shapes before, the nearest first. Blocks. What was found until `stop` was set is returned.
[[nodiscard]] TunedShapes tune_shapes(const SearchRun& run, const Config& config, VariantStore& store,
                                      RowId set, const std::atomic<bool>& stop);

/// The share of each of so many: what a whole cannot give to all goes to the first.
[[nodiscard]] agent::Budgets share_of(const agent::Budgets& budgets, std::size_t index, std::size_t count,
                                      std::chrono::milliseconds spent);

}  // namespace ak::app
