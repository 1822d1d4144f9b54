// SPDX-License-Identifier: Apache-2.0
// OpenAI's Responses API. Requests are not stored by the provider (`store` is true unless sent as false).
#include <algorithm>

#include "agent/llm/api/dialect.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

constexpr int kMinOutputTokens = 16;  // the API's own lower bound

Json body(const LlmRequest& request, const ModelEntry& model, bool) {
  Json json{{"model", request.model}, {"input", Json::array()}, {"store", false}};
  if (!request.system.empty()) json["instructions"] = request.system;
  for (const LlmMessage& message : request.messages)
    json["input"].push_back({{"role", message.role}, {"content", message.text}});
  if (request.max_output_tokens > 0)
    json["max_output_tokens"] = std::max(kMinOutputTokens, request.max_output_tokens);
  if (model.stream) json["stream"] = true;
  if (request.temperature && model.temperature) json["temperature"] = *request.temperature;
  if (std::ranges::find(model.efforts, request.effort) != model.efforts.end())
    json["reasoning"] = {{"effort", request.effort}};
  return json;
}

void read_usage(const Json& usage, LlmUsage& into) {
  if (!usage.is_object()) return;
  const Json& details = member(usage, "input_tokens_details");
  into = {.input_tokens = count_of(usage, "input_tokens"),
          .cached_tokens = count_of(details, "cached_tokens"),
          .cache_written_tokens = count_of(details, "cache_write_tokens"),
          .output_tokens = count_of(usage, "output_tokens"),
          .reported = true};
}

void read_output(const Json& output, AnswerReading& reading) {
  if (!output.is_array()) return;
  std::string text;
  for (const Json& item : output) {
    const Json& content = member(item, "content");
    if (text_of(item, "type") != "message" || !content.is_array()) continue;
    for (const Json& part : content) {
      if (text_of(part, "type") == "output_text") text += text_of(part, "text");
      if (text_of(part, "type") == "refusal")
        reading.failure = {LlmFault::refused, ForeignText(text_of(part, "refusal"))};
    }
  }
  if (!text.empty()) reading.reply.text = std::move(text);
}

void read_whole(const Json& body, AnswerReading& reading) {
  LlmReply& reply = reading.reply;
  const std::string status = text_of(body, "status");
  reply.request_id = text_of(body, "id");
  read_usage(member(body, "usage"), reply.usage);
  read_output(member(body, "output"), reading);
  if (status == "completed") {
    reply.stop = LlmStop::end;
  } else if (status == "incomplete") {
    const std::string reason = text_of(member(body, "incomplete_details"), "reason");
    reply.stop = reason == "max_output_tokens" ? LlmStop::length : LlmStop::other;
    if (reason == "content_filter")
      reading.failure = {LlmFault::refused, ForeignText("stopped by the provider's filter")};
  } else if (status == "failed" || status == "cancelled") {
    reading.failure = read_failure(200, body, "the provider ended the request: " + status);
  } else {
    return;
  }
  reading.complete = true;
}

void read_event(std::string_view event, const Json& data, AnswerReading& reading) {
  const std::string type = text_of(data, "type");
  const std::string_view name = type.empty() ? event : std::string_view(type);
  if (name == "response.output_text.delta") reading.reply.text += text_of(data, "delta");
  if (name == "response.completed" || name == "response.incomplete" || name == "response.failed")
    read_whole(member(data, "response"), reading);
  if (name == "error") reading.failure = read_failure(200, data, text_of(data, "message"));
}

}  // namespace

const Dialect kOpenaiResponses{.name = "openai-responses",
                               .path = "/responses",
                               .headers = {},
                               .body = body,
                               .read_event = read_event,
                               .read_whole = read_whole,
                               .models_path = "/models/",
                               .read_model = read_openai_model,
                               .count_path = "/responses/input_tokens"};

}  // namespace ak::agent
