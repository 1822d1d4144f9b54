// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agent/llm/api/provider.h"
#include "core/result.h"

namespace ak::agent {

/// What a provider says of a model before it is asked anything.
struct ModelLook {
  std::optional<ModelEntry> entry = {};  ///< with the limits and efforts that the provider states
  std::optional<LlmFailure> failure =
      {};                      ///< the model cannot be asked: key, address, name or money are wrong
  std::string remedy = {};     ///< what to do about it
  std::string undecided = {};  ///< why neither is known; empty where one is
};

/// Asks a provider about a model. Each function sends one request and waits for seconds at most; many servers
/// that imitate a provider have no answer, which is not an error. May be used by several threads.
class ModelInfoClient {
 public:
  ModelInfoClient(Provider provider, std::string key, ModelEntry entry);
  /// Asks for the model, and where that decides nothing for the list of models: neither costs anything.
  [[nodiscard]] ModelLook look() const;
  /// The model's entry with the limits and efforts that the provider states, and with it as the source.
  [[nodiscard]] Result<ModelEntry> description() const;
  /// Tokens of the request as the provider counts them.
  [[nodiscard]] Result<std::int64_t> count_tokens(const LlmRequest& request) const;

 private:
  struct Answer {
    Json json = {};
    std::optional<LlmFailure> failure = {};
    long status = 0;  ///< of HTTP; 0: none came
  };
  [[nodiscard]] Answer ask(const std::string& path, const Json* body) const;
  [[nodiscard]] bool decides(const Answer& answer) const;
  [[nodiscard]] bool in_its_place() const;
  [[nodiscard]] std::string other_models(const Json& list) const;
  [[nodiscard]] ModelLook failed(LlmFailure failure) const;
  [[nodiscard]] Result<ModelEntry> entry_from(const Json& json) const;

  Provider provider_;
  std::string key_;
  Redactor redactor_;
  ModelEntry entry_;
};

/// What is sent to have a request's tokens counted.
[[nodiscard]] Json body_to_count(Json body);

}  // namespace ak::agent
