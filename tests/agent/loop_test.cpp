// SPDX-License-Identifier: Apache-2.0
#include "agent/loop.h"
#include "agent/search_context.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "agent/champion.h"
#include "agent/proposals.h"
#include "core/error.h"
#include "tests/agent/virtual_world.h"
#include "tests/support/refused_space.h"

namespace ak::agent {
namespace {

using namespace std::chrono_literals;
using test::failed;
using test::grid_template;
using test::on_surface;
using test::surface_ns;
using test::timed;
using test::World;

/// Different for every point, so that evaluations overtake each other.
std::chrono::milliseconds uneven(const EvaluationRequest& request) {
  const auto& p = request.candidate.tunables;
  return std::chrono::milliseconds(1 + (p.at("X") * 37 + p.at("Y") * 11) % 29);
}

std::vector<TunableValues> points(const World& world) {
  std::vector<TunableValues> result;
  for (const auto& request : world.device.requests) result.push_back(request.candidate.tunables);
  return result;
}

TEST_CASE(
    "what a pool answers at once is committed together, and the search takes the course of one by one") {
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    const auto run = [&](World& world) {
      world.device.capabilities_.useful_in_flight = 8;
      world.options.strategy = entry->name;
      world.options.budgets.max_evaluations = 60;
      world.options.confirm = false;
      static_cast<void>(world.run());
    };
    World alone(on_surface), pool(on_surface);
    pool.device.places.assign(8, {.place = "cuda:0", .own = true, .doing = "waits"});
    run(alone);
    run(pool);
    CHECK(alone.store.most_together == 1);
    CHECK(pool.store.most_together == 8);
    CHECK(points(pool) == points(alone));
    CHECK(pool.store.rows.size() == 60);
  }
}

TEST_CASE("what was committed together is counted when the first of it ends the search") {
  World world(on_surface);
  world.device.places.assign(4, {.place = "cuda:0", .own = true, .doing = "waits"});
  world.options.budgets.target_ns = 1e9;
  world.options.confirm = false;
  const LoopResult result = world.run();
  CHECK(result.stop_reason == "target reached");
  CHECK(world.store.most_together == 4);
  CHECK(result.progress.evaluated == 4);
  CHECK(world.store.told.size() == 4);
}

TEST_CASE("the best point of the space is found, and every point is committed once") {
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    World world(on_surface);
    world.device.duration = uneven;
    world.options.strategy = entry->name;
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
    CHECK(result.stop_reason == "space exhausted");
    CHECK(result.progress.evaluated == 100);
    CHECK(result.progress.verified == 100);
    CHECK(result.progress.space_points == 100);
    CHECK(result.progress.in_flight == 0);
    CHECK(world.device.peak_in_flight == 4);
    std::set<TunableValues> committed;
    for (const auto& row : world.store.rows) CHECK(committed.insert(row.point).second);
    CHECK(committed.size() == 100);
    CHECK(world.store.status == "finished");
    CHECK(world.store.best_variant == result.best_variant);
    const auto row = static_cast<std::size_t>(*result.best_variant - 1001);
    CHECK(world.store.rows[row].point == result.best->request.candidate.tunables);
  }
}

TEST_CASE("the template's own point comes first, is not repeated, and is kept as the start") {
  World world(on_surface);
  world.options.strategy = "random";
  world.options.templates.front().tunables = {{"X", 5}, {"Y", 5}};
  const LoopResult result = world.run();
  REQUIRE(result.start);
  CHECK(result.start->request.candidate.tunables == TunableValues{{"X", 5}, {"Y", 5}});
  CHECK(points(world).front() == TunableValues{{"X", 5}, {"Y", 5}});
  CHECK(world.store.rows.front().arm == "start");
  CHECK(world.device.submitted == 100);
}

TEST_CASE(
    "every evaluation reaches the strategy and the log once, and a portfolio says which member chose the "
    "point") {
  World world(on_surface);
  world.options.strategy = "portfolio";
  (void)world.run();
  CHECK(std::set<RowId>(world.store.told.begin(), world.store.told.end()).size() == 100);
  CHECK(world.store.told.size() == 100);
  CHECK(world.store.rows.front().member.empty());  // the template's own point
  // The leader of the portfolio is alone in so small a space.
  for (std::size_t i = 1; i < world.store.rows.size(); ++i) CHECK(world.store.rows[i].member == "bayesian");
}

TEST_CASE("a start outside the searched space is evaluated on top of it") {
  World world(on_surface);
  world.options.templates.front().tunables = {{"X", 77}, {"Y", 5}};
  const LoopResult result = world.run();
  CHECK(result.progress.evaluated == 101);
  CHECK(result.progress.space_points == 101);
}

TEST_CASE("with one slot the order of proposals depends on the seed alone") {
  const auto order = [](std::uint64_t seed) {
    World world(on_surface);
    world.device.capabilities_.useful_in_flight = 1;
    world.options.strategy = "random";
    world.options.seed = seed;
    (void)world.run();
    return points(world);
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("max_in_flight holds the loop to fewer evaluations than the device could take") {
  const auto in_flight = [](int most) {
    World world(on_surface);
    world.device.capabilities_.useful_in_flight = 4;
    world.device.duration = uneven;
    world.options.max_in_flight = most;
    (void)world.run();
    return world.device.peak_in_flight;
  };
  CHECK(in_flight(1) == 1);
  CHECK(in_flight(3) == 3);
  CHECK(in_flight(9) == 4);
}

TEST_CASE("one input seed for the whole run, drawn from its seed, and it fits a signed integer") {
  const auto input_seed = [](std::uint64_t seed) {
    World world(on_surface);
    world.options.seed = seed;
    (void)world.run();
    std::set<std::uint64_t> seeds;
    for (const auto& request : world.device.requests) seeds.insert(request.seed);
    REQUIRE(seeds.size() == 1);
    return *seeds.begin();
  };
  CHECK(input_seed(1) == input_seed(1));
  CHECK(input_seed(1) != input_seed(2));
  CHECK(input_seed(~0ULL) >> 63 == 0);
}

TEST_CASE("several templates: every start first, then turns; an exhausted template drops out") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  world.options.templates = {test::grid_template("a", 1, 2), test::grid_template("b", 2, 2),
                             test::grid_template("c", 1, 3)};
  const LoopResult result = world.run();
  std::string order;
  for (const auto& request : world.device.requests) order += request.candidate.name;
  CHECK(order == "abcabcbcb");
  CHECK(result.progress.space_points == 9);
  CHECK(result.start->request.candidate.name == "a");
}

void constrain(Candidate& candidate, const std::string& constraint) {
  candidate.plan.constraints.push_back(Expression::parse(constraint).value());
}

TEST_CASE("points that are impossible on the device are never proposed, a template's own point neither") {
  World world(on_surface);
  world.device.capabilities_.device.shared_bytes_per_block = 3;
  world.options.arch = {8, 0, 0};
  world.options.templates = {test::grid_template("other", 2, 2), test::grid_template("some", 2, 5)};
  constrain(world.options.templates[0], "ARCH == 90");
  constrain(world.options.templates[1], "0 < Y and Y <= SHARED_BYTES_PER_BLOCK and Y < M");  // M comes later
  constrain(world.options.templates[1], "0 < Y and Y <= SHARED_BYTES_PER_BLOCK");
  const LoopResult result = world.run();
  CHECK(result.progress.space_points == 6);
  CHECK(result.progress.evaluated == 6);
  CHECK_FALSE(result.start);
  for (const auto& request : world.device.requests) {
    CHECK(request.candidate.name == "some");
    CHECK(request.candidate.tunables.at("Y") > 0);
    CHECK(request.candidate.tunables.at("Y") <= 3);
  }
}

TEST_CASE("where no template is for the target, the run ends before a search and says what each needs") {
  World world(on_surface);
  world.options.arch = {8, 0, 0};
  world.options.templates = {test::grid_template("a.cu", 1, 2), test::grid_template("b.cu", 1, 2)};
  constrain(world.options.templates[0], "ARCH == 90");
  constrain(world.options.templates[1], "ARCH >= 100");
  try {
    static_cast<void>(world.run());
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_kernel);
    CHECK_THAT(error.what(), Catch::Contains("is for sm_80 with these parameters: a.cu needs ARCH == 90; "
                                             "b.cu needs ARCH >= 100"));
  }
  CHECK(world.store.begun == 0);
  CHECK(world.device.submitted == 0);
}

TEST_CASE("of constraints that leave no point, those that contradict each other are named") {
  World world(on_surface);
  constrain(world.options.templates[0], "X > 5");
  constrain(world.options.templates[0], "Y > 5");
  constrain(world.options.templates[0], "X + Y < 10");
  try {
    static_cast<void>(world.run());
    FAIL("it ran");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains("grid needs X > 5 and Y > 5 and X + Y < 10"));
  }
  constrain(world.options.templates[0], "X == 0");
  CHECK_THROWS_WITH(world.run(), Catch::Contains("grid needs X > 5 and X == 0") ||
                                     Catch::Contains("grid needs Y > 5 and X + Y < 10"));
}

TEST_CASE("first points come right after the template's own; those that it does not have are left out") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  world.options.first_points = {{0, {{"X", 7}, {"Y", 3}}, "best"},
                                {0, {{"X", 7}, {"Y", 33}}, "best"},
                                {0, {{"X", 7}}, "best"},
                                {0, {{"X", 0}, {"Y", 0}}, "best"},
                                {0, {{"X", 1}, {"Y", 1}}, "transfer"}};
  const LoopResult result = world.run();
  CHECK(result.progress.evaluated == 100);
  CHECK(world.store.rows[0].arm == "start");
  CHECK(world.store.rows[1].arm == "best");
  CHECK(world.store.rows[1].point == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(world.store.rows[2].arm == "transfer");
  CHECK(world.store.rows[3].arm == "exhaustive");
  CHECK(result.leaders.front().variant == result.best_variant);
  CHECK(result.leaders.size() == Champion::kKeptOfTemplate);
}

TEST_CASE("the starts of a template come next, each once and where its constraints hold") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  constrain(world.options.templates[0], "X != 5");
  world.options.templates[0].plan.starts = {{{"X", 7}, {"Y", 3}}, {{"X", 5}, {"Y", 5}}, {{"X", 2}, {"Y", 2}}};
  world.options.first_points = {{0, {{"X", 1}, {"Y", 1}}, "best"}, {0, {{"X", 7}, {"Y", 3}}, "best"}};
  world.run();
  const auto row = [&](std::size_t i) {
    return std::pair(world.store.rows[i].arm, world.store.rows[i].point);
  };
  CHECK(row(2) == std::pair(std::string("best"), TunableValues{{"X", 7}, {"Y", 3}}));
  CHECK(row(3) == std::pair(std::string("start"), TunableValues{{"X", 2}, {"Y", 2}}));
  CHECK(row(4).first == "exhaustive");
}

TEST_CASE("of many starts a search tries the first twelve that its constraints allow") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  constrain(world.options.templates[0], "X != 5");
  for (std::int64_t x = 9; x >= 0; --x)
    for (std::int64_t y = 1; y < 3; ++y)
      world.options.templates[0].plan.starts.push_back({{"X", x}, {"Y", y}});
  world.run();
  const auto started = std::ranges::count(world.store.rows, "start", [](const auto& row) { return row.arm; });
  CHECK(started == 1 + 12);  // the template's own point, too
}

TEST_CASE(
    "a resumed search tells every strategy what is known and evaluates the rest and the fastest again") {
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    World world(on_surface);
    world.options.strategy = entry->name;
    world.options.search.resumed = true;
    std::set<TunableValues> known;
    for (std::int64_t x = 0; x < 10; ++x) {
      for (std::int64_t y = 0; y < 5; ++y) {
        const TunableValues point{{"X", x}, {"Y", y}};
        known.insert(point);
        const bool fails = x == 4;
        world.store.known.push_back({point, fails ? std::nullopt : std::optional(surface_ns(point))});
      }
    }
    world.store.known.push_back({{{"X", 99}, {"Y", 0}}, 1.0});
    const LoopResult result = world.run();
    CHECK(result.progress.evaluated == 50 + 1 + static_cast<int>(kRemeasured));
    CHECK(result.progress.reused == 50 - 1 - static_cast<int>(kRemeasured));
    CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
    CHECK(world.store.rows[1].arm == "known");
    CHECK(result.stop_reason == "space exhausted");
    std::set<TunableValues> evaluated;
    for (const auto& row : world.store.rows) CHECK(evaluated.insert(row.point).second);
  }
}

TEST_CASE("points that are known to fail are not evaluated, and a search takes the course as if they were") {
  const auto fails = [](const TunableValues& point) { return point.at("X") % 3 == 0; };
  const auto answer = [&](const EvaluationRequest& request) {
    return fails(request.candidate.tunables) ? failed(Status::compile_error) : on_surface(request);
  };
  for (const Strategy* entry : strategies()) {
    CAPTURE(entry->name);
    World all(answer), some(answer);
    for (World* world : {&all, &some}) {
      world->options.strategy = entry->name;
      world->options.max_in_flight = 1;
      world->options.confirm = false;
      world->options.first_points = {
          {.template_index = 0, .point = {{"X", 6}, {"Y", 2}}, .arm = "neighbour"}};
    }
    some.options.failed.resize(1);
    for (std::int64_t x = 0; x < 10; x += 3)
      for (std::int64_t y = 0; y < 10; ++y) some.options.failed[0].insert({{"X", x}, {"Y", y}});
    static_cast<void>(all.run());
    static_cast<void>(some.run());
    std::vector<TunableValues> expected = points(all);
    CHECK(std::erase_if(expected, fails) > 0);
    CHECK(std::set(expected.begin(), expected.end()) == [&] {
      const auto tried = points(some);
      return std::set(tried.begin(), tried.end());
    }());
    // The template's own point and the first one come at other times then, so that those which learn may go other ways.
    if (std::string_view(entry->name) == "random" || std::string_view(entry->name) == "exhaustive")
      CHECK(points(some) == expected);
  }
}

TEST_CASE("a search that goes on is told what is known of it without asking the past") {
  World world(on_surface);
  world.options.known = {{{.tunables = {{"X", 7}, {"Y", 3}}, .score_ns = surface_ns({{"X", 7}, {"Y", 3}})},
                          {.tunables = {{"X", 1}, {"Y", 1}}, .score_ns = {}}}};
  world.options.confirm = false;
  const LoopResult result = world.run();
  REQUIRE(world.store.rows.size() > 1);
  CHECK(world.store.rows[1].arm == "known");
  CHECK(world.store.rows[1].point == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.progress.reused == 1);
  const auto tried = points(world);
  CHECK(std::ranges::count(tried, TunableValues{{"X", 1}, {"Y", 1}}) == 0);
}

TEST_CASE("without a wish to resume nothing is asked of the past") {
  World world(on_surface);
  world.store.known = {{{{"X", 1}, {"Y", 1}}, 5.0}};
  CHECK(world.run().progress.evaluated == 100);
}

TEST_CASE("a template without tunables is one evaluation") {
  World world([](const EvaluationRequest&) { return timed(10); });
  world.options.templates = {test::make_template("fixed", {})};
  CHECK(world.run().progress.evaluated == 1);
}

TEST_CASE("the evaluation budget is met exactly and never put at risk by work in flight") {
  for (const int budget : {0, 1, 3, 17, 100, 500}) {
    CAPTURE(budget);
    World world(on_surface);
    world.device.duration = uneven;
    world.options.budgets.max_evaluations = budget;
    const LoopResult result = world.run();
    CHECK(world.device.submitted == std::min(budget, 100));
    CHECK(result.progress.evaluated == std::min(budget, 100));
    CHECK(world.device.cancelled == 0);
    CHECK(result.stop_reason == (budget <= 100 ? "evaluation budget" : "space exhausted"));
  }
}

TEST_CASE("a search whose round is over pauses, and one whose own budget is used up ends") {
  const auto run = [](std::int64_t round, std::optional<std::int64_t> own, std::optional<double> limit_ns) {
    World world(on_surface);
    world.options.budgets.max_evaluations = round;
    world.options.whole_budgets.emplace().max_evaluations = own;
    world.options.limit_ns = limit_ns;
    world.options.budgets.least_headroom = world.options.whole_budgets->least_headroom = 0.1;
    const LoopResult result = world.run();
    CHECK(world.store.status == (result.paused ? "suspended" : "finished"));
    CHECK(result.suspended == result.paused);
    CHECK_FALSE(result.interrupted);
    CHECK(result.progress.evaluated <= round);
    return result.stop_reason;
  };
  CHECK(run(12, {}, {}) == "paused");
  CHECK(run(12, 30, {}) == "paused");
  CHECK(run(12, 12, {}) == "evaluation budget");
  CHECK(run(12, {}, 1e-3) == "paused");
  CHECK(run(12, {}, 1e12) == "at the limit");
}

TEST_CASE("a search without progress ends when its patience does") {
  World world([](const EvaluationRequest& request) {
    const auto x = request.candidate.tunables.at("X");
    return timed(x < 3 ? 1000 - 100 * static_cast<double>(x) : 900);  // the last gain is at X = 2, Y = 0
  });
  world.options.max_in_flight = 1;
  world.options.budgets.patience = 15;
  const LoopResult result = world.run();
  CHECK(result.stop_reason == "no progress");
  CHECK(result.progress.evaluated == 21 + 15);
  World failing([](const EvaluationRequest&) { return failed(Status::incorrect); });
  failing.options.budgets.patience = 15;
  CHECK(failing.run().stop_reason == "space exhausted");  // nothing has the lead yet
}

TEST_CASE("the compilation budget counts builds that were not cache hits") {
  int compiled = 0;
  World world([&](const EvaluationRequest& request) {
    EvaluationResult result = on_surface(request);
    if (request.candidate.tunables.at("Y") % 2 == 1) {
      result.build->cache_hit = true;
    } else if (request.candidate.tunables.at("Y") == 4) {
      result.build.reset();  // refused before it was built
    } else {
      ++compiled;
    }
    return result;
  });
  world.device.duration = uneven;
  world.options.budgets.max_compilations = 9;
  const LoopResult result = world.run();
  CHECK(compiled == 9);
  CHECK(result.stop_reason == "compilation budget");
  CHECK(result.progress.evaluated > 9);
}

TEST_CASE("the wall budget stops at its time, cancels what runs and keeps what has ended") {
  World world(on_surface);
  world.device.duration = [](const EvaluationRequest&) { return 300ms; };
  world.options.budgets.max_wall = 1000ms;
  const auto start = world.clock.now();
  const LoopResult result = world.run();
  CHECK(world.clock.now() - start == 1000ms);
  CHECK(result.stop_reason == "wall time budget");
  CHECK(result.progress.evaluated == 12);  // 4 slots, 3 rounds of 300 ms
  CHECK(world.device.cancelled == 4);
  CHECK(world.store.rows.size() == 12);
  CHECK(result.progress.elapsed_s == Approx(1.0));
  CHECK_FALSE(result.interrupted);
}

TEST_CASE("what ends in spite of being cancelled is kept and may win") {
  World world(on_surface);
  world.device.finishes_cancelled = true;
  world.device.duration = [](const EvaluationRequest&) { return 300ms; };
  world.options.budgets.max_wall = 400ms;
  const LoopResult result = world.run();
  CHECK(world.store.rows.size() == 8);  // 4 slots: a round that ended, and one that was cancelled
  CHECK(result.best);
}

TEST_CASE("an evaluator that does not let go is waited for 2 s and no longer") {
  World world(on_surface);
  world.device.ignores_cancel = true;
  int begun = 0;
  world.device.duration = [&](const EvaluationRequest&) {
    return ++begun == 1 ? std::chrono::milliseconds(500) : std::chrono::milliseconds(60'000);
  };
  world.options.budgets.max_wall = 1000ms;
  const auto start = world.clock.now();
  CHECK(world.run().progress.evaluated == 1);
  CHECK(world.clock.now() - start == 3000ms);
  CHECK(world.store.status == "finished");
}

TEST_CASE("the run stops at the first champion that meets the target") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  world.options.budgets.target_ns = 1050;
  const LoopResult result = world.run();
  CHECK(result.stop_reason == "target reached");
  CHECK(result.best->result.score_ns <= 1050);
  CHECK(world.store.rows.size() == 64);  // row-major: (6, 3) is the first at 1050 ns
}

TEST_CASE("limits on tokens and money do not stop a search, which spends none") {
  World world(on_surface);
  world.options.budgets.max_tokens = 0;
  world.options.budgets.max_cost_usd = 0.0;
  CHECK(world.run().stop_reason == "space exhausted");
}

TEST_CASE("Ctrl-C ends the search as stopped, with the best so far") {
  std::atomic<bool> stop = false;
  World world(on_surface);
  world.options.stop_requested = &stop;
  world.options.on_progress = [&](const Progress& progress) { stop = progress.evaluated == 10; };
  const LoopResult result = world.run();
  CHECK(result.interrupted);
  CHECK(result.best);
  CHECK(result.progress.evaluated == 10);
  CHECK(world.store.status == "stopped");
  CHECK(world.store.reason == "interrupted");
}

TEST_CASE("what is lost with its worker once a stop is requested is no step of the search") {
  for (const std::size_t devices : {1, 8}) {
    std::atomic<bool> stop = false;
    int answers = 0;
    World world([&](const EvaluationRequest& request) {
      if (++answers <= 10) return on_surface(request);
      stop = true;  // as where all processes of a job are told to end at once
      return failed(Status::infrastructure_error);
    });
    world.device.capabilities_.useful_in_flight = 8;
    world.device.places.assign(devices, {.place = "cuda:0", .own = true, .doing = "waits"});
    world.options.stop_requested = &stop;
    const LoopResult result = world.run();
    CHECK(result.interrupted);
    CHECK(answers > 10);
    CHECK(result.progress.evaluated == 10);
    CHECK(world.store.rows.size() == 10);
    CHECK(std::ranges::count(world.store.rows, Status::infrastructure_error,
                             &test::VectorStore::Row::status) == 0);
  }
}

TEST_CASE("Ctrl-C during a long evaluation is noticed within 100 ms") {
  std::atomic<bool> stop = false;
  World world(on_surface);
  world.device.duration = [&](const EvaluationRequest&) {
    stop = true;  // while the first is submitted
    return 60s;
  };
  world.options.stop_requested = &stop;
  const auto start = world.clock.now();
  CHECK(world.run().interrupted);
  CHECK(world.clock.now() - start <= 100ms);
  CHECK(world.store.rows.empty());
}

TEST_CASE("an evaluation is committed before anyone learns of it") {
  World world(on_surface);
  world.device.duration = uneven;
  world.options.on_progress = [&](const Progress& progress) {
    CHECK(std::ssize(world.store.rows) == progress.evaluated);
    REQUIRE(progress.last);
    CHECK(world.store.rows.back().point == progress.last->request.candidate.tunables);
  };
  int leads = 0;
  world.options.on_new_best = [&](const Completed& best, const PredictedScore*) {
    ++leads;
    CHECK(world.store.rows.back().point == best.request.candidate.tunables);
  };
  (void)world.run();
  CHECK(leads > 1);
}

TEST_CASE("of what was committed a search keeps no machine code") {
  World world([](const EvaluationRequest& request) {
    EvaluationResult result = on_surface(request);
    BuildResult& build = result.build.emplace();
    build.outcome.status = Status::ok;
    build.ptx = "of";
    build.cubin = "a kernel";
    return result;
  });
  const auto check = [](const EvaluationResult& result) {
    REQUIRE(result.build);
    CHECK(result.build->outcome.status == Status::ok);
    CHECK(result.build->ptx.empty());
    CHECK(result.build->cubin.empty());
  };
  world.options.on_new_best = [&](const Completed& best, const PredictedScore*) { check(best.result); };
  world.options.confirm = false;
  const LoopResult result = world.run();
  CHECK(std::ranges::all_of(world.store.rows, &test::VectorStore::Row::has_code));
  REQUIRE(result.best);
  check(result.best->result);
  REQUIRE(result.start);
  check(result.start->result);
}

TEST_CASE("requests carry the champion's score, so that slower ones can stop early") {
  World world(on_surface);
  world.device.capabilities_.useful_in_flight = 1;
  std::vector<std::optional<double>> expected{std::nullopt};
  world.options.on_progress = [&](const Progress& progress) { expected.push_back(progress.best_ns); };
  (void)world.run();
  for (std::size_t i = 0; i < world.device.requests.size(); ++i)
    CHECK(world.device.requests[i].champion_score_ns == expected[i]);
}

TEST_CASE("candidates that fail have no time, and a space of failures ends without a champion") {
  for (const Strategy* entry : strategies()) {
    World world([](const EvaluationRequest&) { return failed(Status::compile_error); });
    world.options.strategy = entry->name;
    const LoopResult result = world.run();
    CHECK_FALSE(result.best);
    CHECK_FALSE(result.progress.first_verified_s);
    CHECK(result.start);
    CHECK(result.progress.failed == 100);
    CHECK(result.stop_reason == "space exhausted");
    CHECK_FALSE(world.store.best_variant);
  }
}

TEST_CASE("a fault of the machine is tried again once, and both attempts are committed") {
  int calls = 0;
  World world([&](const EvaluationRequest& request) {
    return ++calls == 1 ? failed(Status::infrastructure_error) : on_surface(request);
  });
  world.device.capabilities_.useful_in_flight = 1;
  const LoopResult result = world.run();
  REQUIRE(world.store.rows.size() == 101);
  CHECK(world.store.rows[0].point == world.store.rows[1].point);
  CHECK(result.start->result.outcome.status == Status::ok);
  CHECK(result.progress.failed == 1);
}

TEST_CASE("a point that hits two faults of the machine is given up") {
  World world([](const EvaluationRequest& request) {
    return request.candidate.tunables.at("Y") == 5 ? failed(Status::infrastructure_error)
                                                   : on_surface(request);
  });
  world.device.capabilities_.useful_in_flight = 1;
  CHECK(world.run().progress.evaluated == 110);
}

TEST_CASE("five faults of the machine in a row end the run as an error of the environment") {
  World world([](const EvaluationRequest&) { return failed(Status::infrastructure_error); });
  try {
    (void)world.run();
    FAIL("the run continued");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::environment);
    CHECK_THAT(error.what(), Catch::Contains("planned failure"));
  }
  CHECK(world.store.rows.size() == 5);
  CHECK(world.store.status == "failed");
}

TEST_CASE("an exception, wherever it comes from, ends the search as failed and reaches the caller") {
  World world(on_surface);
  std::string expected;
  SECTION("the evaluator") { world.device.throws_at = 12, expected = "the device fell off the bus"; }
  SECTION("the store") { world.store.throws_at_row = 12, expected = "disk full"; }
  SECTION("the caller's own function") {
    world.options.on_new_best = [](const Completed&, const PredictedScore*) {
      fail(ExitCode::output, "cannot write k.cu");
    };
    expected = "cannot write k.cu";
  }
  CHECK_THROWS_WITH(world.run(), expected);
  CHECK(world.store.ended == 1);
  CHECK(world.store.status == "failed");
  CHECK(world.store.reason == expected);
}

TEST_CASE("when the store fails as well, the first error is the one that is reported") {
  World world(on_surface);
  world.device.throws_at = 3;
  world.store.throws_at_end = true;
  CHECK_THROWS_WITH(world.run(), "the device fell off the bus");
}

/// Predicts the reverse of the costs: the surface's slowest point is the fastest.
struct ReversedPredictor final : TargetPredictor {
  std::optional<PredictedScore> predict(const Completed& completed) const override {
    const Nanoseconds time(1e9 / surface_ns(completed.request.candidate.tunables));
    return PredictedScore{.model = "reversed@1 plan", .score = time, .low = time, .high = time, .times = {}};
  }
  bool ranks_with(std::string_view model) const override { return model.starts_with("reversed@1 "); }
};

TEST_CASE(
    "where times on the target are predicted they rank, strategies learn from them, and costs stay costs") {
  const auto slowest = [] {
    TunableValues found{{"X", 0}, {"Y", 0}};
    for (std::int64_t x = 0; x < 10; ++x)
      for (std::int64_t y = 0; y < 10; ++y)
        if (const TunableValues point{{"X", x}, {"Y", y}}; surface_ns(point) > surface_ns(found))
          found = point;
    return found;
  }();
  const ReversedPredictor predictor;
  World world(on_surface);
  world.options.target_predictor = &predictor;
  world.options.strategy = "local-search";
  world.options.budgets.max_evaluations = 60;
  std::optional<double> best_predicted_ns;
  world.options.on_progress = [&](const Progress& p) { best_predicted_ns = p.best_predicted_ns; };
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == slowest);
  CHECK(result.best->result.score_ns == surface_ns(slowest));
  REQUIRE(result.predicted);
  CHECK(result.predicted->score.value() == Approx(1e9 / surface_ns(slowest)));
  CHECK(best_predicted_ns == result.predicted->score.value());
  CHECK(result.leaders.front().predicted->score.value() == result.predicted->score.value());
  CHECK(result.leaders[1].predicted->score.value() >= result.predicted->score.value());
}

TEST_CASE("a resumed search that ranks by predicted times learns from those alone") {
  const ReversedPredictor predictor;
  World world(on_surface);
  world.options.target_predictor = &predictor;
  world.options.search.resumed = true;
  world.store.known = {{{{"X", 1}, {"Y", 1}}, 5.0, 900.0, "reversed@1 build"}, {{{"X", 2}, {"Y", 2}}, 5.0}};
  const LoopResult result = world.run();
  CHECK(result.progress.reused == 0);  // the one that is known is measured again
  CHECK(world.store.rows[1].arm == "known");
  CHECK(world.store.rows[1].point == TunableValues{{"X", 1}, {"Y", 1}});
  CHECK(result.progress.evaluated == 100);
}

TEST_CASE("after the model was fitted again, times that the old one predicted rank nothing") {
  const ReversedPredictor predictor;
  World world(on_surface);
  world.options.target_predictor = &predictor;
  world.options.search.resumed = true;
  world.store.known = {{{{"X", 1}, {"Y", 1}}, 5.0, 900.0, "reversed@1 build"},
                       {{{"X", 2}, {"Y", 2}}, 5.0, 1.0, "reversed@0 build"}};
  const LoopResult result = world.run();
  CHECK(std::ranges::count(world.store.rows, "known", &test::VectorStore::Row::arm) == 1);
  CHECK(world.store.rows[1].point == TunableValues{{"X", 1}, {"Y", 1}});
  CHECK(result.progress.evaluated == 100);
}

TEST_CASE("an unknown strategy is refused before a search begins") {
  World world(on_surface);
  world.options.strategy = "clairvoyance";
  CHECK_THROWS_AS(world.run(), Error);
  CHECK(world.store.begun == 0);
}

TEST_CASE("where nothing can be executed, builds are ranked, and the winner does not depend on their order") {
  const auto by_registers = [](const EvaluationRequest& request) {
    const auto& p = request.candidate.tunables;
    return test::built(static_cast<int>(32 + (p.at("X") + p.at("Y")) % 4), 0, 0.5);
  };
  std::optional<TunableValues> winner;
  for (const int slots : {1, 4, 13}) {
    World world(by_registers);
    world.device.duration = uneven;
    world.device.capabilities_.useful_in_flight = slots;
    world.device.capabilities_.executes = false;
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.progress.verified == 100);
    CHECK_FALSE(result.progress.first_verified_s);
    CHECK(world.device.requests.front().depth == Depth::build);
    if (!winner) winner = result.best->request.candidate.tunables;
    CHECK(winner == result.best->request.candidate.tunables);
  }
}

TEST_CASE("what an earlier run left in the evaluator is ignored") {
  World world(on_surface);
  EvaluationRequest old;
  old.candidate = world.options.templates.front();
  (void)world.device.submit(std::move(old));
  world.device.requests.clear();
  (void)world.run();
  CHECK(world.store.rows.size() == 100);
}

// Counts the requests that are alive by the owners of the problem they share.
TEST_CASE("100,000 evaluations leave no more than the best of the template and the start behind") {
  World world([](const EvaluationRequest& request) {
    return timed(1e9 - static_cast<double>(request.candidate.tunables.at("X")));
  });
  world.device.keep_requests = false;
  world.options.templates = {test::grid_template("large", 1000, 100)};
  world.options.strategy = "random";
  long most = 0;
  world.options.on_progress = [&](const Progress&) {
    most = std::max(most, world.options.problem.use_count());
  };
  const LoopResult result = world.run();
  CHECK(result.progress.evaluated == 100'000);
  // The options, 3 in flight, the one just ended, champion, start, and what may follow the champion.
  CHECK(most <= 7 + Champion::kKeptOfTemplate);
}

TEST_CASE("a large space is searched in full, from its first point to its last") {
  World world(on_surface);
  world.options.templates = {test::grid_template("huge", 2000, 200)};
  world.options.strategy = "random";
  world.options.budgets.max_evaluations = 60;
  CHECK(world.run().progress.space_points == 400'000);
  const auto late = std::ranges::count_if(world.device.requests, [](const EvaluationRequest& request) {
    return request.candidate.tunables.at("X") >= 1000;
  });
  CHECK(late > 15);  // of 59 uniform ones
}

TEST_CASE("a template whose space is refused is evaluated at its own point, and the others are searched") {
  for (const bool own_point : {true, false}) {
    World world(on_surface);
    world.options.templates = {test::grid_template("refused", 3, 3), test::grid_template("small", 2, 2)};
    ak::test::add_refused_tunables(world.options.templates[0]);
    if (!own_point) constrain(world.options.templates[0], "R0 == 1");
    const LoopResult result = world.run();
    CHECK(result.progress.evaluated == (own_point ? 5 : 4));
    CHECK(result.progress.space_points == result.progress.evaluated);
    CHECK(world.device.requests[0].candidate.name == (own_point ? "refused" : "small"));
  }
}

TEST_CASE("a refused space is the reason where no template has a point to evaluate") {
  World world(on_surface);
  world.options.templates = {test::grid_template("refused", 3, 3), test::grid_template("empty", 2, 2)};
  ak::test::add_refused_tunables(world.options.templates[0]);
  constrain(world.options.templates[0], "R0 == 1");
  constrain(world.options.templates[1], "X > 4");
  CHECK_THROWS_WITH(world.run(),
                    Catch::Contains("refused: the constraints distinguish too many beginnings") &&
                        Catch::Contains("; empty needs X > 4"));
}

TEST_CASE("points that come last are found, however many impossible ones there are before") {
  World world(on_surface);
  world.options.templates = {test::grid_template("late", 3000, 300)};
  constrain(world.options.templates[0], "X * Y == 2999 * 299");
  const LoopResult result = world.run();
  CHECK(result.progress.space_points == 1);
  CHECK(result.progress.evaluated == 1);
  CHECK(world.device.requests.front().candidate.tunables == TunableValues{{"X", 2999}, {"Y", 299}});
}

/// The surface as a GPU would show it: one slow point looks fast in the search, and pairs show the truth.
EvaluationResult on_noisy_surface(const EvaluationRequest& request) {
  const double truth_ns = surface_ns(request.candidate.tunables);
  if (request.rival) return test::timed_in_pairs(truth_ns, surface_ns(request.rival->tunables));
  const bool lucky =
      !request.fresh_process && request.candidate.tunables == TunableValues{{"X", 0}, {"Y", 9}};
  return timed(lucky ? 900 : truth_ns);
}

struct GpuWorld : World {
  explicit GpuWorld(std::function<EvaluationResult(const EvaluationRequest&)> answer)
      : World(std::move(answer)) {
    device.capabilities_.device.kind = DeviceKind::cuda;
  }
  [[nodiscard]] std::ptrdiff_t rows(std::string_view arm) const {
    return std::ranges::count(store.rows, arm, &test::VectorStore::Row::arm);
  }
};

TEST_CASE("on a GPU a lucky time wins nothing: challengers are timed in pairs with the champion") {
  GpuWorld world(on_noisy_surface);
  int announced = 0;
  world.options.on_new_best = [&](const Completed&, const PredictedScore*) { ++announced; };
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.progress.evaluated == 100);  // comparisons are none of them
  CHECK(world.rows("comparison") > 2);
  CHECK(announced > 1);
}

TEST_CASE("a challenge at the very end is settled before the search ends") {
  GpuWorld world(on_noisy_surface);
  world.options.templates = {grid_template("line", 2, 1)};  // the last point is the better one
  const LoopResult result = world.run();
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 1}, {"Y", 0}});
  CHECK(world.rows("comparison") == 1);
}

TEST_CASE("Ctrl-C does not wait for a comparison, and the champion of before stays") {
  std::atomic<bool> stop = false;
  GpuWorld world(on_noisy_surface);
  world.options.templates = {grid_template("line", 2, 1)};
  world.options.stop_requested = &stop;
  world.device.duration = [&](const EvaluationRequest& request) {
    if (request.rival) stop = true;
    return request.rival ? std::chrono::hours(1) : std::chrono::milliseconds(10);
  };
  const LoopResult result = world.run();
  CHECK(result.interrupted);
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 0}, {"Y", 0}});
  CHECK(world.rows("comparison") == 0);
  CHECK(world.store.status == "stopped");
}

TEST_CASE("a comparison that fails leaves the champion where it is") {
  GpuWorld world([](const EvaluationRequest& request) {
    return request.rival ? failed(Status::hang) : on_noisy_surface(request);
  });
  const LoopResult result = world.run();
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 0}, {"Y", 0}});
}

TEST_CASE(
    "a champion that turns out wrong in a comparison is disqualified, and its challenger is not blamed") {
  GpuWorld world([](const EvaluationRequest& request) {
    const TunableValues first{{"X", 0}, {"Y", 0}};
    if (!request.rival || request.rival->tunables != first) return on_noisy_surface(request);
    EvaluationResult wrong = failed(Status::incorrect);
    wrong.rival_failed = true;
    return wrong;
  });
  const LoopResult result = world.run();
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  const auto blamed = std::ranges::find(world.store.rows, Status::incorrect, &test::VectorStore::Row::status);
  REQUIRE(blamed != world.store.rows.end());
  CHECK(blamed->point == TunableValues{{"X", 0}, {"Y", 0}});
  CHECK(std::ranges::count(world.store.rows, Status::incorrect, &test::VectorStore::Row::status) == 1);
}

TEST_CASE("a challenger that turns out wrong never leads, also not when the champion is disqualified later") {
  GpuWorld world([](const EvaluationRequest& request) {
    const bool lucky = request.candidate.tunables == TunableValues{{"X", 0}, {"Y", 9}};
    const bool best = request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}};
    if (request.rival && lucky) return failed(Status::incorrect);
    if (request.fresh_process && best) return failed(Status::nondeterministic);
    return on_noisy_surface(request);
  });
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables != TunableValues{{"X", 0}, {"Y", 9}});
  CHECK(*result.best->result.score_ns == 1'050);
}

TEST_CASE("the champion is measured again in a fresh process, and that is what is reported") {
  GpuWorld world([](const EvaluationRequest& request) {
    return request.fresh_process ? timed(1'020) : on_noisy_surface(request);
  });
  const LoopResult result = world.run();
  CHECK(result.best->result.score_ns == 1'020);
  REQUIRE(result.final_measurement.search_ns);
  CHECK(*result.final_measurement.search_ns == Approx(1'000).epsilon(0.01));
  CHECK(result.final_measurement.note.empty());
  CHECK(world.rows("final") == 1);
  CHECK(world.store.rows.back().arm == "final");
  CHECK(world.device.requests.back().fresh_process);
}

TEST_CASE(
    "what cannot be distinguished from the champion in pairs is called tied with it, and what is slower is "
    "not") {
  GpuWorld world([](const EvaluationRequest& request) {
    const auto true_ns = [](const TunableValues& point) {
      if (point == TunableValues{{"X", 1}, {"Y", 1}}) return 1'002.0;
      if (point == TunableValues{{"X", 2}, {"Y", 2}}) return 1'018.0;
      if (point == TunableValues{{"X", 3}, {"Y", 3}}) return 1'000.0;
      return surface_ns(point);
    };
    const double ns = true_ns(request.candidate.tunables);
    if (request.rival) return test::timed_in_pairs(ns, true_ns(request.rival->tunables));
    EvaluationResult result = timed(ns);
    const bool same = request.candidate.tunables == TunableValues{{"X", 3}, {"Y", 3}};
    if (same) result.outcome.status = Status::duplicate;
    return result;
  });
  const LoopResult result = world.run();
  REQUIRE(result.ties.size() == 1);
  // (1, 1) came first, and (7, 3) is not 0.5 % faster.
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 1}, {"Y", 1}});
  CHECK(result.ties[0].with.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.ties[0].ratio.ratio == Approx(0.998).epsilon(0.004));
  CHECK(result.progress.duplicates == 1);
  CHECK(world.store.rows.back().arm == "final");
}

TEST_CASE("where costs are exact, within 0.5 % is a tie, and nothing is evaluated for it") {
  World world([](const EvaluationRequest& request) {
    const auto& point = request.candidate.tunables;
    return timed(point == TunableValues{{"X", 1}, {"Y", 1}} ? 1'004.0 : surface_ns(point));
  });
  const LoopResult result = world.run();
  REQUIRE(result.ties.size() == 1);
  CHECK(result.ties[0].ratio.ratio == Approx(1'000 / 1'004.0));  // the one that came first leads
  CHECK(world.device.submitted == 100);
}

TEST_CASE("a champion that fails in a fresh process is followed by the next best") {
  GpuWorld world([](const EvaluationRequest& request) {
    const bool best = request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}};
    return request.fresh_process && best ? failed(Status::nondeterministic) : on_noisy_surface(request);
  });
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.held_out.disqualified == 1);
  // The lucky one was kept by its score of the search; it is measured again and shows what it is.
  CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 0}, {"Y", 9}});
  CHECK(*result.best->result.score_ns == surface_ns({{"X", 0}, {"Y", 9}}));
}

/// A problem with a shape that the CPU device can do.
std::shared_ptr<const ProblemInstance> small_problem() {
  return test::make_problem({{.name = "small",
                              .uid = {},
                              .axes = {},
                              .roles = {WorkloadRole::check},
                              .tier = WorkloadTier::emulator}});
}

struct ExaminedWorld : GpuWorld {
  explicit ExaminedWorld(std::function<EvaluationResult(const EvaluationRequest&)> finding)
      : GpuWorld(on_noisy_surface) {
    options.problem = small_problem();
    options.examiners = {{.name = "CPU device", .make = [this, finding] {
                            auto examiner = std::make_unique<test::VirtualDevice>(clock, finding);
                            examiner->capabilities_.device.kind = DeviceKind::emulator;
                            ++examiners;
                            return examiner;
                          }}};
  }
  int examiners = 0;
};

TEST_CASE("the leader of a GPU is examined on the CPU device, and disqualified for what is found there") {
  ExaminedWorld world([](const EvaluationRequest& request) {
    const bool best = request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}};
    return best ? failed(Status::race) : timed(1);
  });
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.best->request.candidate.tunables != TunableValues{{"X", 7}, {"Y", 3}});
  CHECK(result.held_out.disqualified == 1);
  REQUIRE(result.examinations.size() == 1);
  CHECK(result.examinations.front().passed);
  CHECK(world.rows("examination") == 2);
  CHECK(world.rows("final") == 1);  // the first leader did not get that far
  CHECK(world.examiners == 1);
}

TEST_CASE("what the CPU device cannot run disqualifies no one, and is said") {
  for (const Status status : {Status::unsupported, Status::timeout, Status::infrastructure_error}) {
    ExaminedWorld world([=](const EvaluationRequest&) { return failed(status); });
    const LoopResult result = world.run();
    CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
    REQUIRE(result.examinations.size() == 1);
    CHECK_FALSE(result.examinations.front().passed);
    CHECK(result.examinations.front().note.find("planned failure") != std::string::npos);
  }
}

TEST_CASE("the smallest device with room for a leader that asks for multiprocessors examines it") {
  for (const bool has_room : {true, false}) {
    for (const bool asks : {true, false}) {
      ExaminedWorld world([](const EvaluationRequest&) { return timed(1); });
      int seen = 0;
      for (const char* name : {"one", "two"})
        world.options.examiners.push_back(
            {.name = name,
             .make =
                 [&] {
                   return std::make_unique<test::VirtualDevice>(world.clock, [&](const EvaluationRequest& r) {
                     CHECK(r.candidate.asks_for_multiprocessors());
                     if (++seen > 1 || has_room) return timed(1);
                     EvaluationResult none = failed(Status::invalid_candidate);
                     none.outcome.stage = StageId::resources;
                     return none;
                   });
                 },
             .is_smaller = true});
      if (asks) world.options.templates.front().source += "// SM_COUNT\n";
      const LoopResult result = world.run();
      REQUIRE(result.best);
      CHECK(seen == (!asks ? 0 : has_room ? 1 : 2));
      CHECK(result.held_out.disqualified == 0);
      CHECK(result.examinations.size() == 1u + static_cast<std::size_t>(seen));
    }
  }
}

TEST_CASE("what a smaller device has no room for is no fault of the leader, and what is wrong there is") {
  Outcome none{.status = Status::invalid_candidate,
               .stage = StageId::resources,
               .message = "launches[0].grid[0] is 0",
               .diagnostics = {}};
  CHECK_FALSE(is_verdict_of_examiner(none, true));
  CHECK(is_verdict_of_examiner(none, false));
  none.stage = StageId::pre_check;
  CHECK_FALSE(is_verdict_of_examiner(none, true));
  none.status = Status::launch_error;
  none.stage = StageId::check;
  CHECK(is_verdict_of_examiner(none, true));
  none.message = "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: ...";
  CHECK_FALSE(is_verdict_of_examiner(none, true));
  CHECK(is_verdict_of_examiner(none, false));
}

TEST_CASE("every examiner sees the leader, on the small shapes alone, and one finding is enough") {
  ExaminedWorld world([](const EvaluationRequest&) { return timed(1); });
  std::vector<EvaluationRequest> seen;
  world.options.examiners.push_back(
      {.name = "another", .make = [&] {
         return std::make_unique<test::VirtualDevice>(world.clock, [&](const EvaluationRequest& request) {
           seen.push_back(request);
           return seen.size() == 1 ? failed(Status::memory_error) : timed(1);
         });
       }});
  const LoopResult result = world.run();
  REQUIRE(result.best);
  CHECK(result.held_out.disqualified == 1);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].workloads == std::vector<std::string>{"small"});
  CHECK(seen[0].candidate.tunables != seen[1].candidate.tunables);
  REQUIRE(result.examinations.size() == 2);
  CHECK((result.examinations[0].passed && result.examinations[1].passed));
  CHECK(result.examinations[1].examiner == "another");
}

TEST_CASE("the leader of a GPU is profiled when all else is done, and what fails there costs it nothing") {
  for (const bool works : {true, false}) {
    GpuWorld world([=](const EvaluationRequest& request) {
      if (!request.profile) return on_noisy_surface(request);
      EvaluationResult result = works ? timed(1) : failed(Status::hang);
      result.score_ns.reset();
      if (works) result.profiles.emplace_back().workload = request.profile->metrics.front();
      return result;
    });
    world.options.profile = ProfileOptions{.metrics = {"wanted"}, .sample_lines = true};
    const LoopResult result = world.run();
    REQUIRE(result.best);
    CHECK(result.best->request.candidate.tunables == TunableValues{{"X", 7}, {"Y", 3}});
    CHECK(result.held_out.disqualified == 0);
    CHECK(world.rows("profile") == 1);
    CHECK(world.device.requests.back().profile);
    REQUIRE(result.profile.profiles.size() == (works ? 1 : 0));
    if (works) CHECK(result.profile.profiles.front().workload == "wanted");
    CHECK(result.profile.note.empty() == works);
  }
}

TEST_CASE("without a GPU nothing is timed in pairs or measured again") {
  World world(on_surface);
  const LoopResult result = world.run();
  for (const EvaluationRequest& request : world.device.requests)
    CHECK_FALSE((request.rival || request.fresh_process));
  CHECK(result.final_measurement.note == "no time was measured");
}

}  // namespace
}  // namespace ak::agent
