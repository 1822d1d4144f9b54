// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "db/read/device_stats.h"
#include "db/rows.h"

namespace ak::db {

/// Reads the columns definition, what, first_ns and second_ns of all rows.
[[nodiscard]] inline std::vector<MatchedPair> matched_pairs(Rows& row) {
  std::vector<MatchedPair> pairs;
  while (row.next())
    pairs.push_back({.definition = row.text("definition"),
                     .what = row.text("what"),
                     .first_ns = row.real("first_ns").value_or(0),
                     .second_ns = row.real("second_ns").value_or(0)});
  return pairs;
}

}  // namespace ak::db
