// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/hypothesis.h"
#include "core/result.h"

namespace ak::agent {

/// A fenced block of an answer is meant as a hypothesis: a JSON object that has this word as a key, or nearly so.
[[nodiscard]] bool states_hypothesis(std::string_view block);

/// Reads {"hypothesis": {"change": TEXT, "why": TEXT, "speedup": NUMBER}}, all three and nothing else in it. Strict: what
/// is stored and compared for years is not guessed. The error is for the model that wrote it.
[[nodiscard]] Result<Hypothesis> read_hypothesis(std::string_view block);

}  // namespace ak::agent
