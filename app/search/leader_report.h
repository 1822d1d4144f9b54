// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/search/search_run.h"
#include "core/device/device_facts.h"

namespace ak::app {

/// Completes the summary of a search that has ended: its stop reason, the baselines of the final measurement,
/// held-out shapes, examinations, energy, what limits the leader and whether counters bear its times out, the
/// evidence of its explanation, and where it was ported from. What can no longer be read costs its section and
/// is only said. @param device that it ran on
void report_leader(const SearchRun& run, const DeviceFacts& device, SearchOutcome& outcome);

}  // namespace ak::app
