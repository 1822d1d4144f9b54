// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/model_info_client.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/llm/api/plain_request.h"
#include "core/text/suggest.h"

namespace ak::agent {
namespace {

// A run waits for these answers before it begins; chosen.
constexpr HttpLimits kShort{.connect = std::chrono::seconds(5),
                            .idle = std::chrono::seconds(10),
                            .total = std::chrono::seconds(20),
                            .max_bytes = 1u << 20};

// Of a server's models and of what is said of them (chosen).
constexpr std::size_t kNamesShown = 8, kMessageBytes = 400;

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
    : provider_(std::move(provider)), key_(std::move(key)), redactor_({key_}), entry_(std::move(entry)) {}

ModelInfoClient::Answer ModelInfoClient::ask(const std::string& path, const Json* body) const {
  PlainAnswer plain =
      send_plainly(provider_, key_,
                   {.url = path,
                    .headers = {},
                    .body = body ? body->dump(-1, ' ', false, Json::error_handler_t::replace) : "",
                    .limits = kShort,
                    .is_get = body == nullptr});
  Answer answer{
      .json = try_parse_json(plain.body), .failure = std::move(plain.failure), .status = plain.status};
  if (!answer.failure && !answer.json.is_object())
    answer.failure = {LlmFault::malformed, "the answer is not a JSON object"};
  if (!answer.failure) redactor_.redact(answer.json);
  return answer;
}

Result<ModelEntry> ModelInfoClient::entry_from(const Json& json) const {
  if (text_of(json, "id") != entry_.name) return InputError{"the answer is about another model"};
  ModelEntry entry = entry_;
  provider_.dialect->read_model(json, entry);
  entry.source = "the provider, " + entry_.source;
  return entry;
}

/// What the first question would meet, too. A key may be allowed to ask a model and not to look at it (403), and many
/// servers in a provider's place know nothing of single models (404).
bool ModelInfoClient::decides(const Answer& answer) const {
  switch (answer.failure->fault) {
    case LlmFault::unreachable:
    case LlmFault::timeout:
      return answer.status == 0;
    case LlmFault::auth:
      return answer.status != 403;
    case LlmFault::quota:
      return true;
    case LlmFault::no_model:
      return !in_its_place() || answer.status != 404;
    case LlmFault::malformed:
      return answer.status >= 200 && answer.status < 300;
    default:
      return false;
  }
}

ModelLook ModelInfoClient::failed(LlmFailure failure) const {
  const std::string key = provider_.key_variable.empty()
                              ? "the key"
                              : fmt::format("the key in {} or its file", provider_.key_variable);
  const std::string address = fmt::format("the address {}", redactor_(provider_.url));
  std::string remedy = fmt::format("check {} and the network", address);
  if (failure.fault == LlmFault::auth) remedy = "check " + key;
  if (failure.fault == LlmFault::quota) remedy = "check the account's money and limits at the provider";
  if (failure.fault == LlmFault::no_model)
    remedy = fmt::format("check the model's name '{}' and {}", entry_.name, address);
  if (failure.fault == LlmFault::malformed)
    remedy = fmt::format("check {}: what answers there is not an API of the form {}", address,
                         provider_.dialect->name);
  return {.failure = std::move(failure), .remedy = std::move(remedy)};
}

bool ModelInfoClient::in_its_place() const { return provider_.compatible || provider_.moved; }

/// What a server that lists models lists where this one is not among them; else empty. It proves nothing: gateways and
/// mocks answer by names that they do not list, and a server with one model by any name.
std::string ModelInfoClient::other_models(const Json& list) const {
  const Json models = list.value("data", Json());
  if (!models.is_array()) return "";
  std::vector<std::string> names;
  for (const Json& model : models) names.push_back(text_of(model, "id"));
  std::erase(names, "");
  if (names.empty() || std::ranges::find(names, entry_.name) != names.end()) return "";
  const std::string nearest = did_you_mean(entry_.name, names);
  if (names.size() > kNamesShown) {
    names.resize(kNamesShown);
    names.emplace_back("...");
  }
  return sanitize(fmt::format("it lists {}{}", fmt::join(names, ", "), nearest), kMessageBytes);
}

ModelLook ModelInfoClient::look() const {
  const std::string models(provider_.dialect->models_path);
  const Answer answer = ask(models + escaped(entry_.name), nullptr);
  if (!answer.failure) {
    Result<ModelEntry> entry = entry_from(answer.json);
    return entry ? ModelLook{.entry = std::move(entry).value()}
                 : ModelLook{.undecided = entry.error().message};
  }
  const bool wrong_form = in_its_place() && answer.failure->fault == LlmFault::malformed;
  if (decides(answer) && !wrong_form) return failed(*answer.failure);
  if (in_its_place()) {
    const Answer list = ask(models.substr(0, models.find_last_not_of('/') + 1), nullptr);
    if (list.failure && decides(list)) return failed(*list.failure);
    if (!list.failure)
      if (std::string others = other_models(list.json); !others.empty())
        return {.undecided = std::move(others)};
  }
  return {.undecided = answer.failure->message};
}

Result<ModelEntry> ModelInfoClient::description() const {
  const Answer answer = ask(std::string(provider_.dialect->models_path) + escaped(entry_.name), nullptr);
  if (answer.failure) return InputError{answer.failure->message};
  return entry_from(answer.json);
}

Result<std::int64_t> ModelInfoClient::count_tokens(const LlmRequest& request) const {
  if (provider_.dialect->count_path.empty() || provider_.compatible)
    return InputError{"this provider counts no tokens"};
  const Json body = body_to_count(provider_.dialect->body(request, entry_, provider_.compatible));
  const Answer counted = ask(std::string(provider_.dialect->count_path), &body);
  if (counted.failure) return InputError{counted.failure->message};
  const std::int64_t tokens = count_of(counted.json, "input_tokens");
  if (tokens <= 0) return InputError{"the answer has no count"};
  return tokens;
}

}  // namespace ak::agent
