// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agent/llm/archive.h"
#include "agent/llm/prompts.h"

namespace ak::agent {

/// The part of a request that changes: what was tried, the parents with their results and what the search
/// found in them, and what to do.
/// @param most candidates or points that may be answered
/// @param remembered what earlier searches tried against the parent's bottleneck; may be empty
/// @param request its number in the search: quotations have other codes in every request
[[nodiscard]] std::string user_prompt(const PromptSet& prompts, const Archive& archive, const Choice& choice,
                                      std::size_t most, const std::string& remembered, std::uint64_t seed,
                                      int request);

/// What is known of a source's points: for every value of every tunable the best time that a point with it
/// has, and the fastest points. Empty where fewer than three points were timed.
[[nodiscard]] std::string surface_text(const Surface& surface);

}  // namespace ak::agent
