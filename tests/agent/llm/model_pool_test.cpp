// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/model_pool.h"

#include <catch2/catch.hpp>

#include "tests/agent/llm/question_samples.h"

namespace ak::agent {
namespace {

using namespace std::chrono_literals;
using Indices = std::vector<std::size_t>;

const LlmFailure kNoKey{LlmFault::auth, "no key"};
const LlmFailure kOverloaded{LlmFault::overloaded, "no room"};
const LlmFailure kMalformed{LlmFault::malformed, "no answer"};

TEST_CASE("one request at a time of each client, and of several clients of a model the first that is free") {
  const auto options = test::options_with({"a", "a", "b"});
  ModelPool models(options);
  CHECK(models.free() == Indices{0, 2});
  models.set_busy(0, true);
  CHECK(models.free() == Indices{1, 2});
  models.set_busy(1, true);
  CHECK(models.free() == Indices{2});
  CHECK_FALSE(models.resting());
  models.set_busy(0, false);
  CHECK(models.free() == Indices{0, 2});
}

TEST_CASE("a permanent failure ends all clients of a model, and the last model's is the end") {
  const auto options = test::options_with({"a", "a", "b"});
  ModelPool models(options);
  models.note_failure(0, kNoKey);
  CHECK(models.given_up(1));
  CHECK_FALSE(models.given_up(2));
  CHECK(models.free() == Indices{2});
  CHECK(models.end_reason().empty());
  models.note_failure(2, kNoKey);
  CHECK(models.resting());
  CHECK(models.end_reason() == "the model cannot be asked: auth: no key");
}

TEST_CASE("a model is given up after five failures in a row, and an answer begins a new row") {
  const auto options = test::options_with({"a"});
  ModelPool models(options);
  for (int i = 0; i < 4; ++i) models.note_failure(0, kMalformed);
  models.note_answer(0);
  for (int i = 0; i < 4; ++i) models.note_failure(0, kOverloaded);
  CHECK_FALSE(models.given_up(0));
  models.note_failure(0, kOverloaded);
  CHECK(models.given_up(0));
}

TEST_CASE("where an outage may pass a model rests instead, and its pauses double up to the longest") {
  auto options = test::options_with({"a"});
  options.outage = LlmOutageRule{.first = 24h, .longest = 24h, .most = 240h};
  ModelPool away(options);
  for (int i = 0; i < 9; ++i) away.note_failure(0, kOverloaded);
  CHECK(away.resting());
  CHECK(away.free().empty());
  CHECK_FALSE(away.given_up(0));
  options.outage = LlmOutageRule{.first = 0ms, .longest = 0ms, .most = 240h};
  ModelPool back(options);
  back.note_failure(0, kOverloaded);
  CHECK(back.free() == Indices{0});
}

TEST_CASE("an outage that lasts too long ends the model, but not one that was over in between") {
  auto options = test::options_with({"a"});
  options.outage = LlmOutageRule{.first = 0ms, .longest = 0ms, .most = 0ms};
  ModelPool gone(options);
  gone.note_failure(0, kOverloaded);
  CHECK(gone.given_up(0));
  options.outage->most = 240h;
  ModelPool patient(options);
  patient.note_failure(0, kOverloaded);
  patient.note_answer(0);
  patient.note_failure(0, kOverloaded);
  CHECK_FALSE(patient.given_up(0));
}

TEST_CASE("a model that never gives a candidate is given up after five exchanges") {
  const auto options = test::options_with({"a"});
  ModelPool models(options);
  for (int i = 0; i < 4; ++i) models.note_exchange(0, false);
  models.note_exchange(0, true);
  for (int i = 0; i < 4; ++i) models.note_exchange(0, false);
  CHECK_FALSE(models.given_up(0));
  models.note_exchange(0, false);
  CHECK(models.given_up(0));
  CHECK_THAT(models.end_reason(), Catch::Contains("5 exchanges in a row without a candidate"));
}

}  // namespace
}  // namespace ak::agent
