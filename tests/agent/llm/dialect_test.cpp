// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/dialect.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "core/token_counts.h"
#include "tests/agent/llm/llm_samples.h"

namespace ak::agent {
namespace {

using namespace test;

LlmReply read(const Dialect& dialect, bool stream, const std::vector<std::string>& pieces) {
  AnswerReader reader(dialect, stream);
  for (const std::string& piece : pieces) {
    if (!reader.feed(piece)) break;
  }
  return reader.finish();
}

void check_sample(const LlmReply& reply) {
  REQUIRE_FALSE(reply.failure);
  CHECK(reply.text == kSampleText);
  CHECK(reply.stop == LlmStop::end);
  CHECK(reply.usage.reported);
  CHECK(reply.usage.input_tokens == 130);
  CHECK(reply.usage.cached_tokens == 100);
  CHECK(reply.usage.output_tokens == 42);
}

TEST_CASE("every dialect's answer is read whole and as a stream, split at every byte") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.dialect->name);
    check_sample(read(*sample.dialect, false, {sample.whole}));
    check_sample(read(*sample.dialect, true, {sample.stream}));
    for (std::size_t i = 0; i < sample.stream.size(); ++i) {
      const LlmReply reply =
          read(*sample.dialect, true, {sample.stream.substr(0, i), sample.stream.substr(i)});
      REQUIRE(reply.text == kSampleText);
      REQUIRE(reply.usage.output_tokens == 42);
    }
  }
}

TEST_CASE("a stream that breaks off anywhere before its end is cut short, never a shorter answer") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.dialect->name);
    for (std::size_t i = 0; i < sample.text_end; ++i) {
      const LlmReply reply = read(*sample.dialect, true, {sample.stream.substr(0, i)});
      REQUIRE(reply.failure);
      CHECK((reply.failure->fault == LlmFault::cut_short || reply.failure->fault == LlmFault::malformed));
    }
  }
}

TEST_CASE("any JSON at all as an answer is read without a crash") {
  std::mt19937 random(2);
  const std::vector<std::string> parts{"{",
                                       "}",
                                       "[",
                                       "]",
                                       ":",
                                       ",",
                                       "\"type\"",
                                       "\"choices\"",
                                       "\"content\"",
                                       "\"error\"",
                                       "null",
                                       "1",
                                       "-1e9",
                                       "\"x\"",
                                       "\"usage\"",
                                       "\"delta\"",
                                       "\"message_start\"",
                                       "\"message\"",
                                       "true",
                                       "\"output\""};
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 300; ++round) {
      std::string text;
      for (int i = 0; i < 30; ++i) text += parts[random() % parts.size()];
      static_cast<void>(read(*sample.dialect, false, {text}));
      static_cast<void>(read(*sample.dialect, true, {"data: " + text + "\n\n"}));
    }
    // Valid JSON of the wrong types everywhere: every value of the sample replaced by others.
    for (const char* wrong : {"null", "7", "[]", "{}", "\"s\"", "[null]"}) {
      const Json whole = parse_json(sample.whole).flatten();
      for (const auto& [path, value] : whole.items()) {
        Json changed = parse_json(sample.whole);
        changed[Json::json_pointer(path)] = parse_json(wrong);
        static_cast<void>(read(*sample.dialect, false, {changed.dump()}));
        static_cast<void>(read(*sample.dialect, true, {"data: " + changed.dump() + "\n\n"}));
      }
    }
  }
}

TEST_CASE("a request has what the model takes and nothing else") {
  LlmRequest request{.model = "m", .system = "S", .messages = {{"user", "U"}}, .max_output_tokens = 10};
  request.temperature = 0.5;
  request.effort = "high";
  ModelEntry plain{.provider = "p", .name = "m"};
  ModelEntry able = plain;
  able.temperature = able.stop = true;
  able.efforts = {"high"};

  Json body = find_dialect("anthropic-messages")->body(request, plain, false);
  CHECK(body["max_tokens"] == 10);
  CHECK(body["system"][0]["cache_control"]["type"] == "ephemeral");
  CHECK(body["system"][0]["text"] == "S");
  CHECK(body["stream"] == true);
  CHECK_FALSE(body.contains("temperature"));
  CHECK_FALSE(body.contains("output_config"));
  body = find_dialect("anthropic-messages")->body(request, able, false);
  CHECK(body["temperature"] == 0.5);
  CHECK(body["output_config"]["effort"] == "high");

  body = find_dialect("openai-chat")->body(request, plain, false);
  CHECK(body["max_completion_tokens"] == 10);
  CHECK_FALSE(body.contains("max_tokens"));
  CHECK_FALSE(body.contains("temperature"));
  CHECK(body["messages"][0]["role"] == "system");
  body = find_dialect("openai-chat")->body(request, plain, true);
  CHECK(body["max_tokens"] == 10);
  CHECK_FALSE(body.contains("max_completion_tokens"));
  CHECK(body["temperature"] == 0.5);

  body = find_dialect("openai-responses")->body(request, able, false);
  CHECK(body["max_output_tokens"] == 16);
  CHECK(body["store"] == false);
  CHECK(body["instructions"] == "S");
  CHECK(body["reasoning"]["effort"] == "high");
}

struct ErrorCase {
  long status;
  std::string body;
  LlmFault fault;
};

TEST_CASE("errors of every provider are distinguished, whatever their form") {
  const std::vector<ErrorCase> cases{
      {401, R"({"type":"error","error":{"type":"authentication_error","message":"bad"}})", LlmFault::auth},
      {401, R"({"error":{"message":"bad","type":"invalid_request_error","code":"invalid_api_key"}})",
       LlmFault::auth},
      {429,
       R"({"error":{"type":"rate_limit_error","message":"slow","details":{"error_code":"enforced_spend_limit_reached"}}})",
       LlmFault::quota},
      {429, R"({"error":{"message":"q","type":"insufficient_quota","code":"credit_balance_exhausted"}})",
       LlmFault::quota},
      {429, R"({"error":{"message":"q","type":"requests","code":"rate_limit_exceeded"}})",
       LlmFault::rate_limited},
      {429, "<html>slow down</html>", LlmFault::rate_limited},
      {529, R"({"error":{"type":"overloaded_error","message":"o"}})", LlmFault::overloaded},
      {503, R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})",
       LlmFault::overloaded},
      {413, "<html>too large</html>", LlmFault::too_long},
      {400, R"({"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}})",
       LlmFault::too_long},
      {400, R"({"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})",
       LlmFault::quota},
      {400, R"({"error":"model is required"})", LlmFault::rejected},
      {422, R"({"detail":[{"msg":"field required"}]})", LlmFault::rejected},
      {404, R"({"error":{"type":"not_found_error","message":"model: x"}})", LlmFault::no_model},
      {302, "", LlmFault::no_model},
      {200, R"({"type":"error","error":{"type":"overloaded_error","message":"o"}})", LlmFault::overloaded}};
  for (const ErrorCase& one : cases) {
    CAPTURE(one.status, one.body);
    const LlmFailure failure = read_failure(one.status, try_parse_json(one.body), one.body).shown({});
    CHECK(info(failure.fault).name == info(one.fault).name);
    CHECK_FALSE(failure.message.empty());
    CHECK(failure.message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a refusal, a filter and an error inside a good answer are failures") {
  const auto fault = [](const Dialect& dialect, bool stream, const std::string& text) {
    const LlmReply reply = read(dialect, stream, {text});
    REQUIRE(reply.failure);
    return reply.failure->fault;
  };
  CHECK(
      fault(
          *find_dialect("anthropic-messages"), false,
          R"({"type":"message","content":[],"stop_reason":"refusal","stop_details":{"explanation":"no"}})") ==
      LlmFault::refused);
  CHECK(fault(*find_dialect("anthropic-messages"), true,
              "event: error\ndata: "
              "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"o\"}}\n\n") ==
        LlmFault::overloaded);
  CHECK(fault(*find_dialect("openai-chat"), false,
              R"({"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]})") ==
        LlmFault::refused);
  CHECK(fault(*find_dialect("openai-chat"), true,
              "data: {\"error\":{\"message\":\"boom\",\"type\":\"server_error\"}}\n\n") ==
        LlmFault::overloaded);
  CHECK(fault(*find_dialect("openai-responses"), false,
              R"({"status":"failed","error":{"code":"server_error","message":"x"},"output":[]})") ==
        LlmFault::overloaded);
  CHECK(fault(*find_dialect("openai-responses"), false, "<html>") == LlmFault::malformed);
  CHECK(fault(*find_dialect("openai-chat"), false, "{}") == LlmFault::malformed);
}

TEST_CASE("an answer that hit the token limit says so") {
  CHECK(read(*find_dialect("anthropic-messages"), false,
             {R"({"content":[{"type":"text","text":"a"}],"stop_reason":"max_tokens"})"})
            .stop == LlmStop::length);
  CHECK(read(*find_dialect("openai-chat"), false,
             {R"({"choices":[{"message":{"content":null},"finish_reason":"length"}]})"})
            .stop == LlmStop::length);
  CHECK(read(*find_dialect("openai-responses"), false,
             {R"({"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]})"})
            .stop == LlmStop::length);
}

/// `text` with the first `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_CASE("counts of tokens that cannot be are not believed, and the reply says so") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.dialect->name);
    for (const char* count :
         {"9200000000000000000", "18446744073709551615", "100000001", "-1", "-9223372036854775808"}) {
      for (const bool stream : {false, true}) {
        CAPTURE(count, stream);
        const std::string whole = stream ? sample.stream : sample.whole;
        const LlmReply reply =
            read(*sample.dialect, stream, {with(whole, "tokens\":100", std::string("tokens\":") + count)});
        CHECK(reply.text == kSampleText);
        CHECK_FALSE(reply.usage.reported);
        CHECK(reply.usage.total() == 0);
        CHECK_THAT(reply.note, Catch::Contains("estimated instead"));
      }
    }
  }
}

TEST_CASE("more cached tokens than there are of input are not believed") {
  const Sample& chat =
      *std::ranges::find(samples(), "openai-chat", [](const Sample& s) { return s.dialect->name; });
  CHECK_FALSE(read(*chat.dialect, false, {with(chat.whole, "cached_tokens\":100", "cached_tokens\":131")})
                  .usage.reported);
  CHECK(read(*chat.dialect, false, {with(chat.whole, "cached_tokens\":100", "cached_tokens\":130")})
            .usage.reported);
}

TEST_CASE("as many tokens as a model may take are believed, and sums of counts stay in 64 bits") {
  STATIC_REQUIRE(are_possible(LlmUsage{.input_tokens = kMaxTokens, .cached_tokens = kMaxTokens}));
  STATIC_REQUIRE_FALSE(are_possible(LlmUsage{.output_tokens = kMaxTokens + 1}));
  STATIC_REQUIRE(saturated_sum(INT64_MAX, 1) == INT64_MAX);
  STATIC_REQUIRE(saturated_sum(INT64_MIN, -1) == INT64_MIN);
  STATIC_REQUIRE(saturated_sum(INT64_MAX, INT64_MIN) == -1);
}

}  // namespace
}  // namespace ak::agent
