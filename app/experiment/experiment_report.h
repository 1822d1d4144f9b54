// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "app/experiment/experiment_runs.h"

namespace ak::app {

/// Runs every expectation's SQL on the still empty database of `folder`, so that a mistake is reported before
/// hours of work. Throws Error(bad_input) naming the manifest and the expectation.
void try_expectations(const Manifest& manifest, const ResultFolder& folder);

/// report.json: the experiment, how it ended, its runs, the best result of each on every workload, the copy
/// bandwidth, what was evaluated, and every expectation with its value. docs/experiments.md names the fields.
[[nodiscard]] Json report_json(const Manifest& manifest, const ExperimentEnd& end, const ResultFolder& folder,
                               bool on_gpu);

/// environment.json: devices, hosts, driver, NVRTC, clocks while timing, build and command line.
[[nodiscard]] Json environment_json(const ResultFolder& folder, const std::string& command);

/// report.md of the two.
[[nodiscard]] std::string report_text(const Json& report, const Json& environment);

/// benchmark_results.csv and leaderboard.csv of the database. Throws Error(output).
void export_tables(const ResultFolder& folder);

/// Expectations of a report with this status: met, missed, no_value or skipped.
[[nodiscard]] int count_expectations(const Json& report, std::string_view status);

}  // namespace ak::app
