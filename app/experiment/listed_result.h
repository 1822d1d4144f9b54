// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "app/experiment/experiment_runs.h"

namespace ak::app {

/// A result folder as `experiment list` shows it.
struct ListedResult {
  std::string experiment;             ///< its name
  std::string status = "unfinished";  ///< "complete", "interrupted", "failed"; or "unreadable"
  int met = 0, missed = 0, skipped = 0;

  /// It ran to its end: there is a report. Otherwise it runs still, or was ended before it could write one.
  [[nodiscard]] bool finished() const { return status != "unfinished"; }
};

/// Below the working folder and below the folders of manifests: where results lie.
inline constexpr const char* kResultsFolder = "experiments/results";

/// Every folder of results there, sorted.
[[nodiscard]] std::vector<std::filesystem::path> result_folders();

/// From report.json, else from report.md, which alone is kept of recorded results. A folder with neither is unfinished.
[[nodiscard]] ListedResult listed_result(const ResultFolder& folder);

}  // namespace ak::app
