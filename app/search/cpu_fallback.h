// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/search/search_run.h"

namespace ak::app {

/// As find_kernel(). Where the GPUs of the run's pool are lost and its file has a fallback, what is left of its budgets
/// is spent by another search, on the CPU device of this machine, which `run` becomes: costs are not ranked with times, and
/// its files are "k.cpu_device.cu" and so on. The run's journal is of the search on the GPUs alone.
/// @param store itself, not as the journal keeps it
/// @param run `spent` of it is what earlier processes spent of its budgets; after a fallback what was spent until then
[[nodiscard]] SearchOutcome find_kernel_or_fall_back(SearchRun& run, const Config& config,
                                                     VariantStore& store, const std::atomic<bool>& stop);

/// Leaves of the budgets of a run what `run.spent` did not spend. False where nothing is left of one of them.
[[nodiscard]] bool take_spent(SearchRun& run);

}  // namespace ak::app
