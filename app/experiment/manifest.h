// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop.h"
#include "app/search/starting_points.h"
#include "core/plan/problem.h"

namespace ak::app {

/// One search of an experiment, as its manifest says it. Empty = not said.
struct ManifestRun {
  std::string name;  ///< unique; names files, and stands for the search in expectations
  std::string algorithm;
  std::filesystem::path problem;  ///< folder; exactly one of the two
  Params params;
  std::string arch, device, only, target_performance;
  std::vector<std::string> shapes;  ///< instead of the problem's own
  std::string strategy = "random";
  std::uint64_t seed = 1;
  FixedTunables fixed;
  agent::Budgets budgets;
  bool per_shape = false;
  std::int64_t prepared_copies = 1;
};

/// A check over the results: one value, and the bounds it must keep.
struct Expectation {
  std::string name, sql, unit;
  bool needs_gpu = false;
  std::optional<double> at_least, at_most, equals;
};

/// An experiment as data (docs/experiments.md).
struct Manifest {
  std::filesystem::path file;
  std::string text;  ///< of the file, byte for byte
  std::string name, question, arch, device;
  std::vector<ManifestRun> runs;
  std::vector<Expectation> expectations;
};

/// Throws Error(bad_input) naming the file, the field and what was expected.
[[nodiscard]] Manifest read_manifest(const std::filesystem::path& file);

/// SQL of the numbers of the runs' searches, of which run i has the i-th: those that are no part of a set, and that no
/// later one repeats, as the search of a run that was interrupted and begun again.
[[nodiscard]] std::string searches_of_runs();

/// The expectation's SQL with `{run}` replaced by the number of that run's search, as SQL: of a set that of the set.
[[nodiscard]] std::string sql_of(const Expectation& expectation, const Manifest& manifest);

/// Folders where manifests are looked for: those of $ALPHAKERNEL_EXPERIMENTS, of the installed tree, and of the source
/// tree for a program in its build folder.
[[nodiscard]] std::vector<std::filesystem::path> manifest_search_path();

/// Every *.json of these folders, then those that are compiled in, sorted by name; the first of a name
/// hides the others.
[[nodiscard]] std::vector<std::filesystem::path> list_manifests();

/// The file itself, or the known manifest of that name. Throws Error(usage) with the nearest known name.
[[nodiscard]] std::filesystem::path find_manifest(const std::string& file_or_name);

}  // namespace ak::app
