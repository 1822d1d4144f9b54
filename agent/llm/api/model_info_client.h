// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "agent/llm/api/provider.h"
#include "core/result.h"

namespace ak::agent {

/// Asks a provider about a model. Each function sends one request and waits for seconds at most; many servers
/// that imitate a provider have no answer, which is not an error. May be used by several threads.
class ModelInfoClient {
 public:
  ModelInfoClient(Provider provider, std::string key, ModelEntry entry);
  /// The model's entry with the limits and efforts that the provider states, and with it as the source.
  [[nodiscard]] Result<ModelEntry> description() const;
  /// Tokens of the request as the provider counts them.
  [[nodiscard]] Result<std::int64_t> count_tokens(const LlmRequest& request) const;

 private:
  [[nodiscard]] Result<Json> ask(const std::string& path, const Json* body) const;

  Provider provider_;
  std::string key_;
  ModelEntry entry_;
};

/// What is sent to have a request's tokens counted.
[[nodiscard]] Json body_to_count(Json body);

}  // namespace ak::agent
