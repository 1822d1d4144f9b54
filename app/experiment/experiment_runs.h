// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/manifest.h"
#include "app/search/search_run.h"

namespace ak::app {

/// Far above any query over the results of a day; one that does not end is a mistake.
inline constexpr std::chrono::seconds kExperimentQueryTime{60};

/// What the command line says about an experiment; empty = not said.
struct ExperimentFlags {
  std::string device, pool, arch;
  std::optional<std::int64_t> max_evaluations;  ///< of every run, at most
  std::optional<double> max_minutes;            ///< of every run, at most
  std::optional<std::int64_t> runs;             ///< this time, at most
  bool quiet = false;
};

/// The files of a result folder.
struct ResultFolder {
  explicit ResultFolder(std::filesystem::path root) : path(std::move(root)) {}
  [[nodiscard]] std::filesystem::path database() const { return path / "experiment.db"; }
  [[nodiscard]] std::filesystem::path kernels() const { return path / "kernels"; }
  [[nodiscard]] std::filesystem::path report() const { return path / "report.json"; }

  std::filesystem::path path;
};

/// The searches of a manifest, ready to run: problems read, tunables fixed, targets chosen. A run's own
/// device and arch come before the flags, these before the manifest's and the configured ones. On the CPU
/// device evaluations go one by one, so that a rerun gives the same results. Throws Error naming the run.
[[nodiscard]] std::vector<SearchRun> prepare_runs(const Manifest& manifest, const ExperimentFlags& flags,
                                                  const Config& config);

/// How an experiment ended, in addition to what its database says.
struct ExperimentEnd {
  std::string status = "complete";  ///< or "interrupted", "failed"
  std::string reason;               ///< of a failure
  ExitCode code = ExitCode::ok;     ///< ok, no_kernel, interrupted, or that of the failure
};

/// Runs them in order into the database in `folder`, which must exist; those that have a finished search there
/// (searches_of_runs) are done. Ends early when `stop` is set, the environment fails, or so many runs as `flags` says
/// have ended. Throws Error(usage) where a search there has another command than its run, and before the first run
/// otherwise nothing but Error(database) and Error(output).
[[nodiscard]] ExperimentEnd execute_runs(const Manifest& manifest, std::vector<SearchRun> runs,
                                         const ResultFolder& folder, const Config& config,
                                         const std::atomic<bool>& stop, const ExperimentFlags& flags);

}  // namespace ak::app
