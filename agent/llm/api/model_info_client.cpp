// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/model_info_client.h"

#include <fmt/format.h>

#include "agent/llm/api/plain_request.h"

namespace ak::agent {
namespace {

// A run waits for these answers before it begins; chosen.
constexpr HttpLimits kShort{.connect = std::chrono::seconds(5),
                            .idle = std::chrono::seconds(10),
                            .total = std::chrono::seconds(20),
                            .max_bytes = 1u << 20};

/// Some servers name models "owner/model", so slashes stay.
std::string escaped(std::string_view name) {
  std::string path;
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/:@").find(c) != std::string_view::npos;
    path += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path;
}

}  // namespace

Json body_to_count(Json body) {
  for (const char* field :
       {"max_tokens", "max_output_tokens", "store", "stream", "temperature", "stop_sequences"})
    body.erase(field);
  return body;
}

ModelInfoClient::ModelInfoClient(Provider provider, std::string key, ModelEntry entry)
    : provider_(std::move(provider)), key_(std::move(key)), entry_(std::move(entry)) {}

Result<Json> ModelInfoClient::ask(const std::string& path, const Json* body) const {
  const PlainAnswer answer =
      send_plainly(provider_, key_,
                   {.url = path,
                    .headers = {},
                    .body = body ? body->dump(-1, ' ', false, Json::error_handler_t::replace) : "",
                    .limits = kShort,
                    .is_get = body == nullptr});
  if (answer.failure) return InputError{answer.failure->message};
  Json json = try_parse_json(answer.body);
  if (!json.is_object()) return InputError{"the answer is not a JSON object"};
  return json;
}

Result<ModelEntry> ModelInfoClient::description() const {
  const Result<Json> body = ask(std::string(provider_.dialect->models_path) + escaped(entry_.name), nullptr);
  if (!body) return body.error();
  if (text_of(*body, "id") != entry_.name) return InputError{"the answer is about another model"};
  ModelEntry entry = entry_;
  provider_.dialect->read_model(*body, entry);
  entry.source = "the provider, " + entry_.source;
  return entry;
}

Result<std::int64_t> ModelInfoClient::count_tokens(const LlmRequest& request) const {
  if (provider_.dialect->count_path.empty() || provider_.compatible)
    return InputError{"this provider counts no tokens"};
  const Json body = body_to_count(provider_.dialect->body(request, entry_, provider_.compatible));
  const Result<Json> counted = ask(std::string(provider_.dialect->count_path), &body);
  if (!counted) return counted.error();
  const std::int64_t tokens = count_of(*counted, "input_tokens");
  if (tokens <= 0) return InputError{"the answer has no count"};
  return tokens;
}

}  // namespace ak::agent
