// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/evaluation.h"
#include "core/store.h"

namespace ak::db {

/// The comparisons in pairs of two variants, as agent::judge_pairs takes them: `first` is the candidate, and
/// nothing but `measurements` is filled in. Oldest first.
struct StoredPairs {
  RowId evaluation = 0;
  std::string device;
  EvaluationResult result;
};
/// Throws Error(database).
[[nodiscard]] std::vector<StoredPairs> find_pairs(const std::filesystem::path& file, RowId first,
                                                  RowId second);

}  // namespace ak::db
