// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "agent/llm/api/attempts_usage.h"
#include "agent/llm/api/provider.h"

namespace ak::agent {

/// Asks a provider over HTTP, and again as the policy says. What all attempts used is in the reply; together they use
/// no more than one may use at most, so a budget that bears the request bears its repetitions. The key is in the
/// header of requests and nowhere else: everything that comes back is redacted.
class HttpLlmClient final : public LlmClient {
 public:
  HttpLlmClient(Provider provider, std::string key, ModelEntry model, RetryPolicy retry, HttpLimits limits);
  [[nodiscard]] LlmReply ask(const LlmRequest& request, const std::atomic<bool>* cancelled) override;

 private:
  struct Attempt {
    LlmReply reply;
    HttpHeaders headers;
  };
  [[nodiscard]] Attempt send(const LlmRequest& request, const Json& body,
                             const std::atomic<bool>* cancelled) const;
  void settle(const LlmRequest& request, bool sent, LlmReply& reply) const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> repetition(const Attempt& sent,
                                                                    const AttemptsUsage& used,
                                                                    LlmRequest& request,
                                                                    std::set<std::string>& left_out) const;
  [[nodiscard]] Json body_of(const LlmRequest& request, const std::set<std::string>& left_out) const;
  [[nodiscard]] bool may_repeat(const AttemptsUsage& used, LlmRequest& request) const;

  Provider provider_;
  std::string key_;
  Redactor redactor_;
  ModelEntry model_;
  RetryPolicy retry_;
  HttpLimits limits_;
};

/// Counts what no one counted, or what was counted impossibly.
/// @param answered the provider has worked on the request
void estimate_usage(const LlmRequest& request, bool answered, LlmReply& reply);

}  // namespace ak::agent
