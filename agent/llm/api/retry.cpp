// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/retry.h"

#include "core/text/hash.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <string>
#include <thread>

namespace ak::agent {
namespace {

using std::chrono::milliseconds;

constexpr double kJitter = 0.25;
constexpr auto kPoll = milliseconds(50);  // how late a cancelled wait ends

std::string_view header(const HttpHeaders& headers, std::string_view name) {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::optional<milliseconds> asked_for(const HttpHeaders& headers) {
  constexpr double kMax = 1e9;
  if (const auto ms = number(header(headers, "retry-after-ms")))
    return milliseconds(std::llround(std::min(*ms, kMax)));
  return parse_retry_after(header(headers, "retry-after"), std::chrono::system_clock::now());
}

}  // namespace

std::optional<milliseconds> parse_retry_after(std::string_view text,
                                              std::chrono::system_clock::time_point now) {
  if (const auto seconds = number(text)) return milliseconds(std::llround(std::min(*seconds, 1e6) * 1000));
  std::tm date{};
  const std::string copy(text);
  const char* rest = strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != 0) return std::nullopt;
  // In seconds: the year 9999 is beyond what a clock of nanoseconds holds.
  const std::chrono::seconds wait =
      std::chrono::seconds(timegm(&date)) - std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
  return std::max(milliseconds(0), milliseconds(wait));
}

std::optional<milliseconds> retry_delay(const RetryPolicy& policy, int attempt, const LlmFailure& failure,
                                        const HttpHeaders& headers, double random) {
  const std::string_view retry_header = header(headers, "x-should-retry");
  const bool again = retry_header == "true" || (retry_header != "false" && info(failure.fault).retry);
  if (!again || info(failure.fault).permanent || attempt >= policy.max_attempts) return std::nullopt;
  const auto asked = asked_for(headers);
  if (asked && *asked > policy.patience) return std::nullopt;
  if (asked && asked->count() > 0) return asked;
  const double factor = std::pow(2.0, std::min(attempt - 1, 30)) * (1 - random * kJitter);
  const double wait_ms = static_cast<double>(policy.first.count()) * factor;
  return milliseconds(std::llround(std::min(wait_ms, static_cast<double>(policy.longest.count()))));
}

double random_fraction() { return static_cast<double>(random_seed() >> 11) * 0x1p-53; }

bool sleep_unless(const std::atomic<bool>* cancelled, milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (cancelled == nullptr || !cancelled->load()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return true;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kPoll));
  }
  return false;
}

}  // namespace ak::agent
