// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "core/llm.h"

namespace ak {

/// Most tokens of one request or answer that are believed: ten times the largest context window of a model
/// sold in 2026.
inline constexpr std::int64_t kMaxTokens = 100'000'000;

/// Whether these can be the counts of one answer. Those that a provider or a database gives may be anything.
[[nodiscard]] constexpr bool are_possible(const LlmUsage& usage) {
  const auto is_count = [](std::int64_t tokens) { return tokens >= 0 && tokens <= kMaxTokens; };
  return is_count(usage.input_tokens) && is_count(usage.cached_tokens) &&
         is_count(usage.cache_written_tokens) && is_count(usage.output_tokens) &&
         usage.cached_tokens <= usage.input_tokens && usage.cache_written_tokens <= usage.input_tokens;
}

/// The sum, or the nearest number that 64 bits hold.
[[nodiscard]] constexpr std::int64_t saturated_sum(std::int64_t first, std::int64_t second) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(first, second, &sum)) return sum;
  return first > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

}  // namespace ak
