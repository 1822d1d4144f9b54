// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "agent/llm/api/http.h"

namespace ak::agent {

/// When a failed request is sent again. The waits are those of the official SDKs, for a night unattended.
struct RetryPolicy {
  int max_attempts = 8;
  std::chrono::milliseconds first{500};         ///< wait after the first failure; it doubles
  std::chrono::milliseconds longest{60'000};    ///< ... up to this
  std::chrono::milliseconds patience{900'000};  ///< longest wait that a server may ask for
};

/// How long to wait before the next attempt, or nothing when there is to be none.
/// @param attempt that failed, from 1
/// @param random in [0, 1): shortens the wait by up to a quarter
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_delay(const RetryPolicy& policy, int attempt,
                                                                   const LlmFailure& failure,
                                                                   const HttpHeaders& headers, double random);

/// Seconds, or a date of HTTP, as `retry-after` has them; nothing when it is neither.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_retry_after(
    std::string_view text, std::chrono::system_clock::time_point now);

/// In [0, 1), for retry_delay().
[[nodiscard]] double random_fraction();

/// False when it was cancelled before the time had passed.
bool sleep_unless(const std::atomic<bool>* cancelled, std::chrono::milliseconds time);

}  // namespace ak::agent
