// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "app/setup/target.h"
#include "core/evaluation.h"
#include "core/text/json.h"

namespace ak::operations {

/// What a model needs to know of an evaluation: how it ended and why, failed checks, times and resources; at
/// most some ten kilobytes. The database has the rest.
[[nodiscard]] Json brief(const EvaluationResult& result, const app::Target& target, std::string_view source);

/// The first of them, each with its line of `source` and so many lines before and after it.
[[nodiscard]] Json findings(std::span<const Diagnostic> diagnostics, std::string_view source, int around);

/// Where it runs: {"arch", "device", "note"}.
[[nodiscard]] Json target_json(const app::Target& target);

/// Six digits; text where it is not finite, as JSON has no such numbers.
[[nodiscard]] Json rounded(double value);

}  // namespace ak::operations
