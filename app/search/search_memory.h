// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/knowledge/recall.h"
#include "app/search/search_run.h"

namespace ak::app {

/// Whose knowledge a search on `device` shares.
[[nodiscard]] db::InsightScope scope_of(const SearchRun& run, const DeviceFacts& device);

/// What models learn of earlier searches: nothing where the run repeats, since it must not depend on what
/// was learned meanwhile. That it is a port stays true.
[[nodiscard]] Memory memory_of(const SearchRun& run, const db::InsightScope& scope);

/// Keeps what the search has shown. That is not a reason to lose a kernel: failures are only said.
void learn_from(const SearchRun& run, const db::InsightScope& scope, const SearchOutcome& outcome);

}  // namespace ak::app
