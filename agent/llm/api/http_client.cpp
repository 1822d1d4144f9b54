// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "agent/llm/api/plain_request.h"
#include "agent/llm/api/redact.h"
#include "core/text/hash.h"

namespace ak::agent {
namespace {

// A server that reports fewer input tokens than this share of our estimate has probably cut
// the prompt; chosen.
constexpr double kMinShareRead = 0.5;
constexpr std::int64_t kLongPrompt = 2000;  // shorter ones fit into every context

/// Takes a field that the server has rejected out of the request; false when there is none to take.
bool drop_rejected_field(const LlmFailure& failure, Json& body) {
  if (failure.fault != LlmFault::rejected) return false;
  for (const std::string_view field : optional_fields()) {
    if (failure.message.find(field) != std::string::npos && body.erase(std::string(field)) > 0) return true;
  }
  return false;
}

bool is_event_stream(const HttpHeaders& headers) {
  const auto type = headers.find("content-type");
  return type != headers.end() && type->second.starts_with("text/event-stream");
}

std::string find_request_id(const HttpHeaders& headers) {
  for (const char* name : {"request-id", "x-request-id"}) {
    if (const auto found = headers.find(name); found != headers.end()) return found->second;
  }
  return "";
}

}  // namespace

void estimate_usage(const LlmRequest& request, bool answered, LlmReply& reply) {
  LlmUsage& usage = reply.usage;
  usage.reported = usage.reported && usage.total() > 0;  // some servers report zeros
  if (!answered) return;
  // The last count of a stream that broke off is from before its text.
  const bool broke_off = reply.failure && reply.failure->fault == LlmFault::cut_short;
  if (!usage.reported) usage.input_tokens = estimated_tokens(request);
  if (!usage.reported || broke_off)
    usage.output_tokens = std::max(usage.output_tokens, estimated_tokens(reply.text));
}

HttpLlmClient::HttpLlmClient(Provider provider, std::string key, ModelEntry model, RetryPolicy retry,
                             HttpLimits limits)
    : provider_(std::move(provider)),
      key_(std::move(key)),
      model_(std::move(model)),
      retry_(retry),
      limits_(limits) {}

HttpLlmClient::Attempt HttpLlmClient::send(const std::string& body,
                                           const std::atomic<bool>* cancelled) const {
  std::unique_ptr<AnswerReader> reader;
  const HttpBody target{.begin =
                            [&](const HttpHeaders& answer) {
                              reader =
                                  std::make_unique<AnswerReader>(*provider_.dialect, is_event_stream(answer));
                            },
                        .data = [&](std::string_view bytes) { return reader->feed(bytes); }};
  std::vector<std::pair<std::string, std::string>> headers = request_headers(provider_, key_);
  headers.emplace_back("content-type", "application/json");
  HttpReply http = http_send({.url = provider_.url + std::string(provider_.dialect->path),
                              .headers = std::move(headers),
                              .body = body,
                              .limits = limits_,
                              .cancelled = cancelled},
                             target);
  Attempt attempt{.reply = reader ? reader->finish() : LlmReply{}, .headers = std::move(http.headers)};
  LlmReply& reply = attempt.reply;
  if (http.failure) {
    reply.failure = http.failure;
  } else if (http.status < 200 || http.status >= 300) {
    reply.failure = read_failure(http.status, try_parse_json(http.error_body), http.error_body);
    reply.raw = http.error_body;
  } else if (!reader) {
    reply.failure = {LlmFault::malformed, "an empty answer"};
  }
  if (const std::string id = find_request_id(attempt.headers); !id.empty()) reply.request_id = id;
  return attempt;
}

void HttpLlmClient::settle(const LlmRequest& request, LlmReply& reply) const {
  const std::vector<std::string> secrets{key_};
  for (std::string* text : {&reply.text, &reply.raw, &reply.request_id}) *text = redact(*text, secrets);
  if (reply.failure) reply.failure->message = redact(reply.failure->message, secrets);
  const bool answered = reply.ok() || !reply.text.empty() || reply.failure->fault == LlmFault::cut_short ||
                        reply.failure->fault == LlmFault::refused;
  const std::int64_t expected = estimated_tokens(request), read = reply.usage.input_tokens;
  if (reply.ok() && reply.usage.reported && read > 0 && expected > kLongPrompt &&
      static_cast<double>(read) < kMinShareRead * static_cast<double>(expected)) {
    reply.note = fmt::format("the server read {} tokens of a prompt of about {}: its context is too small",
                             read, expected);
  }
  estimate_usage(request, answered, reply);
  if (answered) reply.cost_usd = model_.cost_usd(reply.usage);
}

LlmReply HttpLlmClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  Json body = provider_.dialect->body(request, model_, provider_.compatible);
  for (int attempt = 1;; ++attempt) {
    // Bytes that are no UTF-8 (a candidate's, a compiler's) must not end the request.
    Attempt sent = send(body.dump(-1, ' ', false, Json::error_handler_t::replace), cancelled);
    sent.reply.attempts = attempt;
    if (sent.reply.failure) {
      if (attempt < retry_.max_attempts && drop_rejected_field(*sent.reply.failure, body)) continue;
      const auto delay = retry_delay(retry_, attempt, *sent.reply.failure, sent.headers, random_fraction());
      if (delay && sleep_unless(cancelled, *delay)) continue;
      if (delay) sent.reply.failure = {LlmFault::cancelled, "the run was stopped"};
    }
    settle(request, sent.reply);
    return std::move(sent.reply);
  }
}

}  // namespace ak::agent
