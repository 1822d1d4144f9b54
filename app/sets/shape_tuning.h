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
  std::vector<Candidate> candidates;            ///< the fastest few of each shape, each once
  agent::Progress spent;                        ///< by all of these searches together
  std::string stop_reason = "space exhausted";  ///< of one that had something left to try, if any
};

/// What a search that continues where others ended has come to, with what they have spent.
[[nodiscard]] agent::Progress together(const agent::Progress& before, agent::Progress now);

/// The timed shapes of a run: those that an evaluation on its device times. Throws Error(usage) where there is no device,
/// or more shapes than a set can be learned from.
[[nodiscard]] std::vector<Workload> timed_shapes(const SearchRun& run);

/// One search a shape, in tuning_order(): each has its share of what is left of the run's budgets, begins with the points
/// that were best on the nearest shapes, and knows the answers on all shapes before (SharedAnswers). What shapes that can
/// gain little leave of their shares goes to those that follow, and then to those that used theirs up. Blocks. What was
/// found until `stop` was set is returned. Throws Error(no_kernel) where all that was tried on a shape has failed.
[[nodiscard]] TunedShapes tune_shapes(const SearchRun& run, const Config& config, VariantStore& store,
                                      RowId set, const std::atomic<bool>& stop);

/// The share of each of the `left` searches that are still to run.
/// @param spent by those before them
[[nodiscard]] agent::Budgets share_of(const agent::Budgets& budgets, std::size_t left,
                                      const agent::Progress& spent, std::chrono::milliseconds spent_wall);

/// What the searches of all shapes may use together: a quarter of the time that is left. The rest is for making a set of
/// what they find: a point more helps one shape, a shape more that points are timed on helps every shape (of gemm, sets
/// that learn from 23 and 49 shapes have 0.998 and 1.009 of PyTorch's speed on others:
/// experiments/results/2026-11-28_near_points).
/// @param spent_before of the time, before this process
[[nodiscard]] agent::Budgets for_searches(agent::Budgets budgets, std::chrono::milliseconds spent_before);

/// Whether enough of every budget is left for one more search.
[[nodiscard]] bool worth_a_search(const agent::Budgets& budgets, const agent::Progress& spent,
                                  std::chrono::milliseconds spent_wall);

}  // namespace ak::app
