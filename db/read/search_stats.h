// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"
#include "db/read/device_stats.h"

namespace ak::db {

// What `alphakernel compare` reads of two searches. All throw Error(database). A "cost" is a GPU time or, on the CPU
// device, an estimated cost, in nanoseconds: the caller looks at the kind of device before it compares two.

/// A search in figures. Evaluations are those of the search, without the pruned.
struct SearchStats {
  RowId search = 0;
  std::string definition, workloads_hash, arch, proposer, strategy, status;
  DeviceName device;
  std::int64_t seed = 0;
  bool resumed = false;  ///< its strategies began with earlier results
  std::optional<RowId> best_variant;
  std::optional<double> best_ns;    ///< of the champion, measured last
  std::vector<double> best_so_far;  ///< ns after each evaluation; 0: nothing had passed yet
  std::int64_t verified = 0;        ///< evaluations of the search that passed
  std::optional<double> wall_s;     ///< begin to end
  std::vector<std::string> models;  ///< that it asked
  std::int64_t tokens = 0;          ///< of its models, in and out
  std::optional<double> model_usd;  ///< what they cost; nothing where none was asked or a price is not known
  std::map<std::string, std::int64_t> failures;  ///< status -> evaluations

  [[nodiscard]] std::int64_t evaluations() const { return static_cast<std::int64_t>(best_so_far.size()); }
  /// Best score after so many evaluations; nothing when nothing had passed, or fewer were done.
  [[nodiscard]] std::optional<double> best_after(std::int64_t count) const;
};
/// Nothing when there is no such search.
[[nodiscard]] std::optional<SearchStats> search_stats(const std::filesystem::path& file, RowId search);

/// The medians of both searches' best kernels on the shapes that both timed in the same way.
[[nodiscard]] std::vector<MatchedPair> champion_pairs(const std::filesystem::path& file, RowId first,
                                                      RowId second);

}  // namespace ak::db
