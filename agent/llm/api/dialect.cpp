// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/token_counts.h"
#include "dialect_table.h"

namespace ak::agent {
namespace {

struct CodeRow {
  std::string_view code;
  LlmFault fault;
};
/// What providers call their errors, in `code`, `type` or `details.error_code`.
constexpr std::array kCodes{
    CodeRow{"enforced_spend_limit_reached", LlmFault::quota},
    CodeRow{"contract_spend_limit_reached", LlmFault::quota},
    CodeRow{"insufficient_quota", LlmFault::quota},
    CodeRow{"credit_balance_exhausted", LlmFault::quota},
    CodeRow{"organization_spend_limit_exceeded", LlmFault::quota},
    CodeRow{"project_spend_limit_exceeded", LlmFault::quota},
    CodeRow{"organization_usage_limit_exceeded", LlmFault::quota},
    CodeRow{"billing_error", LlmFault::quota},
    CodeRow{"ramp_limit_exceeded", LlmFault::rate_limited},
    CodeRow{"rate_limit_exceeded", LlmFault::rate_limited},
    CodeRow{"rate_limit_error", LlmFault::rate_limited},
    CodeRow{"slow_down", LlmFault::rate_limited},
    CodeRow{"overloaded_error", LlmFault::overloaded},
    CodeRow{"unavailable_error", LlmFault::overloaded},
    CodeRow{"api_error", LlmFault::overloaded},
    CodeRow{"server_error", LlmFault::overloaded},
    CodeRow{"timeout_error", LlmFault::timeout},
    CodeRow{"authentication_error", LlmFault::auth},
    CodeRow{"permission_error", LlmFault::auth},
    CodeRow{"invalid_api_key", LlmFault::auth},
    CodeRow{"not_found_error", LlmFault::no_model},
    CodeRow{"model_not_found", LlmFault::no_model},
    CodeRow{"request_too_large", LlmFault::too_long},
    CodeRow{"context_length_exceeded", LlmFault::too_long},
    CodeRow{"content_filter", LlmFault::refused},
};
/// Words of messages, where the code says no more than that the request is invalid.
constexpr std::array kWords{
    CodeRow{"prompt is too long", LlmFault::too_long}, CodeRow{"maximum context", LlmFault::too_long},
    CodeRow{"context window", LlmFault::too_long},     CodeRow{"context length", LlmFault::too_long},
    CodeRow{"credit balance", LlmFault::quota},        CodeRow{"spend limit", LlmFault::quota},
};
struct StatusRow {
  long status;
  LlmFault fault;
};
constexpr std::array kStatuses{
    StatusRow{401, LlmFault::auth},       StatusRow{402, LlmFault::quota},
    StatusRow{403, LlmFault::auth},       StatusRow{404, LlmFault::no_model},
    StatusRow{408, LlmFault::timeout},    StatusRow{409, LlmFault::overloaded},
    StatusRow{413, LlmFault::too_long},   StatusRow{429, LlmFault::rate_limited},
    StatusRow{504, LlmFault::overloaded},
};
constexpr std::array<std::string_view, 7> kOptionalFields{
    "temperature",      "stop",      "stop_sequences", "stream_options",
    "reasoning_effort", "reasoning", "output_config"};

// Sums of a few of them stay far from the limits of 64 bits.
constexpr std::uint64_t kTooMany = kMaxTokens + 1;

LlmFault fault_of_status(long status) {
  const auto row = std::ranges::find(kStatuses, status, &StatusRow::status);
  if (row != kStatuses.end()) return row->fault;
  if (status >= 500) return LlmFault::overloaded;
  return status >= 300 && status < 400 ? LlmFault::no_model : LlmFault::rejected;
}

/// Counts that cannot be are as good as none: budgets, prices and every page would be wrong with them.
void drop_impossible_counts(LlmReply& reply) {
  const LlmUsage& usage = reply.usage;
  if (are_possible(usage)) return;
  reply.note = fmt::format(
      "the provider counts {} tokens of input, {} of them cached, and {} of output (at most {} are "
      "believed): they are estimated instead",
      usage.input_tokens, usage.cached_tokens, usage.output_tokens, kMaxTokens);
  reply.usage = {};
}

std::string message_of(const Json& body, std::string_view raw) {
  const Json& error = member(body, "error");
  for (std::string text : {text_of(error, "message"), text_of(body, "error"), text_of(body, "message"),
                           text_of(body, "detail")}) {
    if (!text.empty()) return text;
  }
  return std::string(raw);
}

}  // namespace

const Json& member(const Json& json, std::string_view key) {
  static const Json null;
  if (!json.is_object()) return null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

std::string text_of(const Json& json, std::string_view key) {
  const Json& value = member(json, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::int64_t count_of(const Json& json, std::string_view key) {
  const Json& value = member(json, key);
  if (!value.is_number_integer()) return 0;
  if (value.is_number_unsigned())
    return static_cast<std::int64_t>(std::min(value.get<std::uint64_t>(), kTooMany));
  return std::max<std::int64_t>(value.get<std::int64_t>(), -1);
}

std::span<const Dialect* const> dialects() { return kDialectTable; }

const Dialect* find_dialect(std::string_view name) {
  const auto found = std::ranges::find(kDialectTable, name, &Dialect::name);
  return found == kDialectTable.end() ? nullptr : *found;
}

std::span<const std::string_view> optional_fields() { return kOptionalFields; }

ForeignFailure read_failure(long status, const Json& body, std::string_view raw) {
  const Json& error = member(body, "error");
  const std::string said = message_of(body, raw);
  const std::array codes{text_of(member(error, "details"), "error_code"), text_of(error, "code"),
                         text_of(error, "type"), text_of(body, "code")};
  ForeignFailure failure{.fault = fault_of_status(status), .message = ForeignText(said)};
  if (status >= 300 && status < 400)
    failure.message = ForeignText(fmt::format("HTTP {}: redirects are not followed", status));
  if (failure.message.empty()) failure.message = ForeignText(fmt::format("HTTP {}", status));
  for (const std::string& code : codes) {
    const auto row = std::ranges::find(kCodes, code, &CodeRow::code);
    if (row == kCodes.end()) continue;
    failure.fault = row->fault;
    return failure;
  }
  if (failure.fault != LlmFault::rejected) return failure;
  for (const CodeRow& row : kWords) {
    if (said.find(row.code) != std::string::npos) failure.fault = row.fault;
  }
  return failure;
}

AnswerReader::AnswerReader(const Dialect& dialect, bool is_stream, Redactor redactor)
    : dialect_(dialect),
      redactor_(std::move(redactor)),
      is_stream_(is_stream),
      events_([this](const SseEvent& event) { read(event); }) {}

bool AnswerReader::feed(std::string_view bytes) {
  raw_ += bytes;
  if (is_stream_) events_.feed(bytes);
  return !reading_.complete && !reading_.failure;
}

void AnswerReader::read(const SseEvent& event) {
  if (reading_.complete || reading_.failure) return;
  if (event.data == "[DONE]") {
    reading_.complete = true;
    return;
  }
  const Json data = try_parse_json(event.data);
  if (data.is_discarded() && ending_) return;  // broken off within an event
  if (redactor_.has_secrets()) note_pieces("", data);
  if (data.is_discarded()) {
    reading_.failure = {LlmFault::malformed, ForeignText("an event of the answer is not JSON")};
  } else if (!member(data, "error").is_null() && member(data, "response").is_null()) {
    reading_.failure = read_failure(200, data, event.data);
  } else {
    dialect_.read_event(event.name, data, reading_);
  }
}

/// A stream can hold a key in pieces, one an event.
void AnswerReader::note_pieces(const std::string& place, const Json& json) {
  if (json.is_string()) pieces_[place] += json.get_ref<const std::string&>();
  if (!json.is_structured()) return;
  for (const auto& [name, value] : json.items()) note_pieces(place + "/" + name, value);
}

/// The bytes, unless they hold the key in a form that taking it out of the bytes would miss.
std::string AnswerReader::kept_bytes() const {
  const bool hidden = std::ranges::any_of(
      pieces_, [this](const auto& piece) { return redactor_.finds(std::string_view(piece.second)); });
  return hidden ? kNotKept : redactor_(raw_);
}

void AnswerReader::read_whole() {
  const Json body = try_parse_json(raw_);
  if (redactor_.has_secrets()) note_pieces("", body);
  if (!body.is_object()) {
    reading_.failure = {LlmFault::malformed, ForeignText("not a JSON object: " + raw_)};
  } else if (!member(body, "error").is_null() && text_of(body, "status") != "failed") {
    reading_.failure = read_failure(200, body, raw_);
  } else {
    dialect_.read_whole(body, reading_);
    if (!reading_.complete && !reading_.failure)
      reading_.failure = {LlmFault::malformed, ForeignText("no answer in what was sent: " + raw_)};
  }
}

LlmReply AnswerReader::finish() {
  ending_ = true;
  is_stream_ ? events_.finish() : read_whole();
  LlmReply reply = std::move(reading_.reply);
  if (!reading_.failure && !reading_.refusal.empty())
    reading_.failure = {LlmFault::refused, ForeignText(reading_.refusal)};
  if (reading_.failure) {
    reply.failure = reading_.failure->shown(redactor_);
  } else if (!reading_.complete && !reading_.may_end) {
    reply.failure = {LlmFault::cut_short, "the stream ended before the answer did"};
  }
  reply.text = redactor_(reply.text);
  reply.request_id = ForeignText(std::move(reply.request_id)).line(redactor_);
  reply.raw = kept_bytes();
  drop_impossible_counts(reply);
  return reply;
}

}  // namespace ak::agent
