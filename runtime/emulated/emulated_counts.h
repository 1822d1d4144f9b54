// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/evaluation.h"
#include "emulator/machine/counters.h"

namespace ak::runtime {

/// Adds what was counted to `counts` under the names that docs/timing.md lists; zeros add no name.
void add_counts(Counts& counts, const emulator::CounterSummary& summary);

}  // namespace ak::runtime
