// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/coding_agent/agent_usage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/text/file.h"
#include "core/text/json_line.h"
#include "core/token_counts.h"

namespace ak::agent {
namespace {

constexpr std::size_t kMaxUsageBytes = 64u << 10;  // of the file, which has three numbers
constexpr double kMaxUsd = 1e6;                    // more is no price of an answer

/// 0 where it is no number that tokens may have; what is impossible is estimated elsewhere.
std::int64_t count(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::optional<double> dollars(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double usd = found->get<double>();
  return std::isfinite(usd) && usd >= 0 && usd <= kMaxUsd ? std::optional(usd) : std::nullopt;
}

/// Codex counts cached tokens among the input's, Claude Code beside them.
void add_tokens(const Json& usage, LlmUsage& tokens) {
  const std::int64_t read = count(usage, "cache_read_input_tokens"),
                     written = count(usage, "cache_creation_input_tokens");
  tokens.input_tokens = saturated_sum(saturated_sum(tokens.input_tokens, count(usage, "input_tokens")),
                                      saturated_sum(read, written));
  tokens.cached_tokens =
      saturated_sum(tokens.cached_tokens, saturated_sum(read, count(usage, "cached_input_tokens")));
  tokens.cache_written_tokens = saturated_sum(tokens.cache_written_tokens, written);
  tokens.output_tokens = saturated_sum(tokens.output_tokens, count(usage, "output_tokens"));
  tokens.reported = tokens.total() > 0;
}

void add_line(const Json& line, AgentUsage& usage) {
  const std::string type = line.value("type", Json()).is_string() ? line["type"].get<std::string>() : "";
  if (type != "turn.completed" && type != "result") return;
  if (const auto tokens = line.find("usage"); tokens != line.end() && tokens->is_object())
    add_tokens(*tokens, usage.tokens);
  if (const auto usd = dollars(line, "total_cost_usd")) usage.cost_usd = usd;
}

/// Every line that is an object.
template <class Take>
void for_objects(std::string_view output, Take take) {
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    if (!line.starts_with('{')) continue;
    if (const Result<Json> json = parse_json_line(line); json && json->is_object()) take(*json);
  }
}

/// Claude Code's "result"; Codex's {"item": {"text"}}, {"error": {"message"}} and "message".
std::string words_of(const Json& line) {
  const auto text = [](const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto inner = [&](const char* key) { return line.value(key, Json()); };
  for (std::string words : {text(line, "result"), text(inner("item"), "text"),
                            text(inner("error"), "message"), text(line, "message")})
    if (!words.empty()) return words;
  return "";
}

std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

AgentUsage printed_usage(std::string_view output) {
  AgentUsage usage;
  for_objects(output, [&](const Json& line) { add_line(line, usage); });
  return usage;
}

std::string last_words(std::string_view output, std::string_view error_output) {
  std::string words;
  for_objects(output, [&](const Json& line) {
    if (std::string said = words_of(line); !said.empty()) words = std::move(said);
  });
  if (!words.empty()) return words;
  const std::string_view error = last_line(error_output);
  return std::string(error.empty() ? last_line(output) : error);
}

std::optional<AgentUsage> written_usage(const std::filesystem::path& folder) {
  const FileDescriptor fd(
      ::open((folder / "usage.json").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  std::string text(kMaxUsageBytes, '\0');
  const ssize_t got = ::pread(fd.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const Json json = try_parse_json(text);
  if (!json.is_object()) return std::nullopt;
  AgentUsage usage;
  add_tokens(json, usage.tokens);
  usage.cost_usd = dollars(json, "cost_usd");
  return usage;
}

}  // namespace ak::agent
