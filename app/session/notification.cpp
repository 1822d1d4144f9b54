// SPDX-License-Identifier: Apache-2.0
#include "app/session/notification.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/llm/api/command_client.h"
#include "agent/llm/api/http.h"
#include "app/search/manifest_fields.h"
#include "core/error.h"
#include "core/text/suggest.h"

namespace ak::app {
namespace {

// Two measurements of one kernel in two sessions differ by less (docs/timing.md).
constexpr double kNoise = 1.02;
// A person waits for the message, the next search for its end (chosen).
constexpr std::chrono::milliseconds kConnectLimit{5'000}, kSendLimit{10'000};
// A webhook answers "ok"; more is not looked at.
constexpr std::size_t kMaxAnswerBytes = 64u << 10;

struct EventName {
  NotifyEvent event;
  std::string_view name;
};
constexpr std::array kEvents{EventName{NotifyEvent::end, "end"},
                             EventName{NotifyEvent::breakthrough, "breakthrough"},
                             EventName{NotifyEvent::failure, "failure"}};

NotifyEvent read_event(const JsonReader& at) {
  const std::string text = read_text(at, "the name of an event");
  const auto found = std::ranges::find(kEvents, text, &EventName::name);
  if (found != kEvents.end()) return found->event;
  std::vector<std::string> names;
  for (const EventName& event : kEvents) names.emplace_back(event.name);
  at.reject(fmt::format("unknown event '{}'{}; expected {}", sanitize(text, 60), did_you_mean(text, names),
                        fmt::join(names, ", ")));
}

std::vector<std::string> read_words(const JsonReader& at, std::string_view what) {
  std::vector<std::string> words;
  for (const JsonReader& item : at.items()) words.push_back(read_text(item, what));
  if (words.empty()) at.fail(fmt::format("a list of {}", what));
  return words;
}

/// The address itself; empty where its variable is not set.
std::string address_of(const std::string& url) {
  if (!url.starts_with('$')) return url;
  const char* value = std::getenv(url.c_str() + 1);
  return value ? value : "";
}

/// Why it was not delivered; empty when it was. The address may be a secret: it is never part of the answer.
std::string post(const std::string& url, const Json& body) {
  const std::string address = address_of(url);
  if (address.empty()) return fmt::format("{} is not set", url);
  const agent::HttpRequest request{
      .url = address,
      .headers = {{"content-type", "application/json"}},
      .body = body.dump(-1, ' ', false, Json::error_handler_t::replace),
      .limits = {
          .connect = kConnectLimit, .idle = kSendLimit, .total = kSendLimit, .max_bytes = kMaxAnswerBytes}};
  const agent::HttpReply reply = agent::http_send(
      request, {.begin = [](const agent::HttpHeaders&) {}, .data = [](std::string_view) { return true; }});
  const agent::Redactor redactor({address});
  if (reply.failure) return redactor(reply.failure->message);
  if (reply.status < 200 || reply.status >= 300)
    return fmt::format("the server answered with status {}", reply.status);
  return "";
}

std::string run_command(const NotifySettings& settings, const std::string& text) {
  // The shell says "delivered" when the command has succeeded, which may print nothing.
  agent::LlmCommand command{.argv = {"/bin/sh", "-c", "\"$@\" >/dev/null && echo delivered", "sh"},
                            .environment = {"PATH", "HOME", "LANG"},
                            .timeout = kSendLimit};
  command.argv.insert(command.argv.end(), settings.command.begin(), settings.command.end());
  command.environment.insert(command.environment.end(), settings.environment.begin(),
                             settings.environment.end());
  LlmRequest request;
  request.system = text + "\n";
  const LlmReply reply = agent::CommandLlmClient(std::move(command)).ask(request, nullptr);
  // What fails may print the address that a variable gave it.
  std::vector<std::string> secrets;
  for (const std::string& name : settings.environment)
    if (const char* value = std::getenv(name.c_str())) secrets.emplace_back(value);
  return reply.failure ? agent::Redactor(std::move(secrets))(reply.failure->message) : "";
}

}  // namespace

NotifySettings notify_from(const JsonReader& at) {
  at.only({"url", "command", "environment", "on"});
  NotifySettings settings;
  if (const auto given = at.find("url"))
    settings.url = read_text(*given, "an address, or $NAME of a variable");
  if (const auto given = at.find("command")) settings.command = read_words(*given, "a word");
  if (const auto given = at.find("environment"))
    settings.environment = read_words(*given, "the name of a variable");
  if (settings.url.empty() == settings.command.empty()) at.reject("expected 'url' or 'command', one of them");
  if (const auto given = at.find("on"))
    for (const JsonReader& item : given->items()) settings.on.push_back(read_event(item));
  else
    for (const EventName& event : kEvents) settings.on.push_back(event.event);
  return settings;
}

void check_notify(const NotifySettings& settings) {
  if (settings.url.empty()) return;
  const std::string address = address_of(settings.url);
  if (address.empty())
    fail(ExitCode::bad_input, "notify.url: the environment variable {} is not set", settings.url.substr(1));
  if (const std::string error = agent::url_error(address); !error.empty())
    fail(ExitCode::bad_input, "notify.url: {}", agent::Redactor({address})(error));
}

std::optional<NotifySettings> notify_of(const db::Session& session) {
  const auto found = session.budgets.is_object() ? session.budgets.find("notify") : session.budgets.end();
  if (!session.budgets.is_object() || found == session.budgets.end()) return std::nullopt;
  return notify_from(JsonReader(*found, "notify"));
}

Json limits_of(const db::Session& session) {
  Json limits = session.budgets;
  if (limits.is_object())
    for (const char* other : {"notify", "merge_into"}) limits.erase(other);
  return limits;
}

bool is_breakthrough(const db::SessionSearch& run, std::optional<double> known_ns) {
  const auto& [best, baseline] = std::pair(run.stats.best_ns, run.stats.baseline_ns);
  if (!best || !baseline || run.emulated) return false;
  return *best * kNoise < *baseline && (!known_ns || *best * kNoise < *known_ns);
}

std::string search_sentence(const db::SessionSearch& run) {
  std::string text = fmt::format("{}: {}", run.name, run.state);
  if (run.state != "finished" && !run.reason.empty()) text += fmt::format(" ({})", run.reason);
  if (run.stats.best_ns)
    text +=
        fmt::format(", best {:.4g} us{}", *run.stats.best_ns / 1000, run.emulated ? " (estimated cost)" : "");
  if (run.stats.best_ns && run.stats.baseline_ns)
    text += fmt::format(", {:.3g} times as fast as {}", *run.stats.baseline_ns / *run.stats.best_ns,
                        run.stats.baseline);
  return text;
}

void Notifier::operator()(NotifyEvent event, const std::string& text, Json facts) const {
  if (!settings_ || std::ranges::find(settings_->on, event) == settings_->on.end()) return;
  facts["event"] = std::ranges::find(kEvents, event, &EventName::event)->name;
  facts["text"] = text;
  const std::string error =
      settings_->url.empty() ? run_command(*settings_, text) : post(settings_->url, facts);
  if (!error.empty()) note_(fmt::format("the notification was not delivered: {}", sanitize(error, 400)));
}

}  // namespace ak::app
