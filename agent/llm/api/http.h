// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/llm/api/redact.h"
#include "core/llm.h"

namespace ak::agent {

struct HttpLimits {
  std::chrono::milliseconds connect{15'000};
  std::chrono::milliseconds idle{300'000};     ///< no byte for so long; models think for minutes
  std::chrono::milliseconds total{1'800'000};  ///< of one attempt
  std::size_t max_bytes = 16u << 20;  ///< of a body; chosen: 128,000 tokens at 100 bytes an event are 13 MB
};

/// A POST, or a GET without a body. `https`, or `http` to this machine.
struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  HttpLimits limits;
  std::string key =
      {};  ///< of the provider: sent in `key_header`, and redacted in all that comes back but the body
  std::string key_header = {};  ///< "authorization" (Bearer) or another name
  bool is_get = false;
  const std::atomic<bool>* cancelled = nullptr;  ///< not owned; noticed within a second
};

/// Names in lower case.
using HttpHeaders = std::map<std::string, std::string, std::less<>>;

struct HttpReply {
  long status = 0;  ///< 0: none came
  HttpHeaders headers;
  std::string error_body;                  ///< of a status that is not a success; at most 64 KiB
  bool sent = false;                       ///< the server has the whole request
  bool began = false;                      ///< a byte of a successful answer has come
  std::optional<LlmFailure> failure = {};  ///< of the transport
};

/// Where the body of a successful answer goes, piece by piece and as it was sent. Called on the
/// thread of http_send().
struct HttpBody {
  std::function<void(const HttpHeaders&)> begin;
  std::function<bool(std::string_view)> data;  ///< false: enough, the rest is not waited for
};

/// Sends and waits. Redirects are not followed, so that a key never goes to another host; certificates are
/// verified. Never throws for what the network does.
[[nodiscard]] HttpReply http_send(const HttpRequest& request, const HttpBody& body);

/// What is wrong with an address that requests go to; empty when nothing is.
[[nodiscard]] std::string url_error(std::string_view url);

}  // namespace ak::agent
