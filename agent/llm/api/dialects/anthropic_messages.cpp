// SPDX-License-Identifier: Apache-2.0
// Anthropic's Messages API. Sampling knobs are 400s on current models, so only an entry that takes
// `temperature` gets it. The system prompt is one cached block.
#include <algorithm>
#include <array>

#include "agent/llm/api/dialect.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

constexpr int kDefaultMaxTokens = 8192;  // the field is required; chosen

Json body(const LlmRequest& request, const ModelEntry& model, bool compatible) {
  Json json{{"model", request.model},
            {"max_tokens", request.max_output_tokens > 0 ? request.max_output_tokens : kDefaultMaxTokens},
            {"messages", Json::array()}};
  for (const LlmMessage& message : request.messages)
    json["messages"].push_back({{"role", message.role}, {"content", message.text}});
  if (!request.system.empty() && compatible) json["system"] = request.system;
  if (!request.system.empty() && !compatible) {
    json["system"] = Json::array(
        {{{"type", "text"}, {"text", request.system}, {"cache_control", {{"type", "ephemeral"}}}}});
  }
  if (model.stream) json["stream"] = true;
  if (request.temperature && model.temperature) json["temperature"] = *request.temperature;
  if (!request.stop.empty()) json["stop_sequences"] = request.stop;
  if (std::ranges::find(model.efforts, request.effort) != model.efforts.end())
    json["output_config"] = {{"effort", request.effort}};
  return json;
}

/// Later events repeat the counts: what they have replaces what was there.
void read_usage(const Json& usage, LlmUsage& into, std::int64_t& plain_input) {
  if (!usage.is_object()) return;
  into.reported = true;
  const auto take = [&](std::string_view key, std::int64_t& count) {
    if (member(usage, key).is_number_integer()) count = count_of(usage, key);
  };
  take("input_tokens", plain_input);
  take("cache_read_input_tokens", into.cached_tokens);
  take("cache_creation_input_tokens", into.cache_written_tokens);
  take("output_tokens", into.output_tokens);
  into.input_tokens = plain_input + into.cached_tokens + into.cache_written_tokens;
}

void read_usage(const Json& usage, LlmUsage& into) {
  std::int64_t plain = into.input_tokens - into.cached_tokens - into.cache_written_tokens;
  read_usage(usage, into, plain);
}

struct StopRow {
  std::string_view name;
  LlmStop stop;
};
constexpr std::array kStops{StopRow{"end_turn", LlmStop::end}, StopRow{"max_tokens", LlmStop::length},
                            StopRow{"model_context_window_exceeded", LlmStop::length},
                            StopRow{"stop_sequence", LlmStop::stop_sequence}};

void read_stop(const Json& at, AnswerReading& reading) {
  const std::string name = text_of(at, "stop_reason");
  if (name.empty()) return;
  const auto row = std::ranges::find(kStops, name, &StopRow::name);
  reading.reply.stop = row == kStops.end() ? LlmStop::other : row->stop;
  if (name != "refusal") return;
  const std::string why = text_of(member(at, "stop_details"), "explanation");
  reading.failure = {LlmFault::refused, ForeignText(why.empty() ? "the model declined to answer" : why)};
}

void read_event(std::string_view event, const Json& data, AnswerReading& reading) {
  const std::string type = text_of(data, "type");
  const std::string_view name = type.empty() ? event : std::string_view(type);
  if (name == "message_start") {
    const Json& message = member(data, "message");
    reading.reply.request_id = text_of(message, "id");
    read_usage(member(message, "usage"), reading.reply.usage);
  } else if (name == "content_block_start") {
    const Json& block = member(data, "content_block");
    if (text_of(block, "type") == "text") reading.reply.text += text_of(block, "text");
  } else if (name == "content_block_delta") {
    const Json& delta = member(data, "delta");
    if (text_of(delta, "type") == "text_delta") reading.reply.text += text_of(delta, "text");
  } else if (name == "message_delta") {
    read_usage(member(data, "usage"), reading.reply.usage);
    read_stop(member(data, "delta"), reading);
  } else if (name == "message_stop") {
    reading.complete = true;
  }
}

void read_whole(const Json& body, AnswerReading& reading) {
  const Json& content = member(body, "content");
  if (!content.is_array()) return;
  for (const Json& block : content) {
    if (text_of(block, "type") == "text") reading.reply.text += text_of(block, "text");
  }
  reading.reply.request_id = text_of(body, "id");
  read_usage(member(body, "usage"), reading.reply.usage);
  read_stop(body, reading);
  reading.complete = true;
}

void read_model(const Json& body, ModelEntry& entry) {
  if (const auto most = count_of(body, "max_input_tokens"); most > 0) entry.context_tokens = most;
  if (const auto most = count_of(body, "max_tokens"); most > 0) entry.max_output_tokens = most;
  const Json& effort = member(member(body, "capabilities"), "effort");
  if (!effort.is_object()) return;
  entry.efforts.clear();
  for (const auto& [name, support] : effort.items()) {
    if (member(support, "supported") == true) entry.efforts.push_back(name);
  }
}

}  // namespace

const Dialect kAnthropicMessages{.name = "anthropic-messages",
                                 .path = "/v1/messages",
                                 .headers = {{"anthropic-version", "2023-06-01"}},
                                 .body = body,
                                 .read_event = read_event,
                                 .read_whole = read_whole,
                                 .models_path = "/v1/models/",
                                 .read_model = read_model,
                                 .count_path = "/v1/messages/count_tokens"};

}  // namespace ak::agent
