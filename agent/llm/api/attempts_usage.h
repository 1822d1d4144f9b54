// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "agent/llm/api/model_catalog.h"
#include "core/llm.h"

namespace ak::agent {

/// Less room for an answer is no use; chosen.
inline constexpr int kMinAnswerTokens = 1000;

/// What the attempts at one request used together. One thread.
class AttemptsUsage {
 public:
  /// An attempt has ended; its usage is counted or estimated.
  void add(const LlmReply& attempt);
  /// The reply to the request is that of its last attempt, with what all used.
  void put_into(LlmReply& reply) const;
  /// Tokens that the answer to a repetition may have, so that all attempts together use no more than one attempt
  /// with an answer of `max_output_tokens` may: the prompt is in that once, so what was used goes off the answer.
  [[nodiscard]] std::int64_t answer_tokens_left(const ModelEntry& model,
                                                std::int64_t max_output_tokens) const;
  [[nodiscard]] bool empty() const { return usage_.total() == 0; }

 private:
  LlmUsage usage_{.reported = true};
  double cost_usd_ = 0;
  bool priced_ = false;
};

}  // namespace ak::agent
