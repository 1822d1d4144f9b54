// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "agent/llm/api/plain_request.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"

namespace ak::agent {
namespace {

// A server that reports fewer input tokens than this share of our estimate has probably cut
// the prompt; chosen.
constexpr double kMinShareRead = 0.5;
constexpr std::int64_t kLongPrompt = 2000;  // shorter ones fit into every context

/// Notes a field of the request that the server has rejected; false when there is none to leave out.
bool leave_out_rejected_field(const LlmFailure& failure, const Json& body, std::set<std::string>& left_out) {
  if (failure.fault != LlmFault::rejected) return false;
  for (const std::string_view field : optional_fields()) {
    if (failure.message.find(field) != std::string::npos && body.contains(field))
      return left_out.emplace(field).second;
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

/// One line a request: without it a provider that is away looks like a program that hangs.
void announce_repetition(const std::string& model, const LlmFailure& failure,
                         std::chrono::milliseconds delay) {
  print_stderr("note: {}: {}: {}; asking again in {:.1f} s\n", model, info(failure.fault).name,
               failure.message, std::chrono::duration<double>(delay).count());
}

}  // namespace

void estimate_usage(const LlmRequest& request, bool answered, LlmReply& reply) {
  LlmUsage& usage = reply.usage;
  // Some servers report zeros, or more than any model takes, which is read as zero.
  usage.reported = usage.reported && usage.total() > 0;
  usage.cached_tokens = std::min(usage.cached_tokens, usage.input_tokens);
  usage.cache_written_tokens = std::min(usage.cache_written_tokens, usage.input_tokens - usage.cached_tokens);
  if (!answered) return;
  const std::int64_t text_tokens = estimated_tokens(reply.text);
  const bool counts_prompt = usage.input_tokens > 0,
             counts_text = usage.output_tokens > 0 || text_tokens == 0;
  usage.reported = usage.reported && counts_prompt && (counts_text || reply.failure);
  if (!counts_prompt) usage.input_tokens = estimated_tokens(request);
  // The last count of an answer that broke off is from before its text.
  if (reply.failure || !counts_text) usage.output_tokens = std::max(usage.output_tokens, text_tokens);
}

HttpLlmClient::HttpLlmClient(Provider provider, std::string key, ModelEntry model, RetryPolicy retry,
                             HttpLimits limits)
    : provider_(std::move(provider)),
      key_(std::move(key)),
      redactor_({key_}),
      model_(std::move(model)),
      retry_(retry),
      limits_(limits) {}

HttpLlmClient::Attempt HttpLlmClient::send(const LlmRequest& request, const Json& body,
                                           const std::atomic<bool>* cancelled) const {
  std::unique_ptr<AnswerReader> reader;
  const HttpBody target{.begin =
                            [&](const HttpHeaders& answer) {
                              reader = std::make_unique<AnswerReader>(*provider_.dialect,
                                                                      is_event_stream(answer), redactor_);
                            },
                        .data = [&](std::string_view bytes) { return reader->feed(bytes); }};
  // Bytes that are no UTF-8 (a candidate's, a compiler's) must not end the request.
  HttpReply http =
      http_send(provider_request(provider_, key_,
                                 {.url = std::string(provider_.dialect->path),
                                  .headers = {},
                                  .body = body.dump(-1, ' ', false, Json::error_handler_t::replace),
                                  .limits = limits_,
                                  .cancelled = cancelled}),
                target);
  Attempt attempt{.reply = reader ? reader->finish() : LlmReply{}, .headers = std::move(http.headers)};
  LlmReply& reply = attempt.reply;
  if (http.failure) {
    reply.failure = http.failure;
  } else if (http.status < 200 || http.status >= 300) {
    const Json answer = try_parse_json(http.error_body);
    reply.failure = read_failure(http.status, answer, http.error_body).shown(redactor_);
    reply.raw = redactor_.finds(answer) ? kNotKept : redactor_(http.error_body);
  } else if (!reader) {
    reply.failure = {LlmFault::malformed, "an empty answer"};
  }
  if (const std::string id = find_request_id(attempt.headers); !id.empty())
    reply.request_id = ForeignText(id).line(redactor_);
  settle(request, http.sent, reply);
  return attempt;
}

/// @param sent the server has the request: one that it falls silent over may be billed
void HttpLlmClient::settle(const LlmRequest& request, bool sent, LlmReply& reply) const {
  const bool silent = sent && reply.failure && reply.failure->fault == LlmFault::timeout;
  const bool answered = reply.ok() || silent || !reply.text.empty() || reply.usage.total() > 0 ||
                        reply.failure->fault == LlmFault::cut_short ||
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

/// An attempt that was billed is repeated only as far as what was reserved for the request bears it: with a shorter
/// answer. False: that would be too short.
bool HttpLlmClient::may_repeat(const AttemptsUsage& used, LlmRequest& request) const {
  if (used.empty()) return true;
  const std::int64_t left = used.answer_tokens_left(model_, request.max_output_tokens);
  if (left < kMinAnswerTokens) return false;
  request.max_output_tokens = static_cast<int>(left);
  return true;
}

/// How long to wait before `request` is sent again, after a failure; nothing where it is not.
std::optional<std::chrono::milliseconds> HttpLlmClient::repetition(const Attempt& sent,
                                                                   const AttemptsUsage& used,
                                                                   LlmRequest& request,
                                                                   std::set<std::string>& left_out) const {
  const LlmFailure& failure = *sent.reply.failure;
  const int attempt = sent.reply.attempts;
  std::optional<std::chrono::milliseconds> delay;
  if (attempt < retry_.max_attempts &&
      leave_out_rejected_field(failure, body_of(request, left_out), left_out))
    delay = std::chrono::milliseconds(0);
  else
    delay = retry_delay(retry_, attempt, failure, sent.headers, random_fraction());
  return delay && may_repeat(used, request) ? delay : std::nullopt;
}

Json HttpLlmClient::body_of(const LlmRequest& request, const std::set<std::string>& left_out) const {
  Json body = provider_.dialect->body(request, model_, provider_.compatible);
  for (const std::string& field : left_out) body.erase(field);
  return body;
}

LlmReply HttpLlmClient::ask(const LlmRequest& asked, const std::atomic<bool>* cancelled) {
  LlmRequest request = asked;
  std::set<std::string> left_out;
  AttemptsUsage used;
  for (int attempt = 1;; ++attempt) {
    Attempt sent = send(request, body_of(request, left_out), cancelled);
    LlmReply& reply = sent.reply;
    reply.attempts = attempt;
    used.add(reply);
    request.max_output_tokens = asked.max_output_tokens;
    if (reply.failure) {
      const auto delay = repetition(sent, used, request, left_out);
      if (delay && attempt == 1) announce_repetition(model_.name, *reply.failure, *delay);
      if (delay && sleep_unless(cancelled, *delay)) continue;
      if (delay) reply.failure = {LlmFault::cancelled, "the run was stopped"};
    }
    used.put_into(reply);
    return std::move(reply);
  }
}

}  // namespace ak::agent
