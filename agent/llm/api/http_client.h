// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/llm/api/provider.h"

namespace ak::agent {

/// Asks a provider over HTTP, and again as the policy says. The key is in the header of requests and nowhere
/// else: everything that comes back is redacted.
class HttpLlmClient final : public LlmClient {
 public:
  HttpLlmClient(Provider provider, std::string key, ModelEntry model, RetryPolicy retry, HttpLimits limits);
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;

 private:
  struct Attempt {
    LlmReply reply;
    HttpHeaders headers;
  };
  [[nodiscard]] Attempt send(const std::string& body, const std::atomic<bool>* cancelled) const;
  void settle(const LlmRequest& request, LlmReply& reply) const;

  Provider provider_;
  std::string key_;
  ModelEntry model_;
  RetryPolicy retry_;
  HttpLimits limits_;
};

/// Counts what no one counted.
/// @param answered the provider has worked on the request
void estimate_usage(const LlmRequest& request, bool answered, LlmReply& reply);

}  // namespace ak::agent
