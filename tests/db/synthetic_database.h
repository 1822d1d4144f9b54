// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ak::db::test {

struct SyntheticOptions {
  std::int64_t variants = 2'000;     ///< so many rows of `variants`, at least one
  std::uint64_t seed = 1;            ///< the same seed gives the same rows
  std::string until = "2026-11-22";  ///< the day on which the last search ends (UTC)
};

/// Makes a database as a year of searches leaves it: a dozen definitions of the shipped problems with their
/// real templates, four devices, searches of 50 to 2,000 evaluations (shorter where there are few variants),
/// points that several searches evaluate, about 15 % failures, baselines, what is done to leaders, exchanges
/// with models, predictions and profiles. The last seven days hold a fifth of the variants, at most 20,000.
/// Nothing was measured: times follow a formula with noise. It passes `db verify`.
/// Throws Error(usage) where `file` is there already or `until` is not a date.
void make_synthetic_database(const std::filesystem::path& file, const SyntheticOptions& options = {});

}  // namespace ak::db::test
