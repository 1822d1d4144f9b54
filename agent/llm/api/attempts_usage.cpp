// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/attempts_usage.h"

#include <algorithm>

namespace ak::agent {

void AttemptsUsage::add(const LlmReply& attempt) {
  const LlmUsage& one = attempt.usage;
  if (one.total() == 0) return;
  usage_.input_tokens += one.input_tokens;
  usage_.cached_tokens += one.cached_tokens;
  usage_.cache_written_tokens += one.cache_written_tokens;
  usage_.output_tokens += one.output_tokens;
  usage_.reported = usage_.reported && one.reported;
  cost_usd_ += attempt.cost_usd.value_or(0);
  priced_ = priced_ || attempt.cost_usd;
}

void AttemptsUsage::put_into(LlmReply& reply) const {
  if (empty()) return;
  reply.usage = usage_;
  if (priced_) reply.cost_usd = cost_usd_;
}

std::int64_t AttemptsUsage::answer_tokens_left(const ModelEntry& model,
                                               std::int64_t max_output_tokens) const {
  std::int64_t left = max_output_tokens - usage_.total();
  if (model.price && cost_usd_ > 0) {
    const double usd_left = static_cast<double>(max_output_tokens) * model.price->output / 1e6 - cost_usd_;
    const double tokens = usd_left <= 0 ? 0 : usd_left * 1e6 / model.price->output;
    left = std::min(left, static_cast<std::int64_t>(tokens));
  }
  return std::max<std::int64_t>(left, 0);
}

}  // namespace ak::agent
