// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <optional>

#include "core/clock.h"
#include "core/evaluation.h"

namespace ak::agent {

/// How late Ctrl-C is noticed: people feel no delay.
inline constexpr auto kPollInterval = std::chrono::milliseconds(100);

/// Submits `request` and waits for it; what else ends meanwhile is dropped. Nothing when it did not end
/// before `deadline` or before `*stop_requested` (may be null); it is cancelled then.
[[nodiscard]] std::optional<Completed> evaluate_one(Evaluator& evaluator, EvaluationRequest request,
                                                    const Clock& clock,
                                                    std::chrono::steady_clock::time_point deadline,
                                                    const std::atomic<bool>* stop_requested);
/// The same, however long it takes, of an evaluator that has nothing else to do. Blocks.
[[nodiscard]] Completed evaluate_one(Evaluator& evaluator, EvaluationRequest request);

}  // namespace ak::agent
