// SPDX-License-Identifier: Apache-2.0
#include "app/session/session_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "app/evaluate/figure_texts.h"
#include "app/session/notification.h"
#include "app/slurm/session_job.h"
#include "core/text/suggest.h"
#include "core/token_counts.h"

namespace ak::app {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(100);
// How often Slurm is asked, as its own tools advise against more (chosen).
constexpr auto kJobInterval = std::chrono::seconds(10);
// Each question of many is one to its controller.
constexpr auto kJobPause = std::chrono::seconds(1);

double spent_s(const db::SessionSearch& run) { return static_cast<double>(run.stats.spent_ms) / 1000; }

std::optional<double> rate_per_minute(const db::SessionSearch& run) {
  if (run.stats.evaluations == 0 || run.stats.spent_ms == 0) return std::nullopt;
  return 60 * static_cast<double>(run.stats.evaluations) / spent_s(run);
}

/// Until the first limit of time or evaluations, at the rate so far.
std::optional<double> seconds_left(const db::SessionSearch& run) {
  std::optional<double> left;
  const auto at_most = [&](double seconds) {
    left = std::min(left.value_or(seconds), std::max(0.0, seconds));
  };
  if (run.budgets.contains("max_wall_ms"))
    at_most(run.budgets["max_wall_ms"].get<double>() / 1000 - spent_s(run));
  const auto rate = rate_per_minute(run);
  if (rate && run.budgets.contains("max_evaluations")) {
    const auto more = run.budgets["max_evaluations"].get<std::int64_t>() - run.stats.evaluations;
    at_most(static_cast<double>(more) * 60 / *rate);
  }
  return left;
}

std::optional<double> ratio(const std::optional<double>& a, const std::optional<double>& b) {
  return a && b && *b > 0 ? std::optional(*a / *b) : std::nullopt;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string run_state(const db::SessionSearch& run, bool alive) {
  return run.state == "running" && !alive ? "killed" : run.state;
}

/// Null where a price is not known.
Json cost_json(double cost_usd, bool price_known) { return price_known ? Json(cost_usd) : Json(); }

Json run_json(const db::SessionSearch& run, bool alive) {
  const db::SessionSearchStats& f = run.stats;
  return {{"name", run.name},
          {"state", run_state(run, alive)},
          {"reason", run.reason},
          {"exit_code", or_null(run.exit_code)},
          {"search", or_null(run.search)},
          {"model", run.model.empty() ? Json() : Json(run.model)},
          {"evaluations", f.evaluations},
          {"verified", f.verified},
          {"in_flight", f.in_flight},
          {"evaluations_per_minute", or_null(rate_per_minute(run))},
          {"best_ns", or_null(f.best_ns)},
          {"emulated", run.emulated},
          {"verdict", run.verdict.empty() ? Json() : Json(run.verdict)},
          {"baseline", f.baseline.empty() ? Json() : Json(f.baseline)},
          {"baseline_ns", or_null(f.baseline_ns)},
          {"limit_ns", or_null(f.limit_ns)},
          {"speedup", or_null(ratio(f.baseline_ns, f.best_ns))},
          {"share_of_limit", or_null(ratio(f.limit_ns, f.best_ns))},
          {"tokens", f.tokens},
          {"cost_usd", cost_json(f.cost_usd, f.price_known)},
          {"spent_s", spent_s(run)},
          {"left_s", run.state == "running" ? or_null(seconds_left(run)) : Json()}};
}

void add_best(const db::SessionSearch& run, std::vector<std::string>& parts) {
  const db::SessionSearchStats& f = run.stats;
  if (!f.best_ns) return;
  parts.push_back(fmt::format("best {}{}", run.emulated ? "emulated cost " : "", format_ns(*f.best_ns)));
  if (const auto speedup = ratio(f.baseline_ns, f.best_ns))
    parts.push_back(fmt::format("{:.2f} times as fast as {}", *speedup, sanitize(f.baseline, 60)));
  if (const auto share = ratio(f.limit_ns, f.best_ns))
    parts.push_back(fmt::format("{:.0f} % of the limit", 100 * *share));
}

/// Of all searches, in the order in which they had their turns.
std::vector<std::pair<const db::SessionSearch*, const db::SessionRound*>> rounds_of(
    const db::Session& session) {
  std::vector<std::pair<const db::SessionSearch*, const db::SessionRound*>> rounds;
  for (const db::SessionSearch& run : session.runs)
    for (const db::SessionRound& round : run.rounds) rounds.emplace_back(&run, &round);
  std::ranges::sort(rounds, {}, [](const auto& entry) { return entry.second->number; });
  return rounds;
}

Json rounds_json(const db::Session& session) {
  Json list = Json::array();
  for (const auto& [run, round] : rounds_of(session))
    list.push_back({{"round", round->number},
                    {"name", run->name},
                    {"evaluations", or_null(round->evaluations)},
                    {"minutes", or_null(round->minutes)},
                    {"closes", round->closes},
                    {"why", round->why}});
  return list;
}

std::string rounds_text(const db::Session& session) {
  std::string text;
  for (const auto& [run, round] : rounds_of(session)) {
    std::vector<std::string> all;
    if (round->evaluations) all.push_back(fmt::format("{} evaluations", *round->evaluations));
    if (round->minutes) all.push_back(duration_text(60 * *round->minutes));
    text += fmt::format("  round {:<3} {:<24} {} {}: {}\n", round->number, run->name,
                        round->closes ? "ends with" : "goes on to", fmt::join(all, ", "),
                        sanitize(round->why, 400));
  }
  return text;
}

std::string run_text(const db::SessionSearch& run, bool alive) {
  const db::SessionSearchStats& f = run.stats;
  const std::string state = run_state(run, alive);
  std::vector<std::string> parts;
  if (f.evaluations > 0) parts.push_back(fmt::format("{} tried, {} passed", f.evaluations, f.verified));
  add_best(run, parts);
  if (f.tokens > 0)
    parts.push_back(fmt::format("{} tokens, {}", f.tokens, cost_text(f.cost_usd, f.price_known)));
  if (state == "running") {
    if (const auto rate = rate_per_minute(run)) parts.push_back(fmt::format("{:.3g} a minute", *rate));
    parts.push_back(duration_text(spent_s(run)));
    if (const auto left = seconds_left(run)) parts.push_back(duration_text(*left) + " left at most");
  }
  if (!run.verdict.empty()) parts.push_back("verdict: " + sanitize(run.verdict, 60));
  if (!run.reason.empty() && run.reason != state) parts.push_back(sanitize(run.reason, 200));
  return fmt::format("  {:<24} {:<9} {}\n", run.name, state, fmt::join(parts, ", "));
}

struct Totals {
  double spent_s = 0, cost_usd = 0;
  bool price_known = true;
  std::int64_t tokens = 0, done = 0;
};

Totals totals_of(const db::Session& session) {
  Totals totals;
  for (const db::SessionSearch& run : session.runs) {
    totals.spent_s += spent_s(run);
    totals.cost_usd += run.stats.cost_usd;
    totals.price_known = totals.price_known && run.stats.price_known;
    totals.tokens = saturated_sum(totals.tokens, run.stats.tokens);
    totals.done += run.is_done();
  }
  return totals;
}

/// One that watch_status() shows.
class WatchedSession {
 public:
  explicit WatchedSession(const StoredSession& session)
      : session_(session), store_(session.database, db::OpenMode::read_only), lock_(session.database) {}

  void ask_slurm() { job_ = job_state_of(session_.database, session_.session); }
  [[nodiscard]] bool goes_on() const {
    return lock_.is_taken(session_.session) || (job_ && job_->in_queue.value_or(false));
  }
  [[nodiscard]] std::string text() {
    const bool alive = lock_.is_taken(session_.session);
    return status_text(store_.read(session_.session), alive) + (job_ ? job_text(*job_) : "");
  }

 private:
  StoredSession session_;
  db::SessionStore store_;
  db::SessionLock lock_;
  std::optional<JobState> job_;
};

}  // namespace

std::string session_state(const db::Session& session, bool alive) {
  if (session.status == "running" && !alive) return "killed";
  return session.status;
}

Json status_json(const db::Session& session, bool alive) {
  const Totals totals = totals_of(session);
  Json json = {{"session", session.id},
               {"name", session.name},
               {"state", session_state(session, alive)},
               {"reason", session.reason},
               {"exit_code", or_null(session.exit_code)},
               {"started_at", session.started_at},
               {"ended_at", session.ended_at.empty() ? Json() : Json(session.ended_at)},
               {"budgets", limits_of(session)},
               {"spent_s", totals.spent_s},
               {"tokens", totals.tokens},
               {"cost_usd", cost_json(totals.cost_usd, totals.price_known)},
               {"searches", Json::array()}};
  for (const db::SessionSearch& run : session.runs) json["searches"].push_back(run_json(run, alive));
  json["rounds"] = rounds_json(session);
  return json;
}

std::string status_text(const db::Session& session, bool alive) {
  const Totals totals = totals_of(session);
  std::string text = fmt::format("session {} {}: {}, {} of {} searches done, {}", session.id, session.name,
                                 session_state(session, alive), totals.done, session.runs.size(),
                                 duration_text(totals.spent_s));
  if (session.budgets.contains("max_minutes"))
    text += fmt::format(" of {}", duration_text(60 * session.budgets["max_minutes"].get<double>()));
  if (totals.tokens > 0)
    text += fmt::format(", {} tokens, {}", totals.tokens, cost_text(totals.cost_usd, totals.price_known));
  if (!session.reason.empty() && session.reason != session.status)
    text += fmt::format(" ({})", sanitize(session.reason, 200));
  text += "\n";
  for (const db::SessionSearch& run : session.runs) text += run_text(run, alive);
  return text + rounds_text(session);
}

void watch_status(const std::vector<StoredSession>& sessions, std::chrono::milliseconds interval,
                  const std::atomic<bool>& stop, const std::function<void(const std::string& text)>& show) {
  std::deque<WatchedSession> watched;
  for (const StoredSession& session : sessions) watched.emplace_back(session);
  const auto job_interval = kJobInterval + kJobPause * (sessions.size() - 1);
  auto next_question = std::chrono::steady_clock::now();
  for (;;) {
    const bool ask = std::chrono::steady_clock::now() >= next_question;
    if (ask) next_question = std::chrono::steady_clock::now() + job_interval;
    std::string text;
    bool goes_on = false;
    for (WatchedSession& one : watched) {
      if (ask && !stop) one.ask_slurm();
      text += one.text();
      goes_on = goes_on || one.goes_on();
    }
    show(text);
    if (!goes_on || stop) return;
    const auto until = std::chrono::steady_clock::now() + interval;
    const auto any_goes_on = [&] { return std::ranges::any_of(watched, &WatchedSession::goes_on); };
    while (!stop && any_goes_on() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace ak::app
