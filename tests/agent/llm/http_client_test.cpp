// SPDX-License-Identifier: Apache-2.0
// The client over real sockets, with a server that misbehaves byte by byte.
#include "agent/llm/api/http_client.h"

#include <fmt/format.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <future>

#include "agent/llm/api/model_info_client.h"
#include "fake_server.h"
#include "llm_samples.h"
#include "tests/support/patience.h"

namespace ak::agent {
namespace {

using namespace test;
using testing::kPatience;
using namespace std::chrono_literals;

const std::string kKey = "secret-key-0123456789";

RetryPolicy quick(int attempts) {
  return {.max_attempts = attempts, .first = 1ms, .longest = 2ms, .patience = 900'000ms};
}

/// A client of the server in the dialect of a sample.
HttpLlmClient client_of(const FakeServer& server, const Dialect& dialect, int attempts = 1,
                        HttpLimits limits = {}) {
  Provider provider{.name = "test", .dialect = &dialect, .url = server.url()};
  if (&dialect == find_dialect("anthropic-messages")) provider.key_header = "x-api-key";
  ModelEntry model{.provider = "test", .name = "m"};
  model.price = ModelPrice{.input = 1, .output = 10, .cache_read = 0.1, .cache_write = 2};
  return {provider, kKey, model, quick(attempts), limits};
}

LlmRequest request() {
  return {.model = "m", .system = "be brief", .messages = {{"user", "hello"}}, .max_output_tokens = 100};
}

Script sent_once(const std::string& bytes, Script::End end = Script::End::close) {
  return {.pieces = {{bytes}}, .end = end};
}

LlmFault fault_of(const LlmReply& reply) {
  INFO(reply.text);
  REQUIRE(reply.failure);
  return reply.failure->fault;
}

TEST_CASE("every dialect is asked and answers over HTTP, whole and as a stream that drips byte by byte") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.dialect->name);
    Script drip{.pieces = {{stream_head()}}};
    for (const char c : sample.stream) drip.pieces.push_back({std::string(1, c)});
    FakeServer server({sent_once(response(200, sample.whole, "x-request-id: req_42\r\n")), drip});
    HttpLlmClient client = client_of(server, *sample.dialect);
    for (int i = 0; i < 2; ++i) {
      const LlmReply reply = client.ask(request(), nullptr);
      REQUIRE(reply.ok());
      CHECK(reply.text == kSampleText);
      CHECK(reply.usage.output_tokens == 42);
      CHECK(reply.request_id == "req_42");
      REQUIRE(reply.cost_usd);
      CHECK(*reply.cost_usd > 0);
      CHECK_FALSE(reply.raw.empty());
    }
    const std::string sent = server.requests().front();
    CHECK(sent.starts_with("POST " + std::string(sample.dialect->path) + " HTTP/1.1\r\n"));
    CHECK(sent.find("hello") != std::string::npos);
    CHECK(sent.find(kKey) != std::string::npos);
    CHECK(body_of(sent).find(kKey) == std::string::npos);
    CHECK(parse_json(body_of(sent))["model"] == "m");
  }
}

TEST_CASE("a stream that is complete needs no end of the connection") {
  const Sample& sample = samples().front();
  FakeServer server({sent_once(stream_head() + sample.stream, Script::End::hold)});
  CHECK(client_of(server, *sample.dialect).ask(request(), nullptr).text == kSampleText);
}

TEST_CASE("what may pass is tried again, and the number of attempts is reported") {
  const Sample& sample = samples().front();
  const std::string overloaded = R"({"type":"error","error":{"type":"overloaded_error","message":"full"}})";
  FakeServer server(
      {sent_once(response(529, overloaded)), sent_once(response(429, "<html>", "retry-after: 0\r\n")),
       sent_once("", Script::End::reset), sent_once(""), sent_once(response(200, sample.whole))});
  const LlmReply reply = client_of(server, *sample.dialect, 8).ask(request(), nullptr);
  REQUIRE(reply.ok());
  CHECK(reply.attempts == 5);
  CHECK(server.requests().size() == 5);
}

/// A stream that has read the prompt, and fails as if it may pass.
const std::string kBilledFailure =
    stream_head() +
    "data: "
    "{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3000,\"output_tokens\":1}}}\n\n"
    "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"some words of an "
    "answer\"}}\n\n"
    "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"full\"}}\n\n";

TEST_CASE(
    "what failed attempts used is counted, and repetitions have to do with what is left of one attempt") {
  const Sample& sample = samples().front();
  REQUIRE(sample.dialect->name == "anthropic-messages");
  LlmRequest asked = request();
  asked.max_output_tokens = 10'000;
  FakeServer server(
      {sent_once(kBilledFailure), sent_once(kBilledFailure), sent_once(response(200, sample.whole))});
  const LlmReply reply = client_of(server, *sample.dialect, 8).ask(asked, nullptr);
  REQUIRE(reply.ok());
  CHECK(reply.attempts == 3);
  CHECK(reply.usage.input_tokens == 3000 + 3000 + 130);
  CHECK(reply.usage.output_tokens > 42 + 2 * 5);  // the words of those that broke off are estimated
  REQUIRE(reply.cost_usd);
  CHECK(*reply.cost_usd > 2 * 3000 / 1e6);
  const std::vector<std::string> sent = server.requests();
  CHECK(parse_json(body_of(sent[0]))["max_tokens"] == 10'000);
  CHECK(parse_json(body_of(sent[1]))["max_tokens"] < 7'000);
  CHECK(parse_json(body_of(sent[2]))["max_tokens"] < 4'000);

  FakeServer expensive({sent_once(kBilledFailure)});
  asked.max_output_tokens = 3'500;
  const LlmReply once_only = client_of(expensive, *sample.dialect, 8).ask(asked, nullptr);
  CHECK(fault_of(once_only) == LlmFault::overloaded);
  CHECK(once_only.attempts == 1);
  CHECK(once_only.usage.input_tokens == 3000);
  CHECK(once_only.cost_usd);
}

TEST_CASE("what will not pass is not tried again") {
  struct Case {
    std::string bytes;
    LlmFault fault;
  };
  const std::vector<Case> cases{
      {response(401, R"({"error":{"type":"authentication_error","message":"invalid x-api-key"}})"),
       LlmFault::auth},
      {response(429, R"({"error":{"type":"insufficient_quota","message":"no money"}})"), LlmFault::quota},
      {response(429, "{}", "retry-after: 100000\r\n"), LlmFault::rate_limited},
      {response(503, "{}", "x-should-retry: false\r\n"), LlmFault::overloaded},
      {response(400, R"({"error":{"type":"invalid_request_error","message":"prompt is too long"}})"),
       LlmFault::too_long},
      {response(404, "{}"), LlmFault::no_model},
      {response(200, "<html><body>A proxy says hello</body></html>", "", "text/html"), LlmFault::malformed},
      {response(200, ""), LlmFault::malformed}};
  for (const Case& one : cases) {
    CAPTURE(one.bytes);
    FakeServer server({sent_once(one.bytes)});
    const LlmReply reply = client_of(server, *find_dialect("anthropic-messages"), 8).ask(request(), nullptr);
    CHECK(info(fault_of(reply)).name == info(one.fault).name);
    CHECK(reply.attempts == 1);
    CHECK(server.requests().size() == 1);
  }
}

TEST_CASE("redirects are not followed: the key stays here") {
  const Sample& sample = samples().front();
  FakeServer other({sent_once(response(200, sample.whole))});
  FakeServer server({sent_once(response(307, "", "location: " + other.url() + "/v1/messages\r\n"))});
  const LlmReply reply = client_of(server, *sample.dialect, 8).ask(request(), nullptr);
  CHECK(fault_of(reply) == LlmFault::no_model);
  CHECK(reply.failure->message.find("redirects are not followed") != std::string::npos);
  CHECK(other.requests().empty());
}

TEST_CASE("an answer that breaks off is cut short, not repeated, and what it cost is estimated") {
  const Sample& sample = samples().front();
  const std::string half = sample.stream.substr(0, sample.stream.find("\\ud83d"));
  std::string wrong_length = response(200, sample.whole);
  wrong_length.resize(wrong_length.size() - 20);
  for (const Script& script :
       {sent_once(stream_head() + half), sent_once(stream_head() + half, Script::End::reset),
        sent_once(wrong_length)}) {
    FakeServer server({script});
    const LlmReply reply = client_of(server, *sample.dialect, 8).ask(request(), nullptr);
    CHECK(fault_of(reply) == LlmFault::cut_short);
    CHECK(reply.attempts == 1);
    CHECK(reply.usage.total() > 0);
    CHECK(reply.cost_usd);
  }
}

TEST_CASE("an endless answer and endless headers end") {
  HttpLimits limits;
  limits.max_bytes = 100'000;
  const std::string chunk = "data: {\"choices\":[{\"delta\":{\"content\":\"xxxxxxxxxxxxxxxx\"}}]}\n\n";
  FakeServer server({{.pieces = {{stream_head()}, {chunk}}, .endless = true}});
  CHECK(fault_of(client_of(server, *find_dialect("openai-chat"), 8, limits).ask(request(), nullptr)) ==
        LlmFault::cut_short);
  FakeServer headers({{.pieces = {{"HTTP/1.1 200 OK\r\n"}, {"x-filler: " + std::string(1000, 'y') + "\r\n"}},
                       .endless = true}});
  static_cast<void>(
      fault_of(client_of(headers, *find_dialect("openai-chat"), 1, limits).ask(request(), nullptr)));
  FakeServer error({{.pieces = {{"HTTP/1.1 500 No\r\n\r\n"}, {std::string(10'000, 'z')}}, .endless = true}});
  CHECK(fault_of(client_of(error, *find_dialect("openai-chat"), 1, limits).ask(request(), nullptr)) ==
        LlmFault::overloaded);
}

TEST_CASE("a silent server is given up, before its answer as a timeout and within it as cut short") {
  const auto fault = [](const FakeServer& server, const HttpLimits& limits) {
    return fault_of(client_of(server, *find_dialect("openai-chat"), 1, limits).ask(request(), nullptr));
  };
  FakeServer silent({sent_once("", Script::End::hold)});
  CHECK(fault(silent, {.idle = 50ms}) == LlmFault::timeout);
  CHECK(fault(silent, {.total = 50ms}) == LlmFault::timeout);
  FakeServer stalls({sent_once(stream_head() + "data: {\"choices\":[]}\n\n", Script::End::hold)});
  LlmFault end = LlmFault::timeout;
  // On a slow machine it takes more patience to hear the answer begin.
  for (auto idle = 50ms; end == LlmFault::timeout && idle < kPatience; idle *= 4)
    end = fault(stalls, {.idle = idle});
  CHECK(end == LlmFault::cut_short);
}

TEST_CASE("a request and the wait for the next attempt are cancelled") {
  FakeServer silent({sent_once("", Script::End::hold)});
  std::atomic<bool> cancelled{false};
  HttpLlmClient client = client_of(silent, *find_dialect("openai-chat"), 8);
  auto asking = std::async(std::launch::async, [&] { return client.ask(request(), &cancelled); });
  CHECK(testing::in_the_end([&] { return !silent.requests().empty(); }));
  cancelled = true;
  CHECK(fault_of(asking.get()) == LlmFault::cancelled);

  FakeServer busy({sent_once(response(429, "{}", "retry-after: 600\r\n"))});
  cancelled = false;
  HttpLlmClient patient = client_of(busy, *find_dialect("openai-chat"), 8);
  auto waiting = std::async(std::launch::async, [&] { return patient.ask(request(), &cancelled); });
  CHECK(testing::in_the_end([&] { return !busy.requests().empty(); }));
  cancelled = true;
  CHECK(fault_of(waiting.get()) == LlmFault::cancelled);
}

TEST_CASE("an optional field that is rejected is left out, once") {
  const Sample& sample = samples()[1];
  const std::string no =
      R"({"error":{"message":"Unknown parameter: 'stream_options'","type":"invalid_request_error"}})";
  FakeServer server({sent_once(response(400, no)), sent_once(response(200, sample.whole))});
  const LlmReply reply = client_of(server, *sample.dialect, 8).ask(request(), nullptr);
  REQUIRE(reply.ok());
  REQUIRE(server.requests().size() == 2);
  CHECK(parse_json(body_of(server.requests()[0])).contains("stream_options"));
  CHECK_FALSE(parse_json(body_of(server.requests()[1])).contains("stream_options"));
  FakeServer stubborn({sent_once(response(400, no))});
  CHECK(fault_of(client_of(stubborn, *sample.dialect, 8).ask(request(), nullptr)) == LlmFault::rejected);
  CHECK(stubborn.requests().size() == 2);
}

TEST_CASE("a key that the provider echoes is seen nowhere") {
  for (const std::string& body :
       {response(401, R"({"error":{"message":"Incorrect API key provided: )" + kKey + R"("}})"),
        response(200, R"({"choices":[{"message":{"content":"your key is )" + kKey +
                          R"("},"finish_reason":"stop"}]})")}) {
    FakeServer server({sent_once(body)});
    const LlmReply reply = client_of(server, *find_dialect("openai-chat")).ask(request(), nullptr);
    const std::string all = reply.text + reply.raw + (reply.failure ? reply.failure->message : "");
    CHECK(all.find(kKey) == std::string::npos);
    CHECK(all.find("[redacted]") != std::string::npos);
  }
}

TEST_CASE("a server that reads less than the prompt is found out") {
  FakeServer server({sent_once(response(
      200,
      R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2048,"completion_tokens":1}})"))});
  LlmRequest large = request();
  large.messages.front().text = std::string(40'000, 'a');
  const LlmReply reply = client_of(server, *find_dialect("openai-chat")).ask(large, nullptr);
  REQUIRE(reply.ok());
  CHECK(reply.note.find("2048 tokens") != std::string::npos);
}

TEST_CASE("a count of zeros is not a count, and one from before a stream broke off is too low") {
  const auto ask = [](const std::string& stream) {
    FakeServer server({sent_once(stream_head() + stream)});
    return client_of(server, *find_dialect("anthropic-messages")).ask(request(), nullptr).usage;
  };
  const auto start = [](int input) {
    return R"(data: {"type":"message_start","message":{"usage":{"output_tokens":0,"input_tokens":)" +
           std::to_string(input) + "}}}\n\n";
  };
  const std::string text = R"(data: {"type":"content_block_delta","delta":{"type":"text_delta","text":")" +
                           std::string(400, 'x') + "\"}}\n\n";
  const LlmUsage zeros = ask(start(0) + text + "data: {\"type\":\"message_stop\"}\n\n");
  CHECK_FALSE(zeros.reported);
  CHECK(zeros.input_tokens == estimated_tokens(request()));
  CHECK(zeros.output_tokens == 100);
  const LlmUsage broken = ask(start(77) + text);
  CHECK(broken.reported);
  CHECK(broken.input_tokens == 77);
  CHECK(broken.output_tokens == 100);
}

/// As the deflate coding of HTTP has it.
std::string deflated(const std::string& text) {
  std::string packed(compressBound(text.size()), 0);
  uLongf size = packed.size();
  REQUIRE(compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                   reinterpret_cast<const Bytef*>(text.data()), text.size()) == Z_OK);
  packed.resize(size);
  return packed;
}

TEST_CASE(
    "a compressed answer is read, a broken one is none, and one that unpacks to too much is cut short") {
  const Sample& sample = samples().front();
  const std::string packed = deflated(sample.whole), coding = "content-encoding: deflate\r\n";
  HttpLimits limits;
  limits.max_bytes = 100'000;
  const std::string huge = deflated(R"({"content":[{"type":"text","text":")" + std::string(10'000'000, 'x'));
  FakeServer server({sent_once(response(200, packed, coding)), sent_once(response(200, huge, coding))});
  HttpLlmClient client = client_of(server, *sample.dialect, 1, limits);
  CHECK(client.ask(request(), nullptr).text == kSampleText);
  CHECK(fault_of(client.ask(request(), nullptr)) == LlmFault::cut_short);
  const std::string no_coding = "content-encoding: gzip\r\n";
  FakeServer broken_server({sent_once(response(200, "{\"plain\": \"text\"}", no_coding))});
  CHECK_FALSE(client_of(broken_server, *sample.dialect).ask(request(), nullptr).ok());
}

TEST_CASE("a stream slower than its limit of silence is read to its end when it never falls silent") {
  const Sample& sample = samples().front();
  const std::size_t step = sample.stream.size() / 15;  // splits characters, too
  const auto answer = [&](std::chrono::milliseconds limit) {
    Script slow{.pieces = {{stream_head()}}};
    for (std::size_t at = 0; at < sample.stream.size(); at += step)
      slow.pieces.push_back({sample.stream.substr(at, step), limit / 10});
    FakeServer server({slow});
    return client_of(server, *sample.dialect, 1, {.idle = limit}).ask(request(), nullptr);
  };
  LlmReply reply = answer(1000ms);
  // A busy machine may keep the server from sending for longer than that.
  for (auto limit = 4000ms; !reply.ok() && limit < kPatience; limit *= 4) reply = answer(limit);
  CHECK(reply.text == kSampleText);
}

TEST_CASE("lengths and forms that are wrong give a failure or the answer, never half of one") {
  const Sample& sample = samples().front();
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
  const auto chunk = [](const std::string& text) { return fmt::format("{:x}\r\n{}\r\n", text.size(), text); };
  const std::string half = sample.whole.substr(0, sample.whole.size() / 2);
  struct Case {
    std::string bytes;
    bool good;
  };
  const std::vector<Case> cases{
      {head + "Content-Length: 10\r\n\r\n" + sample.whole, false},
      {head + "Content-Length: many\r\n\r\n" + sample.whole, false},
      {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(sample.whole) + "0\r\n\r\n", true},
      {head + "Transfer-Encoding: chunked\r\n\r\n" + chunk(half), false},
      {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + sample.whole, false},
      {"HTTP/1.1 100 Continue\r\n\r\n" + response(200, sample.whole), true},
      {"HTTP/1.1 204 No Content\r\n\r\n", false},
      {"HTTP/1.0 200 OK\r\n\r\n" + sample.whole, true},
      {"SSH-2.0-OpenSSH_9.2\r\n", false},
      {response(502, "<html><h1>Bad gateway</h1></html>", "", "text/html"), false},
      {std::string(1000, '\0'), false}};
  for (const Case& one : cases) {
    CAPTURE(one.bytes);
    FakeServer server({sent_once(one.bytes)});
    const LlmReply reply = client_of(server, *sample.dialect).ask(request(), nullptr);
    CHECK(reply.ok() == one.good);
    if (one.good) CHECK(reply.text == kSampleText);
  }
}

struct InfoRequest {
  const Dialect* dialect;
  std::string path, count_path, description;
  std::int64_t context, output;
  std::vector<std::string> efforts;
};

TEST_CASE("a provider is asked what a model takes and how many tokens a text has") {
  const std::vector<InfoRequest> info_requests{
      {find_dialect("anthropic-messages"),
       "GET /v1/models/o/m%201 ",
       "POST /v1/messages/count_tokens ",
       R"({"id":"o/m 1","max_input_tokens":200000,"max_tokens":64000,"capabilities":{"effort":{"supported":true,
           "low":{"supported":true},"max":{"supported":false},"xhigh":null,"high":{"supported":true}}}})",
       200'000,
       64'000,
       {"low", "high"}},
      {find_dialect("openai-responses"),
       "GET /models/o/m%201 ",
       "POST /responses/input_tokens ",
       R"({"id":"o/m 1"})",
       8,
       9,
       {"max"}},
      {find_dialect("openai-chat"),
       "GET /models/o/m%201 ",
       "",
       R"({"id":"o/m 1","max_model_len":32768})",
       32'768,
       9,
       {"max"}}};
  for (const InfoRequest& one : info_requests) {
    CAPTURE(one.dialect->name);
    FakeServer server({sent_once(response(200, one.description)),
                       sent_once(response(200, R"({"input_tokens":321})")), sent_once(response(404, "{}"))});
    const ModelEntry entry{
        .provider = "test", .name = "o/m 1", .context_tokens = 8, .max_output_tokens = 9, .efforts = {"max"}};
    const ModelInfoClient info_client({.name = "test", .dialect = one.dialect, .url = server.url()}, kKey,
                                      entry);
    const auto said = info_client.description();
    REQUIRE(said);
    CHECK(said->context_tokens == one.context);
    CHECK(said->max_output_tokens == one.output);
    CHECK(said->efforts == one.efforts);
    const auto counted = info_client.count_tokens(request());
    CHECK(counted.ok() == !one.count_path.empty());
    if (counted) CHECK(*counted == 321);
    if (counted) CHECK_FALSE(info_client.description());
    const std::vector<std::string> sent = server.requests();
    CHECK(sent[0].starts_with(one.path));
    CHECK(body_of(sent[0]).empty());
    if (!counted) continue;
    CHECK(sent[1].starts_with(one.count_path));
    CHECK(sent[1].find(kKey) != std::string::npos);
    CHECK(body_of(sent[1]).find("hello") != std::string::npos);
    CHECK_FALSE(parse_json(body_of(sent[1])).contains("stream"));
  }
}

TEST_CASE(
    "a server in a provider's place that knows nothing of a model decides nothing, and its list is named") {
  const struct {
    std::string list, said;
    bool moved, compatible;
  } rows[] = {
      {R"({"data":[{"id":"qwen3"},{"id":"gemma"}]})", "it lists qwen3, gemma; did you mean 'qwen3'?", false,
       true},
      {R"({"data":[{"id":"other"}]})", "it lists other", true, false},
      {R"({"data":[{"id":"\u001b[31mred"}]})", "it lists ?[31mred", true, false},
      {R"({"data":[{"id":"qwen3"},{"id":"qwen"}]})", "{}", false, true},
      {R"({"data":[{"id":7},{"id":null}]})", "{}", false, true},
      {R"({"data":"many"})", "{}", true, false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.list, row.moved);
    FakeServer server({sent_once(response(404, "{}")), sent_once(response(200, row.list))});
    const ModelLook look = ModelInfoClient({.name = "test",
                                            .dialect = find_dialect("openai-chat"),
                                            .url = server.url(),
                                            .compatible = row.compatible,
                                            .moved = row.moved},
                                           "", {.provider = "test", .name = "qwen"})
                               .look();
    CHECK_FALSE(look.failure);
    CHECK(look.undecided == row.said);
  }
  // The provider itself is believed.
  FakeServer server({sent_once(response(404, "{}"))});
  const ModelLook look =
      ModelInfoClient({.name = "test", .dialect = find_dialect("openai-chat"), .url = server.url()}, "",
                      {.provider = "test", .name = "qwen"})
          .look();
  REQUIRE(look.failure);
  CHECK(look.failure->fault == LlmFault::no_model);
}

TEST_CASE("whatever a server answers about a model, the table's entry stays where it says nothing") {
  const ModelEntry entry{.provider = "test", .name = "m", .context_tokens = 8, .efforts = {"max"}};
  for (const std::string& body :
       {std::string("[]"), std::string("<html>"), std::string(R"({"id":"other","max_model_len":5})"),
        R"({"id":"m","max_input_tokens":"many","max_tokens":-1,"capabilities":{"effort":7}})" +
            std::string()}) {
    FakeServer server({sent_once(response(200, body))});
    const auto said =
        ModelInfoClient({.name = "test", .dialect = find_dialect("anthropic-messages"), .url = server.url()},
                        "", entry)
            .description();
    if (said) CHECK((said->context_tokens == 8 && said->efforts == entry.efforts));
    CHECK(said.ok() == body.starts_with(R"({"id":"m")"));
  }
}

TEST_CASE("nothing listens: unreachable, after the attempts") {
  std::string url;
  { url = FakeServer({sent_once("")}).url(); }
  HttpLlmClient client({.name = "gone", .dialect = find_dialect("openai-chat"), .url = url}, "",
                       {.provider = "p", .name = "m"}, quick(3), {});
  const LlmReply reply = client.ask(request(), nullptr);
  CHECK(fault_of(reply) == LlmFault::unreachable);
  CHECK(reply.attempts == 3);
}

TEST_CASE("plain http goes to this machine only, and no address may hide its host") {
  for (const char* good :
       {"https://api.example.com", "http://localhost:8000/v1", "http://127.0.0.1", "http://[::1]:80/v1"})
    CHECK(url_error(good) == "");
  for (const char* bad : {"http://example.com", "http://localhost.example.com",
                          "http://127.0.0.1@example.com", "ftp://localhost", "https://", "https://a b",
                          "http://127.0.0.1.example.com", "file:///etc/passwd", "http://localhost\\@x"})
    CHECK(url_error(bad) != "");
}

}  // namespace
}  // namespace ak::agent
