// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "agent/llm/api/http_client.h"
#include "agent/llm/api/redact.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/file_checks.h"
#include "core/text/format_version.h"
#include "core/text/json_quantity.h"
#include "core/token_counts.h"

namespace ak::agent {
namespace {

/// Of each line.
constexpr Format kRecordingFormat{.name = "an exchange"};

std::int64_t optional_count(const JsonReader& at, std::string_view key, bool& given) {
  const auto value = at.find(key);
  given = given || value.has_value();
  return value ? integer_in(*value, {.min = 0, .max = kMaxTokens}) : 0;
}

LlmUsage read_usage(const JsonReader& at) {
  LlmUsage usage;
  bool given = false;
  usage.input_tokens = optional_count(at, "input_tokens", given);
  usage.cached_tokens = optional_count(at, "cached_tokens", given);
  usage.cache_written_tokens = optional_count(at, "cache_written_tokens", given);
  usage.output_tokens = optional_count(at, "output_tokens", given);
  usage.reported = given;
  return usage;
}

LlmFailure read_failure_record(const JsonReader& at) {
  const auto fault = parse_llm_fault(at.member("fault").text());
  if (!fault) at.member("fault").fail("the name of a fault");
  return {*fault, at.member("message").text()};
}

LlmReply read_reply(const JsonReader& at) {
  LlmReply reply;
  if (const auto text = at.find("text")) reply.text = text->text();
  const auto stop = at.find("stop");
  reply.stop = stop ? parse_llm_stop(stop->text()) : LlmStop::end;
  reply.usage = read_usage(at);
  if (const auto cost = at.find("cost_usd")) reply.cost_usd = quantity_in(*cost, kDollars);
  if (const auto id = at.find("request_id")) reply.request_id = id->text();
  if (const auto raw = at.find("raw")) reply.raw = raw->text();
  if (const auto failure = at.find("failure")) reply.failure = read_failure_record(*failure);
  return reply;
}

LlmReply read_line(const std::string& line, const std::string& where) {
  try {
    const Json json = up_to_date(kRecordingFormat, parse_json(line));
    return read_reply(JsonReader(json).member("reply"));
  } catch (const JsonInputError& input_error) {
    fail(ExitCode::bad_input, "{}: {}", where, input_error.what());
  } catch (const Json::parse_error& error) {
    fail(ExitCode::bad_input, "{}: not JSON: {}", where, error.what());
  }
}

void append(const std::filesystem::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::app | std::ios::binary);
  out << text << std::flush;
  if (!out) fail(ExitCode::output, "cannot record the exchange in {}", file.string());
}

}  // namespace

Json to_json(const LlmRequest& request) {
  Json json{{"model", request.model},
            {"system", redact(request.system)},
            {"messages", Json::array()},
            {"max_output_tokens", request.max_output_tokens}};
  for (const LlmMessage& message : request.messages)
    json["messages"].push_back({{"role", message.role}, {"text", redact(message.text)}});
  if (request.temperature) json["temperature"] = *request.temperature;
  if (!request.stop.empty()) json["stop"] = request.stop;
  if (!request.effort.empty()) json["effort"] = request.effort;
  return json;
}

Json to_json(const LlmReply& reply) {
  Json json{{"text", reply.text}, {"stop", to_string(reply.stop)}, {"attempts", reply.attempts}};
  if (reply.usage.reported) {
    json["input_tokens"] = reply.usage.input_tokens;
    json["cached_tokens"] = reply.usage.cached_tokens;
    json["cache_written_tokens"] = reply.usage.cache_written_tokens;
    json["output_tokens"] = reply.usage.output_tokens;
  }
  if (reply.cost_usd) json["cost_usd"] = *reply.cost_usd;
  if (!reply.request_id.empty()) json["request_id"] = reply.request_id;
  if (!reply.raw.empty()) json["raw"] = reply.raw;
  if (reply.failure)
    json["failure"] = {{"fault", info(reply.failure->fault).name}, {"message", reply.failure->message}};
  return json;
}

ReplayClient::ReplayClient(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty()) replies_.push_back(read_line(line, fmt::format("{}:{}", file.string(), number)));
  }
}

LlmReply ReplayClient::ask(const LlmRequest& request, const std::atomic<bool>*) {
  if (next_ == replies_.size())
    return {.text = "",
            .failure = LlmFailure{LlmFault::exhausted,
                                  fmt::format("all {} recorded answers were given", replies_.size())}};
  LlmReply reply = replies_[next_++];
  estimate_usage(request, !reply.failure, reply);
  return reply;
}

void ReplayClient::pass_over(const LlmReply&) { next_ = std::min(next_ + 1, replies_.size()); }

RecordingClient::RecordingClient(std::shared_ptr<LlmClient> client, std::filesystem::path file)
    : client_(std::move(client)), file_(std::move(file)) {
  require_writable(file_);  // opening a pipe would wait for its reader
  append(file_, "");
}

LlmReply RecordingClient::ask(const LlmRequest& request, const std::atomic<bool>* cancelled) {
  LlmReply reply = client_->ask(request, cancelled);
  Json exchange = Json::object();
  set_version(kRecordingFormat, exchange);
  exchange["request"] = to_json(request);
  exchange["reply"] = to_json(reply);
  append(file_, exchange.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return reply;
}

}  // namespace ak::agent
