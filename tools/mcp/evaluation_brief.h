// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/evaluation.h"
#include "core/json.h"
#include "tools/target.h"

namespace ak::mcp {

/// What a model needs to know of an evaluation: how it ended and why, failed checks, times and resources; at most
/// some ten kilobytes. The database has the rest.
[[nodiscard]] Json brief(const EvaluationResult& result, const tools::Target& target, std::string_view source);

/// Findings with the lines of `source` they are about, those of the candidate's fault first.
[[nodiscard]] Json findings(const Outcome& outcome, std::string_view source);

}  // namespace ak::mcp
