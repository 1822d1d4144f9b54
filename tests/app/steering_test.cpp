// SPDX-License-Identifier: Apache-2.0
// Turns of a session whose searches are scripts: what each has found after so many evaluations.
#include "app/session/steering.h"

#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "app/session/session_plan.h"
#include "core/search_verdict.h"
#include "core/text/json_reader.h"

using namespace ak;
using namespace ak::app;

namespace {

/// A search as the session sees it.
struct Script {
  std::string name;
  double share = 1;
  std::function<double(std::int64_t)> best_ns = [](std::int64_t) { return 100.0; };
  std::optional<double> limit_ns = {};
  std::int64_t ends_at = 1'000'000;  ///< its space is used up
  std::optional<RemainingGain> gain = {};
  double minutes_each = 0.1;
  std::vector<std::string> arguments = {};
};

/// A session that runs scripts: everything but the searches themselves is the real thing.
struct ScriptedNight {
  ScriptedNight(std::vector<Script> all, SessionBudgets limits) : scripts(std::move(all)), budgets(limits) {
    budgets.steer = true;
    for (const Script& script : scripts) {
      db::SessionSearch& run = session.runs.emplace_back();
      run.id = static_cast<RowId>(session.runs.size());
      run.name = script.name;
      run.share = script.share;
      run.arguments = script.arguments;
    }
  }

  /// False when there is none.
  bool take_turn() {
    const auto turn = next_turn(session, budgets, left_out);
    if (!turn) return false;
    db::SessionSearch& run = session.runs.at(turn->run);
    const Script& script = scripts.at(turn->run);
    if (turn->is_new) {
      run.rounds.push_back(turn->round);
      lines.push_back(turn_text(run, turn->round));
      order.push_back(run.name);
    }
    run.state = "running";
    const agent::Budgets given = budgets_of_round(session, run, budgets, {});
    run.budgets = Json::object();
    std::int64_t& tried = run.stats.evaluations;
    const auto may_go_on = [&] {
      const auto spent = std::chrono::milliseconds(run.stats.spent_ms);
      const auto headroom = headroom_of(run.stats.best_ns, run.stats.limit_ns);
      return (!given.max_evaluations || tried < *given.max_evaluations) &&
             (!given.max_wall || spent < *given.max_wall) && tried < script.ends_at &&
             !(headroom && *headroom <= *given.least_headroom);
    };
    while (may_go_on()) {
      ++tried;
      run.stats.spent_ms += std::llround(60'000 * script.minutes_each);
      run.stats.best_ns = script.best_ns(tried);
      run.stats.limit_ns = script.limit_ns;
      run.gain = script.gain;
    }
    const auto headroom = headroom_of(run.stats.best_ns, run.stats.limit_ns);
    const bool own_end = tried >= script.ends_at || (headroom && *headroom <= kAtLimit);
    run.state = own_end || turn->round.closes ? "finished" : "paused";
    return true;
  }
  void run() {
    int turns = 0;
    while (take_turn()) REQUIRE(++turns < 1000);
    for (const db::SessionSearch& run : session.runs) CHECK(run.is_done());
  }
  [[nodiscard]] std::int64_t tried(std::size_t index) const { return session.runs[index].stats.evaluations; }
  [[nodiscard]] std::int64_t tried() const {
    std::int64_t all = 0;
    for (const db::SessionSearch& run : session.runs) all += run.stats.evaluations;
    return all;
  }

  std::vector<Script> scripts;
  SessionBudgets budgets;
  db::Session session;
  std::set<RowId> left_out;
  std::vector<std::string> lines, order;
};

SessionBudgets evaluations(std::int64_t many) {
  SessionBudgets budgets;
  budgets.max_evaluations = many;
  return budgets;
}

TEST_CASE("what is left goes to the search whose limit leaves most, and none gets less than its least") {
  ScriptedNight night({{.name = "near", .limit_ns = 80.0},
                       {.name = "far",
                        .best_ns = [](std::int64_t n) { return 1000.0 / static_cast<double>(n); },
                        .limit_ns = 0.1}},
                      evaluations(400));
  REQUIRE(is_steered(night.session, night.budgets));
  night.run();
  CHECK(night.tried(0) == 100);
  CHECK(night.tried(1) == 300);
  REQUIRE(night.lines.size() >= 4);
  CHECK(night.lines[0] ==
        "round 1: near gets 100 more evaluations: the least that it gets: 50 % of its share");
  CHECK(night.lines[2] ==
        "round 3: far gets 50 more evaluations: the limit leaves 99 % of its time; it promises most, 0.99 "
        "(near 0.2)");
  CHECK_THAT(night.lines.back(), Catch::Contains("ends: the session's budget is used"));
}

TEST_CASE("a limit that no search comes nearer to does not take all") {
  // Both stand still: each round without a gain halves what a search promises.
  ScriptedNight night({{.name = "a", .limit_ns = 10.0}, {.name = "b", .limit_ns = 30.0}}, evaluations(800));
  night.run();
  CHECK(night.tried(0) > 200);
  CHECK(night.tried(1) > 200);
  CHECK(night.tried() == 800);
  CHECK_THAT(night.lines[4], Catch::Contains("1 round without a gain"));
}

TEST_CASE("of two spaces the one with more to gain goes on where the limits are as far") {
  ScriptedNight night({{.name = "done", .gain = RemainingGain{.expected = 0.012, .low = 0, .high = 0.02}},
                       {.name = "open", .gain = RemainingGain{.expected = 0.2, .low = 0.1, .high = 0.4}}},
                      evaluations(200));
  night.run();
  CHECK(night.tried(1) > night.tried(0));
  CHECK_THAT(night.lines[2], Catch::Contains("open") && Catch::Contains("20 % are expected"));
}

TEST_CASE("a search at the limit, or whose space has nothing more, gives its rest away") {
  ScriptedNight night({{.name = "at", .limit_ns = 95.0}, {.name = "rest"}}, evaluations(400));
  night.run();
  CHECK(night.tried(0) == 1);  // at once
  CHECK(night.tried(1) == 399);
  ScriptedNight small({{.name = "small", .ends_at = 5}, {.name = "rest"}}, evaluations(400));
  small.run();
  CHECK(small.tried(0) == 5);
  CHECK(small.tried(1) == 395);
  ScriptedNight known(
      {{.name = "known", .gain = RemainingGain{.expected = 0, .low = 0, .high = 0.005}}, {.name = "rest"}},
      evaluations(400));
  known.run();
  CHECK(known.tried(0) == 100);
  CHECK(known.tried(1) == 300);
  CHECK_THAT(known.lines[2], Catch::Contains("known ends: nothing to gain"));
}

TEST_CASE("a search of a set is made in one go with its whole share") {
  ScriptedNight night({{.name = "set", .arguments = {"--per-shape"}}, {.name = "a"}, {.name = "b"}},
                      evaluations(600));
  night.run();
  CHECK(night.tried(0) == 200);
  CHECK(night.tried() == 600);
}

TEST_CASE("searches that failed or wait keep what they were given, and the others get the rest") {
  ScriptedNight night({{.name = "waits"}, {.name = "a"}, {.name = "b"}}, evaluations(600));
  REQUIRE(night.take_turn());
  night.session.runs[0].state = "suspended";
  night.session.runs[0].stats.evaluations = 10;
  night.left_out.insert(night.session.runs[0].id);
  while (night.take_turn()) continue;
  CHECK(night.session.runs[0].state == "suspended");
  CHECK(night.tried(1) + night.tried(2) == 500);
  night.left_out.clear();  // it goes on with what it was given
  night.run();
  CHECK(night.session.runs[0].rounds.front().evaluations == 100);
  CHECK(night.tried(0) == 100);
}

TEST_CASE("what any searches use is the session's budget, and none gets less than its least") {
  std::mt19937 random(11);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int repeat = 0; repeat < 300; ++repeat) {
    CAPTURE(repeat);
    std::vector<Script> scripts;
    double shares = 0;
    const int searches = 2 + repeat % 4;
    for (int i = 0; i < searches; ++i) {
      const double slope = uniform(0.001, 0.1), floor = uniform(1, 50);
      Script script{.name = std::to_string(i), .share = uniform(0.5, 3)};
      script.best_ns = [=](std::int64_t n) {
        return floor + 100 * std::exp(-slope * static_cast<double>(n));
      };
      if (i % 2 == 0) script.limit_ns = uniform(0.1, 60);
      if (repeat % 3 == 0) script.ends_at = static_cast<std::int64_t>(uniform(1, 1000));
      if (repeat % 5 == 0) script.gain = RemainingGain{uniform(0, 0.2), 0, uniform(0, 0.4)};
      script.minutes_each = uniform(0.01, 0.5);
      shares += script.share;
      scripts.push_back(std::move(script));
    }
    const bool by_minutes = repeat % 2 == 1;
    SessionBudgets budgets = evaluations(300 + 10 * repeat);
    if (by_minutes) budgets = {.max_minutes = 100.0 + repeat, .max_cost_usd = {}, .max_tokens = {}};
    ScriptedNight night(std::move(scripts), budgets);
    REQUIRE(is_steered(night.session, night.budgets));
    night.run();
    bool all_ended = true;  // by themselves
    double minutes = 0, longest = 0;
    for (std::size_t i = 0; i < night.scripts.size(); ++i) {
      const db::SessionSearch& run = night.session.runs[i];
      const double part = kLeastPart * run.share / shares;
      const auto headroom = headroom_of(run.stats.best_ns, run.stats.limit_ns);
      const bool ended = run.stats.evaluations >= night.scripts[i].ends_at ||
                         (headroom && *headroom <= kAtLimit) || (run.gain && run.gain->high <= kLittleGain);
      all_ended = all_ended && ended;
      const double spent = static_cast<double>(run.stats.spent_ms) / 60'000;
      minutes += spent;
      longest = std::max(longest, night.scripts[i].minutes_each);
      if (ended) continue;
      if (by_minutes)
        CHECK(spent >= *budgets.max_minutes * part - 1e-6);
      else
        CHECK(static_cast<double>(run.stats.evaluations) >=
              std::floor(static_cast<double>(*budgets.max_evaluations) * part));
    }
    if (by_minutes) {
      // A limit of time ends a search behind the evaluation that passes it.
      CHECK(minutes <= *budgets.max_minutes + longest * static_cast<double>(night.lines.size()));
      if (!all_ended) CHECK(minutes >= *budgets.max_minutes - kLeastMinutes);
    } else {
      CHECK(night.tried() <= *budgets.max_evaluations);
      if (!all_ended) CHECK(night.tried() >= *budgets.max_evaluations - kLeastEvaluations / 2);
    }
  }
}

TEST_CASE("a session that was killed between any two steps goes on as one that was not") {
  const auto make = [] {
    return ScriptedNight({{.name = "a", .limit_ns = 10.0}, {.name = "b", .limit_ns = 30.0}, {.name = "c"}},
                         evaluations(900));
  };
  ScriptedNight calm = make();
  calm.run();
  ScriptedNight killed = make();
  for (int turn = 0; turn < 1000; ++turn) {
    const auto next = next_turn(killed.session, killed.budgets, {});
    if (!next) break;
    if (next->is_new) {  // killed when the round was stored, and nothing else
      db::SessionSearch& run = killed.session.runs.at(next->run);
      killed.lines.push_back(turn_text(run, next->round));
      run.rounds.push_back(next->round);
      run.state = "queued";
    }
    const auto again = next_turn(killed.session, killed.budgets, {});
    REQUIRE(again);
    CHECK_FALSE(again->is_new);
    CHECK(again->run == next->run);
    REQUIRE(killed.take_turn());
  }
  CHECK(killed.lines == calm.lines);
  for (std::size_t i = 0; i < 3; ++i) CHECK(killed.tried(i) == calm.tried(i));
}

TEST_CASE("steering needs to be asked for, two searches, a limit and enough to share out") {
  const auto steered = [](std::size_t searches, SessionBudgets budgets) {
    db::Session session;
    session.runs.resize(searches);
    return is_steered(session, budgets);
  };
  SessionBudgets budgets = evaluations(200);
  CHECK_FALSE(steered(2, budgets));
  budgets.steer = true;
  CHECK(steered(2, budgets));
  CHECK_FALSE(steered(1, budgets));
  budgets.max_evaluations = 60;
  CHECK_FALSE(steered(2, budgets));
  budgets.max_evaluations.reset();
  CHECK_FALSE(steered(2, budgets));
  budgets.max_minutes = 480;
  CHECK(steered(8, budgets));
  budgets.max_minutes = 10;
  CHECK_FALSE(steered(2, budgets));
  const Json json = to_json(budgets);
  CHECK(json["steer"] == true);
  CHECK(session_budgets_from(JsonReader(json)).steer);
  const Json alone{{"steer", true}};
  CHECK_THROWS_WITH(session_budgets_from(JsonReader(alone)), Catch::Contains("give 'max_minutes'"));
}

TEST_CASE("tokens and money of searches that take turns are shared once") {
  db::Session session;
  session.runs.resize(3);
  for (db::SessionSearch& run : session.runs) {
    run.model = "x:y";
    run.rounds.push_back({.number = 1, .evaluations = 50, .minutes = {}, .best_ns = {}, .why = ""});
  }
  SessionBudgets budgets = evaluations(300);
  budgets.max_tokens = 900;
  CHECK(budgets_of_round(session, session.runs[0], budgets, {}).max_tokens == 300);
  session.runs[0].stats.tokens = 300;
  session.runs[0].state = "paused";
  CHECK(budgets_of_round(session, session.runs[1], budgets, {}).max_tokens == 300);
  session.runs[0].budgets = {{"max_tokens", 300}};
  CHECK(budgets_of_round(session, session.runs[0], budgets, {}).max_tokens == 300);
}

}  // namespace
