// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "agent/llm/api/provider.h"

namespace ak::agent {

struct PlainAnswer {
  std::optional<LlmFailure> failure = {};  ///< of the transport or by the status
  long status = 0;                         ///< of HTTP; 0: none came
  HttpHeaders headers = {};
  std::string body = {};  ///< as it was sent
};

/// Sends one request to a provider and collects the answer.
/// @param request without what is the provider's, see provider_request(); without a content type that of JSON
[[nodiscard]] PlainAnswer send_plainly(const Provider& provider, const std::string& key, HttpRequest request);

/// `request`, whose `url` is what follows the provider's address, with that address, the headers of the dialect and
/// the key.
[[nodiscard]] HttpRequest provider_request(const Provider& provider, const std::string& key,
                                           HttpRequest request);

}  // namespace ak::agent
