// SPDX-License-Identifier: Apache-2.0
// Batches over real sockets: what is waiting goes out together, and every request gets its own answer.
#include "agent/llm/api/batch_client.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <future>

#include "fake_server.h"
#include "llm_samples.h"
#include "tests/support/patience.h"

namespace ak::agent {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr BatchTiming kQuick{.gather = 1ms, .first_poll = 2ms, .longest_poll = 5ms};

struct BatchService {
  FakeServer server;
  Provider provider;
  std::shared_ptr<BatchQueue> queue;
  BatchService(const Dialect& dialect, std::vector<Script> scripts, BatchTiming timing = kQuick)
      : server(std::move(scripts)),
        provider{.name = "test", .dialect = &dialect, .url = server.url()},
        queue(std::make_shared<BatchQueue>(provider, "secret-key",
                                           RetryPolicy{.max_attempts = 3, .first = 1ms, .longest = 2ms},
                                           HttpLimits{}, timing)) {}
  LlmReply ask(const std::string& text, const std::atomic<bool>* cancelled = nullptr) {
    ModelEntry model{.provider = "test", .name = "m"};
    model.price = ModelPrice{.input = 1, .output = 10, .cache_read = 1, .cache_write = 1};
    BatchLlmClient client(queue, provider, model);
    return client.ask({.model = "m", .system = "S", .messages = {{"user", text}}, .max_output_tokens = 100},
                      cancelled);
  }
};

Script once(const std::string& body, int status = 200) { return {.pieces = {{response(status, body)}}}; }

std::string anthropic_line(int index, const std::string& text) {
  return Json{{"custom_id", fmt::format("request-{}", index)},
              {"result",
               {{"type", "succeeded"},
                {"message",
                 {{"content", {{{"type", "text"}, {"text", text}}}},
                  {"stop_reason", "end_turn"},
                  {"usage", {{"input_tokens", 1000}, {"output_tokens", 100}}}}}}}}
             .dump() +
         "\n";
}

/// Three askers at a service that gathers for so long: what they were answered, and what was sent.
struct Round {
  explicit Round(std::chrono::milliseconds gather);
  [[nodiscard]] Json requests() const { return parse_json(body_of(sent.at(0)))["requests"]; }
  std::map<std::string, LlmReply> replies;  ///< by what was asked
  std::vector<std::string> sent;
};

Round::Round(std::chrono::milliseconds gather) {
  BatchService service(
      *find_dialect("anthropic-messages"),
      {once(R"({"id":"msgbatch_1","processing_status":"in_progress"})"),
       once(R"({"id":"msgbatch_1","processing_status":"in_progress"})"), once("{}", 503),
       once(R"({"id":"msgbatch_1","processing_status":"ended"})"),
       once(anthropic_line(2, "two") +
            R"({"custom_id":"request-1","result":{"type":"errored","error":{"type":"error","error":)"
            R"({"type":"invalid_request_error","message":"no"}}}})"
            "\nnot JSON\n" +
            anthropic_line(99, "nobody") + anthropic_line(0, "zero"))},
      {.gather = gather, .first_poll = 2ms, .longest_poll = 5ms});
  std::vector<std::future<LlmReply>> asking;
  for (const char* text : {"a", "b", "c"})
    asking.push_back(std::async(std::launch::async, [&service, text] { return service.ask(text); }));
  for (std::size_t i = 0; i < asking.size(); ++i)
    replies[std::string(1, static_cast<char>('a' + i))] = asking[i].get();
  sent = service.server.requests();
}

TEST_CASE("requests that wait together become one batch, and results in any order find their askers") {
  auto round = std::make_unique<Round>(300ms);
  // On a busy machine it may take longer until all of them wait.
  for (auto gather = 1200ms; round->requests().size() < 3 && gather < testing::kPatience; gather *= 4)
    round = std::make_unique<Round>(gather);
  const auto& sent = round->sent;
  REQUIRE(sent.size() == 5);
  CHECK(sent[0].starts_with("POST /v1/messages/batches "));
  CHECK(sent[1].starts_with("GET /v1/messages/batches/msgbatch_1 "));
  CHECK(sent[4].starts_with("GET /v1/messages/batches/msgbatch_1/results "));
  const Json requests = round->requests();
  REQUIRE(requests.size() == 3);
  // Each asker's text shows which request of the batch it was.
  const std::vector<std::string> expected{"zero", "", "two"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& params = requests[i]["params"];
    CHECK_FALSE(params.contains("stream"));
    const LlmReply& reply = round->replies.at(params["messages"][0]["content"]);
    CHECK(reply.ok() == !expected[i].empty());
    CHECK(reply.text == expected[i]);
    if (reply.ok()) CHECK(*reply.cost_usd == Approx(0.002));
    if (!reply.ok()) CHECK(reply.failure->fault == LlmFault::rejected);
  }
}

TEST_CASE("a batch of files goes up as a form, and its answers come from a file") {
  const std::string line =
      R"({"custom_id":"request-0","error":null,"response":{"status_code":200,"body":)" +
      std::string(R"({"id":"r","status":"completed","error":null,"output":[{"type":"message","content":[)") +
      R"({"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":5,"output_tokens":6}}}})" + "\n";
  BatchService service(
      *find_dialect("openai-responses"),
      {once(R"({"id":"file-1"})"), once(R"({"id":"batch_1","status":"validating"})"),
       once(R"({"id":"batch_1","status":"completed","output_file_id":"file-2","error_file_id":null})"),
       once(line)});
  const LlmReply reply = service.ask("question");
  REQUIRE(reply.ok());
  CHECK(reply.text == "hi");
  CHECK(reply.usage.total() == 11);
  const std::vector<std::string> sent = service.server.requests();
  CHECK(sent[0].starts_with("POST /files "));
  CHECK(sent[0].find("multipart/form-data; boundary=") != std::string::npos);
  CHECK(sent[0].find("\"url\":\"/v1/responses\"") != std::string::npos);
  const Json created = parse_json(body_of(sent[1]));
  CHECK(created["input_file_id"] == "file-1");
  CHECK(created["endpoint"] == "/v1/responses");
  CHECK(sent[3].starts_with("GET /files/file-2/content "));
}

TEST_CASE("a batch that fails, expires or forgets a request is a failure of each request") {
  const auto fault = [](const Dialect& dialect, std::vector<Script> scripts) {
    BatchService service(dialect, std::move(scripts),
                         {.gather = 1ms, .first_poll = 1ms, .longest_poll = 1ms});
    const LlmReply reply = service.ask("question");
    REQUIRE(reply.failure);
    return reply.failure->fault;
  };
  const std::string ended = R"({"id":"b1","processing_status":"ended"})";
  const std::string expired = R"({"custom_id":"request-0","result":{"type":"expired"}})";
  CHECK(fault(*find_dialect("anthropic-messages"), {once(ended), once(ended), once(expired)}) ==
        LlmFault::timeout);
  CHECK(fault(*find_dialect("anthropic-messages"), {once(ended), once(ended), once("")}) ==
        LlmFault::malformed);
  CHECK(fault(*find_dialect("anthropic-messages"), {once("{}", 401)}) == LlmFault::auth);
  CHECK(fault(*find_dialect("anthropic-messages"), {once(R"({"id":"../../x"})")}) == LlmFault::malformed);
  CHECK(fault(*find_dialect("anthropic-messages"), {once("<html>")}) == LlmFault::malformed);
  CHECK(fault(*find_dialect("openai-chat"),
              {once(R"({"id":"f"})"), once(R"({"id":"b1"})"), once(R"({"id":"b1","status":"failed"})")}) ==
        LlmFault::rejected);
}

TEST_CASE("when no one waits any more the batch is cancelled") {
  BatchService service(*find_dialect("anthropic-messages"),
                       {once(R"({"id":"b1","processing_status":"in_progress"})")});
  std::atomic<bool> cancelled{false};
  auto asking = std::async(std::launch::async, [&] { return service.ask("question", &cancelled); });
  CHECK(testing::in_the_end([&] { return service.server.requests().size() >= 3; }));
  cancelled = true;
  CHECK(asking.get().failure->fault == LlmFault::cancelled);
  CHECK(testing::in_the_end(
      [&] { return service.server.requests().back().starts_with("POST /v1/messages/batches/b1/cancel "); }));
}

TEST_CASE("the batch is cancelled too when its asker leaves while the service is looked at") {
  BatchService service(*find_dialect("anthropic-messages"),
                       {once(R"({"id":"b1","processing_status":"in_progress"})"),
                        {.pieces = {}, .end = Script::End::hold},
                        once("{}")});
  std::atomic<bool> cancelled{false};
  auto asking = std::async(std::launch::async, [&] { return service.ask("question", &cancelled); });
  CHECK(testing::in_the_end([&] { return service.server.requests().size() >= 2; }));
  cancelled = true;
  CHECK(asking.get().failure->fault == LlmFault::cancelled);
  CHECK(testing::in_the_end(
      [&] { return service.server.requests().back().starts_with("POST /v1/messages/batches/b1/cancel "); }));
}

TEST_CASE("an asker that leaves does not take the others' answers with it") {
  const std::string ended = R"({"id":"b1","processing_status":"ended"})";
  BatchService service(*find_dialect("anthropic-messages"),
                       {once(R"({"id":"b1","processing_status":"in_progress"})"),
                        {.pieces = {}, .end = Script::End::hold},
                        once(ended),
                        once(anthropic_line(0, "zero") + anthropic_line(1, "one"))},
                       {.gather = 500ms, .first_poll = 2ms, .longest_poll = 5ms});
  std::atomic<bool> first_leaves{false}, second_leaves{false};
  auto first = std::async(std::launch::async, [&] { return service.ask("first", &first_leaves); });
  std::this_thread::sleep_for(50ms);
  auto second = std::async(std::launch::async, [&] { return service.ask("second", &second_leaves); });
  CHECK(testing::in_the_end([&] { return service.server.requests().size() >= 2; }));
  first_leaves = true;
  static_cast<void>(first.get());
  const LlmReply reply = second.get();
  // On a busy machine the second came after the first batch had gone, and has one of its own.
  if (parse_json(body_of(service.server.requests()[0]))["requests"].size() == 2) CHECK(reply.ok());
}

TEST_CASE("batches are for the providers that have them, and halve the price") {
  ::setenv("ANTHROPIC_API_KEY", "k-123456", 1);
  LlmSettings settings;
  settings.batches = std::make_shared<BatchQueues>();
  CHECK(open_model("anthropic:claude-opus-5-5", settings).entry.price->output == 10);
  const LlmModel local = open_model("local:http://localhost:11434/v1#qwen", settings);
  CHECK(dynamic_cast<BatchLlmClient*>(local.client.get()) == nullptr);
  ::unsetenv("ANTHROPIC_API_KEY");
}

}  // namespace
}  // namespace ak::agent
