// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_spending.h"

#include <catch2/catch.hpp>

namespace ak::agent {
namespace {

/// A question of 3,000 bytes: 750 tokens by the rule of thumb, and 1,000 in the worst case.
LlmRequest question() {
  return {.model = "m", .system = std::string(3'000, 'x'), .messages = {}, .max_output_tokens = 5'000};
}

LlmReply answer(std::int64_t input, std::int64_t output, double cost_usd) {
  return {.text = "",
          .usage = {.input_tokens = input, .output_tokens = output, .reported = true},
          .cost_usd = cost_usd};
}

ModelEntry priced() {
  ModelEntry model{.provider = "test", .name = "m"};
  model.price = ModelPrice{.input = 1, .output = 10, .cache_read = 1, .cache_write = 2};
  return model;
}

TEST_CASE("without a budget only the model limits an answer") {
  const Budgets budgets;
  LlmSpending spending(budgets);
  LlmRequest request = question();
  CHECK(spending.reserve(priced(), request));
  CHECK(request.max_output_tokens == 5'000);
  ModelEntry small = priced();
  small.max_output_tokens = 3'000;
  CHECK(spending.reserve(small, request));
  CHECK(request.max_output_tokens == 3'000);
  small.context_tokens = 2'500;
  CHECK(spending.reserve(small, request));
  CHECK(request.max_output_tokens == 1'500);
}

TEST_CASE("an answer is cut to the tokens that are left, counting the worst case of what is in flight") {
  Budgets budgets;
  budgets.max_tokens = 10'000;
  LlmSpending spending(budgets);
  LlmRequest first = question(), second = question(), third = question();
  const auto reserved = spending.reserve(priced(), first);
  REQUIRE(reserved);
  CHECK(first.max_output_tokens == 5'000);
  CHECK(spending.reserve(priced(), second));
  CHECK(second.max_output_tokens == 3'000);  // 10,000 less 6,000 reserved and its own 1,000
  CHECK_FALSE(spending.reserve(priced(), third));
  CHECK(spending.exhausted().empty());  // those in flight may use less
  spending.count(*reserved, answer(1'000, 500, 0.01));
  CHECK(spending.tokens() == 1'500);
  CHECK(spending.reserve(priced(), third));
}

TEST_CASE("a budget with no room left and nothing in flight is exhausted") {
  Budgets tokens;
  tokens.max_tokens = 1'500;
  LlmSpending of_tokens(tokens);
  LlmRequest request = question();
  CHECK_FALSE(of_tokens.reserve(priced(), request));
  CHECK(of_tokens.exhausted() == "token budget");
  Budgets money;
  money.max_cost_usd = 0.01;
  LlmSpending of_money(money);
  CHECK_FALSE(of_money.reserve(priced(), request));  // 800 tokens after the question
  CHECK(of_money.exhausted() == "cost budget");
}

TEST_CASE("money limits an answer by the prices of its model, and nothing where it has none") {
  Budgets budgets;
  budgets.max_cost_usd = 0.022;
  LlmSpending spending(budgets);
  LlmRequest request = question();
  CHECK(spending.reserve(priced(), request));
  CHECK(request.max_output_tokens == 2'000);  // after 0.002 for the question, written to the cache
  LlmRequest gratis = question();
  CHECK(spending.reserve(ModelEntry{.provider = "test", .name = "free"}, gratis));
  CHECK(gratis.max_output_tokens == 5'000);
}

TEST_CASE("arms pay with what is limited: money where that is, else tokens") {
  Budgets budgets;
  LlmSpending spending(budgets);
  CHECK(spending.price_of(answer(1'000, 500, 0.25)) == 1'500);
  budgets.max_cost_usd = 1;
  CHECK(spending.price_of(answer(1'000, 500, 0.25)) == 0.25);
}

}  // namespace
}  // namespace ak::agent
