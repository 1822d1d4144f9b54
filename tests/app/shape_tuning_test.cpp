// SPDX-License-Identifier: Apache-2.0
// How the budgets of a set are shared by its shapes, what its searches have spent together, and which shapes are drawn.
#include "app/sets/shape_tuning.h"

#include <catch2/catch.hpp>
#include <limits>

#include "app/sets/choice_times.h"
#include "app/sets/drawn_shapes.h"
#include "app/sets/set_time.h"

namespace ak::app {

using std::chrono::milliseconds;

TEST_CASE("shapes share evaluations to the last one, and each has one at least") {
  agent::Budgets all;
  all.max_evaluations = 11;
  all.max_compilations = 2;
  agent::Progress spent;
  for (std::size_t left = 4; left > 0; --left) {
    const agent::Budgets share = share_of(all, left, spent, {});
    spent.evaluated += static_cast<int>(share.max_evaluations.value());
    spent.compilations += static_cast<int>(share.max_compilations.value());
    CHECK(share.max_compilations == 1);
    CHECK_FALSE(share.max_wall);
  }
  CHECK(spent.evaluated == 11);
}

TEST_CASE("what a shape leaves of its share goes to those that follow") {
  agent::Budgets all;
  all.max_evaluations = 40;
  all.max_tokens = 400;
  all.max_cost_usd = 4;
  agent::Progress spent;
  spent.evaluated = 4, spent.tokens = 40, spent.cost_usd = 1;
  const agent::Budgets share = share_of(all, 3, spent, {});
  CHECK(share.max_evaluations == 12);
  CHECK(share.max_tokens == 120);
  CHECK(share.max_cost_usd == 1.0);
}

TEST_CASE("another search begins only while a twentieth of every budget is left") {
  agent::Budgets all;
  agent::Progress spent;
  CHECK_FALSE(worth_a_search(all, spent, {}));  // without a limit every search has ended by itself
  all.max_evaluations = 100;
  spent.evaluated = 95;
  CHECK(worth_a_search(all, spent, milliseconds(500)));
  spent.evaluated = 96;
  CHECK_FALSE(worth_a_search(all, spent, {}));
  spent.evaluated = 10;
  all.max_wall = milliseconds(1'000);
  CHECK(worth_a_search(all, spent, milliseconds(900)));
  CHECK_FALSE(worth_a_search(all, spent, milliseconds(960)));
}

TEST_CASE("a shape gets an equal part of the time that those before it have left") {
  agent::Budgets all;
  all.max_wall = milliseconds(4'000);
  CHECK(share_of(all, 4, {}, {}).max_wall == milliseconds(1'000));
  CHECK(share_of(all, 3, {}, milliseconds(400)).max_wall == milliseconds(1'200));
  CHECK(share_of(all, 1, {}, milliseconds(5'000)).max_wall == milliseconds(1));
}

TEST_CASE(
    "the searches of a set have a quarter of the time that is left, also where it goes on after a kill") {
  agent::Budgets all;
  CHECK_FALSE(for_searches(all, milliseconds(10)).max_wall);
  all.max_wall = milliseconds(60'000);
  CHECK(for_searches(all, {}).max_wall == milliseconds(15'000));
  const agent::Budgets again = for_searches(all, milliseconds(40'000));
  CHECK(again.max_wall == milliseconds(45'000));
  CHECK(share_of(again, 2, {}, milliseconds(40'000)).max_wall == milliseconds(2'500));
}

TEST_CASE(
    "a set's steps end at their parts of its time, and no more members are taken than can be checked in it") {
  const SetTime any(std::nullopt, milliseconds(0));
  CHECK(any.is_before(0.01));
  CHECK_FALSE(any.left());
  CHECK(any.most_members(32) == 32);
  const SetTime resumed(milliseconds(600'000), milliseconds(360'000));  // of the 240 s that are left
  CHECK(resumed.is_before(SetTime::kStartsEnd));
  CHECK(*resumed.left() <= milliseconds(240'000));
  CHECK(*resumed.left() > milliseconds(120'000));
  CHECK(resumed.most_members(100) <= 80);
  CHECK(resumed.most_members(100) >= 40);
  CHECK(resumed.most_members(8) == 8);
  const SetTime late(milliseconds(1'000'000), milliseconds(940'000));
  CHECK(late.most_members(32) <= 20);
  CHECK(late.most_members(32) >= 4);
  const SetTime over(milliseconds(1'000), milliseconds(5'000));
  CHECK(over.left() == milliseconds(0));
  CHECK_FALSE(over.is_before(1));
  CHECK(over.most_members(32) == 4);
  CHECK(over.most_members(3) == 3);
}

TEST_CASE("shapes are drawn as many as there is time for, and none where there is next to none") {
  const auto on = [](DeviceKind kind, std::size_t timed, std::optional<std::size_t> most) {
    return drawn_count(kind, timed, {.seed = 1, .most = most});
  };
  CHECK(on(DeviceKind::cuda, 4, {}) == 20);
  CHECK(on(DeviceKind::cuda, 60, {}) == 4);
  CHECK(on(DeviceKind::cuda, 4, 9) ==
        13);  // five with the points near the fastest take as long as one with all
  CHECK(on(DeviceKind::cuda, 4, 15) == 20);
  CHECK(on(DeviceKind::cuda, 4, 8) == 8);
  CHECK(on(DeviceKind::cuda, 4, 7) == 0);
  CHECK(on(DeviceKind::cuda, 1, 5) == 5);
  CHECK(on(DeviceKind::cuda, 1, 4) == 0);
  CHECK(on(DeviceKind::emulator, 4, 4) == 4);
  CHECK(on(DeviceKind::emulator, 4, 3) == 0);
}

TEST_CASE("on drawn shapes that not every point is timed on, those are whose estimates come near the least") {
  const double none = std::numeric_limits<double>::infinity();
  DrawnTimes drawn;
  drawn.shapes.resize(5);
  drawn.timed = 1;
  drawn.faults = {"", "", "", "wrong"};
  // The second has a time on shape 2 already, the third does not take shape 3 and no answer to shape 0.
  drawn.times_ns = {
      {9, none, none, none, none}, {9, none, 8, none, none}, {none, none, none, none, none}, {}};
  drawn.times_ns[3] = std::vector(5, none);
  // An estimate of 0 says nothing: whoever has one may be fast.
  const auto near = near_shapes(
      {{10, 10, 13, 10, 20}, {10, 12.9, 10, 13.1, 26.1}, {10, 14, 12, none, 0}, {1, 10, 10, 10, 20}}, drawn);
  CHECK(near == std::vector<std::vector<std::size_t>>{{1, 2, 3, 4}, {1}, {2, 4}, {}});
}

TEST_CASE("a choice is measured with the member that it names, and with those that may be the fastest") {
  const double none = std::numeric_limits<double>::infinity();
  ChoiceQuestion question{.shapes = std::vector<Workload>(3),
                          .chosen = {0, 2, 1},
                          .estimated_ns = {{10, 10, none}, {12.9, 14, 20}, {none, none, none}}};
  // The last is in rows alone, and is chosen on the second shape.
  CHECK(asked_of(question) == std::vector<std::vector<std::size_t>>{{0, 1}, {0, 2}, {1}});
  question.estimated_ns[1] = std::vector(3, kMayBeFastest);
  CHECK(asked_of(question)[1] == std::vector<std::size_t>{0, 1, 2});
  CHECK(asked_of({.shapes = {}, .chosen = {}, .estimated_ns = {{}}}) ==
        std::vector<std::vector<std::size_t>>{{}});
}

TEST_CASE("money is divided, and a target of all shapes is no target of one") {
  agent::Budgets all;
  all.max_cost_usd = 2;
  all.target_ns = 1'000;
  const agent::Budgets share = share_of(all, 4, {}, {});
  CHECK(share.max_cost_usd == 0.5);
  CHECK_FALSE(share.target_ns);
}

TEST_CASE("what searches spent adds up, and a price that one of them lacks is lacking") {
  agent::Progress before, now;
  before.evaluated = 5, before.tokens = 100, before.cost_usd = 0.25, before.price_known = false;
  now.evaluated = 1, now.tokens = 20, now.cost_usd = 0.5, now.best_ns = 7;
  const agent::Progress all = together(before, now);
  CHECK(all.evaluated == 6);
  CHECK(all.tokens == 120);
  CHECK(all.cost_usd == 0.75);
  CHECK_FALSE(all.price_known);
  CHECK(all.best_ns == 7);
}

}  // namespace ak::app
