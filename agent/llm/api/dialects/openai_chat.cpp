// SPDX-License-Identifier: Apache-2.0
// OpenAI's Chat Completions API, which local servers imitate (vLLM, llama.cpp, Ollama, LM Studio, SGLang).
#include <algorithm>
#include <array>

#include "agent/llm/api/dialect.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

Json body(const LlmRequest& request, const ModelEntry& model, bool compatible) {
  Json json{{"messages", Json::array()}};
  if (!request.model.empty()) json["model"] = request.model;
  if (!request.system.empty()) json["messages"].push_back({{"role", "system"}, {"content", request.system}});
  for (const LlmMessage& message : request.messages)
    json["messages"].push_back({{"role", message.role}, {"content", message.text}});
  // Imitators know only the old name; the original refuses it for models that think.
  if (request.max_output_tokens > 0)
    json[compatible ? "max_tokens" : "max_completion_tokens"] = request.max_output_tokens;
  if (model.stream) {
    json["stream"] = true;
    json["stream_options"] = {{"include_usage", true}};
  }
  if (request.temperature && (compatible || model.temperature)) json["temperature"] = *request.temperature;
  if (!request.stop.empty() && (compatible || model.stop)) json["stop"] = request.stop;
  if (std::ranges::find(model.efforts, request.effort) != model.efforts.end())
    json["reasoning_effort"] = request.effort;
  return json;
}

void read_usage(const Json& usage, LlmUsage& into) {
  if (!usage.is_object()) return;
  const Json& details = member(usage, "prompt_tokens_details");
  into = {.input_tokens = count_of(usage, "prompt_tokens"),
          .cached_tokens = count_of(details, "cached_tokens"),
          .cache_written_tokens = count_of(details, "cache_write_tokens"),
          .output_tokens = count_of(usage, "completion_tokens"),
          .reported = true};
}

struct StopRow {
  std::string_view name;
  LlmStop stop;
};
constexpr std::array kStops{StopRow{"stop", LlmStop::end}, StopRow{"length", LlmStop::length}};

/// @param part `message` of a whole answer, `delta` of a streamed one
void read_choice(const Json& choice, const Json& part, AnswerReading& reading) {
  LlmReply& reply = reading.reply;
  reply.text += text_of(part, "content");
  reading.refusal += text_of(part, "refusal");
  const std::string name = text_of(choice, "finish_reason");
  if (name.empty()) return;
  reading.may_end = true;
  const auto row = std::ranges::find(kStops, name, &StopRow::name);
  reply.stop = row == kStops.end() ? LlmStop::other : row->stop;
  if (name == "content_filter")
    reading.failure = {LlmFault::refused, ForeignText("stopped by the provider's filter")};
}

const Json& first_choice(const Json& json) {
  const Json& choices = member(json, "choices");
  return choices.is_array() && !choices.empty() ? choices.front() : member(json, "");
}

/// The usage may come in a chunk after the one that ends the text, so only [DONE] completes an answer.
void read_event(std::string_view, const Json& data, AnswerReading& reading) {
  if (reading.reply.request_id.empty()) reading.reply.request_id = text_of(data, "id");
  read_usage(member(data, "usage"), reading.reply.usage);
  const Json& choice = first_choice(data);
  read_choice(choice, member(choice, "delta"), reading);
}

void read_whole(const Json& body, AnswerReading& reading) {
  const Json& choice = first_choice(body);
  if (!member(choice, "message").is_object()) return;
  reading.reply.request_id = text_of(body, "id");
  read_usage(member(body, "usage"), reading.reply.usage);
  read_choice(choice, member(choice, "message"), reading);
  reading.complete = true;
}

}  // namespace

void read_openai_model(const Json& body, ModelEntry& entry) {
  for (const char* name : {"max_model_len", "context_length"}) {
    if (const auto most = count_of(body, name); most > 0) entry.context_tokens = most;
  }
}

const Dialect kOpenaiChat{.name = "openai-chat",
                          .path = "/chat/completions",
                          .headers = {},
                          .body = body,
                          .read_event = read_event,
                          .read_whole = read_whole,
                          .models_path = "/models/",
                          .read_model = read_openai_model};

}  // namespace ak::agent
