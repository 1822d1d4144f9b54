// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_spending.h"

#include <algorithm>

#include "agent/llm/api/attempts_usage.h"
#include "core/token_counts.h"

namespace ak::agent {
namespace {

/// Tokens that the model itself allows for an answer to a question of `input` tokens.
double room_of_model(const ModelEntry& model, const LlmRequest& request, double input) {
  double room = request.max_output_tokens;
  if (model.max_output_tokens > 0) room = std::min(room, static_cast<double>(model.max_output_tokens));
  if (const double left = static_cast<double>(model.context_tokens) - input; left >= kMinAnswerTokens)
    room = std::min(room, left);
  return room;
}

}  // namespace

std::optional<LlmSpending::Reservation> LlmSpending::reserve(const ModelEntry& model, LlmRequest& request) {
  std::int64_t tokens = tokens_;
  double usd = cost_usd_;
  for (const auto& [id, reserved] : reserved_) {
    tokens = saturated_sum(tokens, reserved.tokens);
    usd += reserved.usd;
  }
  const auto input = model.max_per_estimate * static_cast<double>(estimated_tokens(request));
  double room = room_of_model(model, request, input);
  std::string_view reached;
  if (const auto& limit = budgets_.max_tokens) {
    room = std::min(room, static_cast<double>(*limit - tokens) - input);
    if (room < kMinAnswerTokens) reached = "token budget";
  }
  const double input_price = model.price ? std::max(model.price->input, model.price->cache_write) : 0;
  const bool by_length = !model.question_usd && model.price && model.price->output > 0;
  if (const auto& limit = budgets_.max_cost_usd; limit && by_length) {
    room = std::min(room, ((*limit - usd) * 1e6 - input * input_price) / model.price->output);
    if (room < kMinAnswerTokens && reached.empty()) reached = "cost budget";
  }
  const double question_usd = model.question_usd.value_or(0);
  if (const auto& limit = budgets_.max_cost_usd; limit && usd + question_usd > *limit && reached.empty())
    reached = "cost budget";
  exhausted_ = reserved_.empty() ? reached : "";
  if (!reached.empty()) return std::nullopt;
  request.max_output_tokens = static_cast<int>(room);
  const double priced_usd = model.price ? (input * input_price + room * model.price->output) / 1e6 : 0;
  reserved_[++last_] = {.tokens = static_cast<std::int64_t>(input + room),
                        .usd = model.question_usd.value_or(priced_usd)};
  return last_;
}

void LlmSpending::count(Reservation reservation, const LlmReply& reply) {
  reserved_.erase(reservation);
  tokens_ = saturated_sum(tokens_, reply.usage.total());
  cost_usd_ += reply.cost_usd.value_or(0);
  price_known_ = price_known_ && (reply.cost_usd || reply.usage.total() == 0);
}

double LlmSpending::price_of(const LlmReply& reply) const {
  return budgets_.max_cost_usd ? reply.cost_usd.value_or(0) : static_cast<double>(reply.usage.total());
}

}  // namespace ak::agent
