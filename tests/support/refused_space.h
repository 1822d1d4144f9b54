// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "core/plan/candidate.h"

namespace ak::test {

/// Adds tunables R0, R1, ... of which all differ from each other, so that plan_space() refuses the plan: what is open
/// after k of them are bound takes 14! / (14 - k)! forms. The candidate's own point keeps the constraints.
inline void add_refused_tunables(Candidate& candidate) {
  constexpr int kCount = 14;
  std::vector<std::int64_t> values;
  for (int i = 0; i < kCount; ++i) values.push_back(i);
  for (int i = 0; i < kCount; ++i) {
    const std::string name = fmt::format("R{}", i);
    candidate.plan.tunables.push_back({.name = name, .values = values, .default_value = i});
    candidate.tunables[name] = i;
    for (int j = 0; j < i; ++j)
      candidate.plan.constraints.push_back(Expression::parse(fmt::format("R{} != R{}", i, j)).value());
  }
}

}  // namespace ak::test
