// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/llm/api/plain_request.h"

namespace ak::agent {

/// The result of one request of a batch.
struct BatchResult {
  std::size_t index = 0;  ///< of the request
  Json body = {};         ///< as the answer to a single request
  std::optional<ForeignFailure> failure = {};
};

/// The state of a batch after a call.
struct BatchStep {
  std::string id = {};
  bool ended = false;
  std::vector<std::string> result_paths = {};  ///< after the provider's address
  std::vector<BatchResult> results = {};       ///< in any order
  std::optional<LlmFailure> failure = {};
};

/// Sends a request whose `url` is what follows the provider's address.
using BatchCaller = std::function<PlainAnswer(HttpRequest)>;

/// The calls of a provider's batches: Anthropic's take the requests themselves, OpenAI's a file of them.
class BatchProtocol {
 public:
  BatchProtocol(const Provider& provider, BatchCaller call) : provider_(provider), call_(std::move(call)) {}
  [[nodiscard]] BatchStep create(const std::vector<Json>& bodies) const;
  [[nodiscard]] BatchStep look(const std::string& id) const;
  [[nodiscard]] BatchStep results(const BatchStep& ended) const;
  void cancel(const std::string& id) const;

 private:
  [[nodiscard]] BatchStep upload(const std::vector<Json>& bodies) const;
  [[nodiscard]] std::string path() const;

  const Provider& provider_;
  BatchCaller call_;
};

}  // namespace ak::agent
