// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/plain_request.h"

#include "agent/llm/api/redact.h"

namespace ak::agent {

std::vector<std::pair<std::string, std::string>> request_headers(const Provider& provider,
                                                                 const std::string& key) {
  std::vector<std::pair<std::string, std::string>> list = provider.dialect->headers;
  if (!key.empty())
    list.emplace_back(provider.key_header, provider.key_header == "authorization" ? "Bearer " + key : key);
  return list;
}

PlainAnswer send_plainly(const Provider& provider, const std::string& key, HttpRequest request) {
  request.url = provider.url + request.url;
  if (request.headers.empty()) request.headers.emplace_back("content-type", "application/json");
  for (auto& header : request_headers(provider, key)) request.headers.push_back(std::move(header));
  PlainAnswer answer;
  const HttpBody target{.begin = [](const HttpHeaders&) {},
                        .data = [&](std::string_view bytes) { return answer.body += bytes, true; }};
  HttpReply reply = http_send(request, target);
  answer.headers = std::move(reply.headers);
  answer.failure = reply.failure;
  if (!reply.failure && (reply.status < 200 || reply.status >= 300))
    answer.failure = read_failure(reply.status, try_parse_json(reply.error_body), reply.error_body);
  if (answer.failure) answer.failure->message = redact(answer.failure->message, std::vector{key});
  return answer;
}

}  // namespace ak::agent
