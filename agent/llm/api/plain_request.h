// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/llm/api/provider.h"

namespace ak::agent {

struct PlainAnswer {
  std::optional<LlmFailure> failure = {};  ///< of the transport or by the status; keys redacted
  HttpHeaders headers = {};
  std::string body = {};
};

/// Sends one request to a provider and collects the answer.
/// @param request without what is the provider's: `url` is what follows its address, and the headers of
/// `request_headers()` are added; without a content type that of JSON
[[nodiscard]] PlainAnswer send_plainly(const Provider& provider, const std::string& key, HttpRequest request);

/// Those of the dialect, and the key where there is one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> request_headers(const Provider& provider,
                                                                               const std::string& key);

}  // namespace ak::agent
