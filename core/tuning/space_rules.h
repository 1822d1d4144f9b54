// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/expression.h"
#include "core/tuning/condition.h"
#include "core/tuning/tuning_value.h"

namespace ak {

/// What makes a space of tunables.
struct SpaceRules {
  std::vector<TuningParameter> parameters;
  std::vector<std::string> constraints;  ///< conditions over the names below (docs/search.md)
  Environment known = {};                ///< names with one value each
  /// Names that follow from the others, in order: each may use those before it, and stands for a known name from
  /// there on. At a point at which one has no
  /// value there is no point.
  std::vector<std::pair<std::string, std::string>> derived = {};
  Arithmetic arithmetic = Arithmetic::real;
};

}  // namespace ak
