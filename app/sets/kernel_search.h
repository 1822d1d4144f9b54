// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/search/search_run.h"

namespace ak::app {

/// Finds a kernel as the run asks for it: by one search, or where `run.per_shape` is given by one a shape and the set that
/// they lead to (docs/sets.md). Throws as run_search() does, and Error(usage) where there is nothing to be made a set of.
[[nodiscard]] SearchOutcome find_kernel(const SearchRun& run, const Config& config, VariantStore& store,
                                        const std::atomic<bool>& stop);

}  // namespace ak::app
