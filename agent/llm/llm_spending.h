// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "agent/llm/api/model_catalog.h"
#include "agent/loop.h"
#include "core/llm.h"

namespace ak::agent {

/// Tokens and money that models have used, and what the questions in flight may still use in the worst case.
/// One thread.
class LlmSpending {
 public:
  /// `budgets` must outlive it; only tokens and money are looked at. @param spent_usd before
  explicit LlmSpending(const Budgets& budgets, double spent_usd = 0)
      : budgets_(budgets), cost_usd_(spent_usd) {}

  using Reservation = std::uint64_t;
  /// Cuts the length of the request's answer to what the model and the budgets allow, and reserves its cost.
  /// Nothing when it cannot be afforded.
  [[nodiscard]] std::optional<Reservation> reserve(const ModelEntry& model, LlmRequest& request);
  /// What the last reserve() could not afford although nothing is in flight that may use less than it has
  /// reserved: "token budget" or "cost budget". Empty: nothing.
  [[nodiscard]] std::string_view exhausted() const { return exhausted_; }
  /// The answer that was reserved for has come.
  void count(Reservation reservation, const LlmReply& reply);

  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] double cost_usd() const { return cost_usd_; }
  /// False: tokens without a price are not in cost_usd().
  [[nodiscard]] bool price_known() const { return price_known_; }
  /// What an answer costs in the unit that is limited: US dollars, or else tokens.
  [[nodiscard]] double price_of(const LlmReply& reply) const;

 private:
  struct Reserved {
    std::int64_t tokens = 0;
    double usd = 0;
  };
  const Budgets& budgets_;
  std::map<Reservation, Reserved> reserved_;  ///< for the questions in flight
  Reservation last_ = 0;
  std::int64_t tokens_ = 0;
  double cost_usd_;
  bool price_known_ = true;
  std::string_view exhausted_;
};

}  // namespace ak::agent
