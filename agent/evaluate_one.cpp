// SPDX-License-Identifier: Apache-2.0
#include "agent/evaluate_one.h"

#include <algorithm>
#include <utility>

#include "core/error.h"

namespace ak::agent {

std::optional<Completed> evaluate_one(Evaluator& evaluator, EvaluationRequest request, const Clock& clock,
                                      std::chrono::steady_clock::time_point deadline,
                                      const std::atomic<bool>* stop_requested) {
  const Ticket ticket = evaluator.submit(std::move(request));
  const auto stopped = [&] { return stop_requested != nullptr && stop_requested->load(); };
  while (clock.now() < deadline && !stopped()) {
    auto completed = evaluator.wait_any(std::min(deadline, clock.now() + kPollInterval));
    if (completed && completed->ticket == ticket) return completed;
  }
  evaluator.cancel(ticket);
  return std::nullopt;
}

Completed evaluate_one(Evaluator& evaluator, EvaluationRequest request) {
  evaluator.submit(std::move(request));
  auto done = evaluator.wait_any(std::chrono::steady_clock::time_point::max());
  AK_ASSERT(done.has_value(), "an evaluation without a deadline always completes");
  return std::move(*done);
}

}  // namespace ak::agent
