// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cmath>

#include "agent/search/gain_chances.h"
#include "agent/search/replay.h"
#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

/// 40 x 30 points in a smooth valley whose best takes 1 ms.
MeasuredSpace valley() {
  MeasuredSpaceBuilder builder;
  for (std::int64_t x = 1; x <= 40; ++x) {
    for (std::int64_t y = 1; y <= 30; ++y) {
      MeasuredSpaceBuilder::Row row{.values = {{"x", x}, {"y", y}}};
      const double from_x = std::log2(static_cast<double>(x) / 16), from_y = static_cast<double>(y - 9) / 10;
      row.result.time_ns = 1e6 * (1 + from_x * from_x + from_y * from_y);
      builder.add(row);
    }
  }
  return builder.finish({{"x", {}}, {"y", {}}}).value();
}

TEST_CASE("what may be gained is summed up by its mean and its quantiles") {
  GainChances chances;
  CHECK(summary_of(chances).high == 0);
  CHECK(summary_of(chances).expected == 0);
  // Uniform between nothing and everything where cautious, and nothing where sure.
  chances.cautious = kGains;
  CHECK(summary_of(chances).low == 0);
  CHECK(summary_of(chances).expected == 0);
  CHECK(summary_of(chances).high == Approx(0.95));
  chances.sure = kGains;
  const RemainingGain uniform = summary_of(chances);
  CHECK(uniform.expected == Approx(0.5));
  CHECK(uniform.low == Approx(0.05));
  CHECK(uniform.high == Approx(0.95));
  rule_out_gains(chances, 0.3);
  CHECK(summary_of(chances).high <= 0.3);
  CHECK(summary_of(chances).expected < 0.3);
  rule_out_gains(chances, -0.1);  // the best is below what was thought to be the limit
  CHECK(summary_of(chances).high == 0);
}

TEST_CASE("a search says what it may still gain: much at first, then little, and is right about that") {
  const ReplaySpace space(valley());
  for (const char* strategy : {"portfolio", "local-search"}) {
    CAPTURE(strategy);
    const Replay run = replay(space, *find_strategy(strategy), 3, {.budget = 160, .verdicts = true});
    REQUIRE(run.verdicts.size() == 15);  // none before the twentieth answer
    CHECK(run.verdicts.front().evaluations == 20);
    CHECK(run.verdicts.front().gain.high > 0.01);
    int wrong = 0, too_sure = 0;
    for (const auto& [evaluations, gain, left] : run.verdicts) {
      wrong += left > gain.high ? 1 : 0;
      too_sure += left < gain.low ? 1 : 0;
      CHECK((gain.low <= gain.high && gain.expected <= 1));
    }
    CHECK(wrong <= 1);  // of 15, as one in twenty may be
    CHECK(too_sure <= 1);
  }
  CHECK(replay(space, *find_strategy("portfolio"), 3, {.budget = 160, .verdicts = true})
            .verdicts.back()
            .gain.high < 0.01);
  CHECK(replay(space, *find_strategy("random"), 3, {.budget = 160, .verdicts = true}).verdicts.empty());
}

TEST_CASE("to ask what may be gained changes no proposal, and after the last point there is nothing") {
  const ReplaySpace space(valley());
  const auto asked = find_strategy("portfolio")->make(space.search_space(), 5, {});
  const auto other = find_strategy("portfolio")->make(space.search_space(), 5, {});
  for (int i = 0; i < 60; ++i) {
    const auto point = asked->ask();
    REQUIRE(point == other->ask());
    for (const auto& strategy : {asked.get(), other.get()}) strategy->tell(*point, space.time_ns(*point));
    static_cast<void>(asked->gain_chances(1e6));
  }
  const auto last = find_strategy("genetic")->make(space.search_space(), 5, {});
  while (const auto point = last->ask()) last->tell(*point, space.time_ns(*point));
  CHECK(summary_of(last->gain_chances(1e6).value()).high == 0);
}

TEST_CASE("a search stops when it can gain no more than is asked for, and stores what it said") {
  const auto run = [](std::optional<double> least_gain, std::optional<double> limit_ns) {
    test::World world(test::on_surface);
    world.options.templates = {test::grid_template("grid", 30, 30)};
    world.options.strategy = "portfolio";
    world.options.max_in_flight = 1;
    world.options.budgets.least_gain = least_gain;
    world.options.budgets.max_evaluations = 200;
    world.options.limit_ns = limit_ns;
    const LoopResult result = world.run();
    REQUIRE(result.progress.gain);
    REQUIRE_FALSE(world.store.gains.empty());
    CHECK(world.store.gains.back().evaluations == result.progress.evaluated);
    CHECK(world.store.gains.back().gain.high == result.progress.gain->high);
    return result;
  };
  const LoopResult all = run({}, {});
  CHECK(all.stop_reason == "evaluation budget");
  const LoopResult stopped = run(0.01, {});
  CHECK(stopped.stop_reason == "little left to gain");
  CHECK(stopped.progress.gain->high <= 0.01);
  CHECK(stopped.progress.best_ns == all.progress.best_ns);
  // Nothing is faster than the device allows, whatever the model thinks.
  CHECK(run(0.01, 995).progress.evaluated < stopped.progress.evaluated);
}

}  // namespace
}  // namespace ak::agent
