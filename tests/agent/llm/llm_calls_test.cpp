// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/llm_calls.h"

#include <catch2/catch.hpp>

#include "tests/agent/llm/question_samples.h"
#include "tests/support/patience.h"

namespace ak::agent {
namespace {

/// Answers with a text, or hangs until it is cancelled.
struct OneAnswer final : LlmClient {
  LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override {
    asked = request;
    if (hangs) static_cast<void>(testing::in_the_end([&] { return cancelled->load(); }));
    if (hangs) return {.text = "", .failure = LlmFailure{LlmFault::cancelled, "stopped"}};
    return {.text = "yes", .usage = {.input_tokens = 70, .output_tokens = 30, .reported = true}};
  }
  LlmRequest asked;
  bool hangs = false;
};

struct Calls {
  Calls() {
    options.models[0].client = client;
    calls.begin(7, store);
  }
  Question question() {
    Question made;
    made.request = {.model = "a", .system = "system", .messages = {{"user", "please"}}};
    made.request.max_output_tokens = 2'000;
    made.arm = "improve";
    return made;
  }
  std::shared_ptr<OneAnswer> client = std::make_shared<OneAnswer>();
  LlmProposerOptions options = test::options_with({"a"});
  test::VectorStore store;
  ModelPool models{options};
  LlmSpending spending{options.budgets};
  LlmCalls calls{options, models, spending};
};

TEST_CASE("a question is committed when it is sent, and its answer when it is received") {
  Calls test;
  Question question = test.question();
  CHECK(test.calls.next_number() == 1);
  auto call = test.calls.send(question, 0, "fresh", "dram_bound");
  REQUIRE(call);
  REQUIRE(test.store.calls.size() == 1);
  CHECK(test.store.calls[0].search == 7);
  CHECK(test.store.calls[0].model == "a");
  CHECK(test.store.calls[0].arm == "improve");
  CHECK(test.store.calls[0].credited_arm == "fresh");
  CHECK(test.store.calls[0].bottleneck == "dram_bound");
  CHECK(call->in_flight());
  CHECK(test.models.free().empty());
  CHECK(test.calls.receive(*call).text == "yes");
  CHECK(test.client->asked.messages[0].text == "please");
  CHECK(test.store.replies.size() == 1);
  CHECK(test.spending.tokens() == 100);
  CHECK_FALSE(call->in_flight());
  CHECK(test.models.free().size() == 1);
  CHECK(test.calls.next_number() == 2);
}

TEST_CASE("a repeated question is stored as that") {
  Calls test;
  Question question = test.question();
  question.is_repeat = true;
  auto call = test.calls.send(question, 0, "improve", "");
  REQUIRE(call);
  static_cast<void>(test.calls.receive(*call));
  CHECK(test.store.calls[0].arm == "unreadable");
}

TEST_CASE("what cannot be afforded is neither sent nor stored") {
  Calls test;
  test.options.budgets.max_tokens = 10;
  Question question = test.question();
  CHECK_FALSE(test.calls.send(question, 0, "improve", ""));
  CHECK(test.store.calls.empty());
  CHECK(test.models.free().size() == 1);
  CHECK(test.calls.next_number() == 1);
}

TEST_CASE("a call that is cancelled ends, and its answer is still committed") {
  Calls test;
  test.client->hangs = true;
  Question question = test.question();
  auto call = test.calls.send(question, 0, "improve", "");
  REQUIRE(call);
  CHECK_FALSE(call->answered());
  test.calls.cancel();
  const LlmReply reply = test.calls.receive(*call);
  REQUIRE(reply.failure);
  CHECK(reply.failure->fault == LlmFault::cancelled);
  CHECK(test.store.replies.size() == 1);
}

}  // namespace
}  // namespace ak::agent
