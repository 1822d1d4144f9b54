// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/plain_request.h"

namespace ak::agent {

HttpRequest provider_request(const Provider& provider, const std::string& key, HttpRequest request) {
  request.url = provider.url + request.url;
  if (request.headers.empty()) request.headers.emplace_back("content-type", "application/json");
  for (const auto& header : provider.dialect->headers) request.headers.push_back(header);
  request.key = key;
  request.key_header = provider.key_header;
  return request;
}

PlainAnswer send_plainly(const Provider& provider, const std::string& key, HttpRequest request) {
  PlainAnswer answer;
  const HttpBody target{.begin = [](const HttpHeaders&) {},
                        .data = [&](std::string_view bytes) { return answer.body += bytes, true; }};
  HttpReply reply = http_send(provider_request(provider, key, std::move(request)), target);
  answer.headers = std::move(reply.headers);
  answer.status = reply.status;
  answer.failure = reply.failure;
  if (!reply.failure && (reply.status < 200 || reply.status >= 300))
    answer.failure =
        read_failure(reply.status, try_parse_json(reply.error_body), reply.error_body).shown(Redactor({key}));
  return answer;
}

}  // namespace ak::agent
