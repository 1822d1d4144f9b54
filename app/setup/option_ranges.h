// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text/quantity.h"

namespace ak::app {

// Of options that command lines, the configuration file and manifests have alike.

/// 0: one per core, at most 64. A thousand are more than any machine builds at once.
inline constexpr IntegerRange kWorkers{.min = 0, .max = 1024};
/// Tokens, of which none may be left.
inline constexpr IntegerRange kTokens{.min = 0};
/// SQLite's integers are signed.
inline constexpr IntegerRange kSeeds{.min = 0, .max = INT64_MAX};

/// Of a coding agent before it answers: none, or as many as one reads the results of.
inline constexpr IntegerRange kAgentEvaluations{.min = 0, .max = 10'000};

/// Copies of prepared weights: more than members is of no use (SetLimits::max_members).
inline constexpr IntegerRange kPreparedCopies{.min = 1, .max = 8};

}  // namespace ak::app
