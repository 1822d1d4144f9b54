// SPDX-License-Identifier: Apache-2.0
// Sets that are learned from tables of times, without a kernel: planted times are found, and every property holds for
// tables at random.
#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "core/plan/definition.h"
#include "core/sets/set_choice.h"
#include "core/sets/time_estimate.h"

namespace ak {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<AxisValues> random_shapes(std::mt19937& random, std::size_t count) {
  std::vector<AxisValues> shapes;
  std::uniform_real_distribution<double> octave(0, 14);
  while (shapes.size() < count) {
    AxisValues shape;
    for (const char* axis : {"M", "N", "K"})
      shape[axis] = static_cast<std::int64_t>(std::exp2(octave(random)));
    if (std::ranges::find(shapes, shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

std::vector<SetCandidate> candidates_of(const std::vector<std::vector<double>>& times) {
  std::vector<SetCandidate> candidates;
  for (const auto& one : times) candidates.push_back({.times_ns = one, .estimated_ns = one});
  return candidates;
}

SetChoice chosen(const std::vector<SetCandidate>& candidates, const std::vector<AxisValues>& shapes,
                 const SetLimits& limits = {}) {
  return choose_set(candidates, {.weights = std::vector<double>(shapes.size(), 1), .asked = shapes.size()},
                    limits);
}

}  // namespace

TEST_CASE("a fit finds the factors that times were made of, and no term that has no part in them") {
  std::mt19937 random(7);
  std::vector<std::vector<std::int64_t>> amounts;
  std::vector<double> times_ns;
  for (int shape = 0; shape < 30; ++shape) {
    const auto waves = static_cast<std::int64_t>(1 + random() % 20),
               steps = static_cast<std::int64_t>(1 + random() % 100);
    amounts.push_back({1, waves, waves * steps, static_cast<std::int64_t>(random() % 1000)});
    times_ns.push_back(4000 + 550.25 * static_cast<double>(waves) +
                       132.5 * static_cast<double>(waves * steps));
  }
  const std::vector<std::int64_t> ps = fit_times(amounts, times_ns);
  REQUIRE(ps.size() == 4);
  CHECK(static_cast<double>(ps[0]) == Approx(4'000'000).epsilon(1e-4));
  CHECK(static_cast<double>(ps[1]) == Approx(550'250).epsilon(1e-4));
  CHECK(static_cast<double>(ps[2]) == Approx(132'500).epsilon(1e-4));
  CHECK(ps[3] <= 1);
}

TEST_CASE(
    "no factor of a fit is negative, whatever the times, and none is taken of amounts that are all zero") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<std::int64_t>> amounts(1 + random() % 12);
    std::vector<double> times_ns;
    for (auto& row : amounts) {
      for (int term = 0; term < 6; ++term) row.push_back(static_cast<std::int64_t>(random() % 50));
      row.push_back(0);
      times_ns.push_back(100.0 + static_cast<double>(random() % 10'000));
    }
    const std::vector<std::int64_t> ps = fit_times(amounts, times_ns);
    REQUIRE(ps.size() == 7);
    REQUIRE(std::ranges::all_of(ps, [](std::int64_t one) { return one >= 0; }));
    REQUIRE(ps.back() == 0);
  }
}

TEST_CASE(
    "of a fit an error counts by the time that it is an error of: a long time does not drown short ones") {
  const std::vector<std::vector<std::int64_t>> amounts{{1}, {1}, {1}};
  const std::vector<std::int64_t> ps = fit_times(amounts, {100, 100, 100'000});
  CHECK(ps.front() < 200'000);
}

TEST_CASE("points with the same terms are fitted to few shapes together: what one lacks, the others say") {
  std::mt19937 random(5);
  constexpr std::size_t kPoints = 12, kShapes = 5;
  const auto noisy = [&](double ns) { return ns * (0.9 + 0.2 * static_cast<double>(random() % 100) / 100); };
  std::vector<TimedAmounts> points(kPoints);
  const auto drawn = [&] {
    return std::vector<std::int64_t>{1, static_cast<std::int64_t>(1 + random() % 20),
                                     static_cast<std::int64_t>(1 + random() % 400),
                                     static_cast<std::int64_t>(random() % 1000)};
  };
  const auto time_of = [](const std::vector<std::int64_t>& row) {
    return 4000.0 + 550.0 * static_cast<double>(row[1]) + 130.0 * static_cast<double>(row[2]) +
           8.0 * static_cast<double>(row[3]);
  };
  for (TimedAmounts& point : points)
    for (std::size_t shape = 0; shape < kShapes; ++shape) {
      point.amounts.push_back(drawn());
      point.times_ns.push_back(noisy(time_of(point.amounts.back())));
    }
  const std::vector<std::vector<std::int64_t>> together = fit_alike(points);
  REQUIRE(together.size() == kPoints);
  double alone_error = 0, error = 0;
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::vector<std::int64_t> alone = fit_times(points[i].amounts, points[i].times_ns);
    for (int trial = 0; trial < 50; ++trial) {
      const std::vector<std::int64_t> row = drawn();
      alone_error += std::abs(std::log(estimated_ns(alone, row) / time_of(row)));
      error += std::abs(std::log(estimated_ns(together[i], row) / time_of(row)));
    }
  }
  CHECK(error < 0.7 * alone_error);
}

TEST_CASE("a point without a shape on which a term has an amount takes the factor of points that have one") {
  const TimedAmounts knows{.amounts = {{1, 0}, {1, 10}, {1, 20}}, .times_ns = {1000, 2000, 3000}},
      does_not{.amounts = {{1, 0}, {1, 0}}, .times_ns = {1000, 1000}};
  const std::vector<std::vector<std::int64_t>> ps = fit_alike({knows, does_not});
  CHECK(static_cast<double>(ps[1][0]) == Approx(1'000'000).epsilon(1e-3));
  CHECK(static_cast<double>(ps[1][1]) == Approx(100'000).epsilon(1e-3));
  CHECK(ps[0] == fit_alike({knows})[0]);
  CHECK(fit_alike({}).empty());
}

TEST_CASE("an estimate reads as a sum of durations") {
  const TimeEstimate estimate{.terms = {{4'690'000, "1"}, {553'000, "WAVES"}, {42, "M * N // 1024"}}};
  CHECK(estimate.text() == "4.69 us + 553 ns * WAVES + 42 ps * (M * N // 1024)");
  CHECK(TimeEstimate{}.text() == "0 ns");
}

TEST_CASE(
    "a shape asked for gets the fastest member though the estimates say another, and a drawn one does not") {
  std::vector<SetCandidate> candidates = candidates_of({{100, 130, 130}, {130, 100, 100}});
  candidates[0].estimated_ns = {100, 90, 90};
  candidates[1].estimated_ns = {130, 100, 100};
  const SetChoice set = choose_set(candidates, {.weights = {1, 1, 1}, .asked = 2}, {.drawn_ratio = 1.5});
  CHECK(set.members.size() == 2);
  CHECK(set.chosen == std::vector<std::size_t>{0, 1, 0});
  CHECK(set.rows == std::vector<OwnRow>{{.shape = 1, .member = 1}});
  CHECK(set.mean_ratio == Approx(1));
  CHECK(set.drawn_ratio == Approx(1.3));
}

TEST_CASE(
    "a member whose estimates are wrong elsewhere serves the shapes that it is fastest on in rows alone") {
  std::vector<SetCandidate> candidates =
      candidates_of({{100, 150, 100, 100}, {150, 100, 900, 900}, {200, 200, 200, 200}});
  candidates[1].estimated_ns = {150, 100, 50, 50};  // of drawn shapes it is chosen on both
  const SetChoice set = choose_set(candidates, {.weights = {1, 1, 1, 1}, .asked = 2}, {});
  CHECK(set.members == std::vector<std::size_t>{0, 1});
  CHECK(set.in_rows_alone == std::vector<std::size_t>{1});
  CHECK(set.rows == std::vector<OwnRow>{{.shape = 1, .member = 1}});
  CHECK(set.chosen == std::vector<std::size_t>{0, 1, 0, 0});
  CHECK(set.fallback == 0);
  CHECK(set.within_limits);
  CHECK(set.mean_ratio == Approx(1));
  CHECK(set.drawn_ratio == Approx(1));
  CHECK_FALSE(
      choose_set(candidates, {.weights = {1, 1, 1, 1}, .asked = 2}, {.max_members = 1}).within_limits);
}

TEST_CASE("choices that are a little wrong on drawn shapes are not bought with the shapes asked for") {
  std::vector<SetCandidate> candidates = candidates_of({{100, 128, 100, 100}, {150, 100, 106, 106}});
  candidates[1].estimated_ns = {150, 100, 90, 90};
  const SetChoice set = choose_set(candidates, {.weights = {1, 1, 1, 1}, .asked = 2}, {});
  CHECK(set.in_rows_alone == std::vector<std::size_t>{1});
  CHECK(set.within_limits);
  CHECK(set.drawn_ratio == Approx(1));
}

TEST_CASE("a set takes the members that guessed shapes need, as far as there may be so many") {
  // The first is the fastest wherever somebody looked, the others where nobody did.
  const std::vector<SetCandidate> candidates =
      candidates_of({{100, 100, 100, 150, 150}, {110, 110, 110, 100, 150}, {120, 120, 120, 150, 100}});
  const SetShapes timed{.weights = {1, 1, 1, 1, 1}, .asked = 2, .guessed = 2};
  const SetChoice set = choose_set(candidates, timed, {});
  CHECK(set.members == std::vector<std::size_t>{0, 1, 2});
  CHECK(set.chosen == std::vector<std::size_t>{0, 0, 0, 1, 2});
  CHECK(set.guessed_ratio == Approx(1));
  const SetChoice two = choose_set(candidates, timed, {.max_members = 2});
  CHECK(two.members.size() == 2);
  CHECK(two.guessed_ratio == Approx(std::sqrt(1.5)));
  CHECK(two.within_limits);  // what was timed is
  CHECK(choose_set(candidates, timed, {.guessed_ratio = 2}).members == std::vector<std::size_t>{0});
}

TEST_CASE("a member in rows alone that loses its shapes to later ones is left out") {
  std::vector<SetCandidate> candidates =
      candidates_of({{100, 150, 150, 100}, {300, 108, 108, 900}, {300, 100, 148, 900}, {300, 148, 100, 900}});
  for (std::size_t i = 1; i < candidates.size(); ++i) candidates[i].estimated_ns.back() = 10;
  const SetChoice set = choose_set(candidates, {.weights = {1, 1, 1, 1}, .asked = 3},
                                   {.mean_ratio = 1.001, .worst_ratio = 1.001});
  CHECK(set.members == std::vector<std::size_t>{0, 2, 3});
  CHECK(set.in_rows_alone == std::vector<std::size_t>{1, 2});
  CHECK(set.within_limits);
}

TEST_CASE("members that differ by less than noise on a shape need no row of their own") {
  std::vector<SetCandidate> candidates = candidates_of({{100, 100.4, 100}, {200, 100, 200}, {100, 200, 150}});
  candidates[0].estimated_ns = {100, 99, 100};
  const SetChoice set = choose_set(candidates, {.weights = {1, 1, 1}, .asked = 3}, {.mean_ratio = 1.0001});
  CHECK(set.rows.empty());
}

namespace {

/// A model of tiled products on 132 SMs: waves of tiles, each of a start and of steps along K, whose parts do not speed up
/// with the number of SMs that are idle.
double modelled_ns(int tile_m, int tile_n, int split_k, const AxisValues& shape) {
  const auto parts = [](std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; };
  const std::int64_t blocks = parts(shape.at("M"), tile_m) * parts(shape.at("N"), tile_n) * split_k;
  const double steps = static_cast<double>(parts(shape.at("K"), 64 * split_k));
  const double step_ns = 60 + 0.012 * tile_m * tile_n;
  return 2500.0 + (split_k > 1 ? 1200 : 0) +
         static_cast<double>(parts(blocks, 132)) * (600 + step_ns * steps);
}

constexpr std::array kTiles{std::tuple(16, 64, 1),   std::tuple(32, 64, 1),  std::tuple(32, 64, 4),
                            std::tuple(64, 64, 1),   std::tuple(64, 64, 4),  std::tuple(64, 128, 1),
                            std::tuple(128, 128, 1), std::tuple(128, 256, 1)};

std::vector<std::int64_t> amounts_of(const std::tuple<int, int, int>& tile, const AxisValues& shape) {
  const auto [tile_m, tile_n, split_k] = tile;
  const auto parts = [](std::int64_t size, std::int64_t part) { return (size + part - 1) / part; };
  const std::int64_t waves =
      parts(parts(shape.at("M"), tile_m) * parts(shape.at("N"), tile_n) * split_k, 132);
  return {1, waves, waves * parts(shape.at("K"), 64 * split_k)};
}

/// Times of all tiles with errors of some percent, and estimates that were fitted to the first `measured` of them.
std::vector<SetCandidate> modelled(const std::vector<AxisValues>& shapes, std::size_t measured) {
  std::mt19937 random(5);
  std::vector<SetCandidate> candidates;
  for (const auto& tile : kTiles) {
    SetCandidate candidate;
    std::vector<std::vector<std::int64_t>> amounts;
    for (const AxisValues& shape : shapes) {
      const double error = 0.97 + 0.06 * static_cast<double>(random() % 100) / 100;
      candidate.times_ns.push_back(
          error * modelled_ns(std::get<0>(tile), std::get<1>(tile), std::get<2>(tile), shape));
      amounts.push_back(amounts_of(tile, shape));
    }
    const auto first = static_cast<std::ptrdiff_t>(measured);
    const std::vector<std::int64_t> ps =
        fit_times({amounts.begin(), amounts.begin() + first},
                  {candidate.times_ns.begin(), candidate.times_ns.begin() + first});
    for (const auto& row : amounts) candidate.estimated_ns.push_back(estimated_ns(ps, row));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

TEST_CASE("a set whose estimates were fitted to sixty shapes loses a few percent on shapes never seen") {
  std::mt19937 random(17);
  constexpr std::size_t kMeasured = 60, kUnseen = 300;
  const std::vector<AxisValues> shapes = random_shapes(random, kMeasured + kUnseen);
  const std::vector<SetCandidate> all = modelled(shapes, kMeasured);
  std::vector<SetCandidate> known = all;
  for (SetCandidate& one : known) {
    one.times_ns.resize(kMeasured);
    one.estimated_ns.resize(kMeasured);
  }
  const SetChoice set = choose_set(known, {.weights = std::vector<double>(kMeasured, 1), .asked = 8}, {});
  double sum = 0;
  for (std::size_t shape = kMeasured; shape < shapes.size(); ++shape) {
    const auto least = [&](auto values) {
      return *std::ranges::min_element(set.members, {},
                                       [&](std::size_t member) { return values(all[member])[shape]; });
    };
    const std::size_t chosen = least([](const SetCandidate&one) -> auto& { return one.estimated_ns; }),
                      best = least([](const SetCandidate&one) -> auto& { return one.times_ns; });
    sum += std::log(all[chosen].times_ns[shape] / all[best].times_ns[shape]);
  }
  CHECK(std::exp(sum / kUnseen) < 1.02);
}

TEST_CASE("a candidate within two percent of the best everywhere is a set of one") {
  std::mt19937 random(1);
  const std::vector<AxisValues> shapes = random_shapes(random, 4);
  const SetChoice set =
      chosen(candidates_of({{100, 130, 130, 130}, {101, 101, 101, 101}, {150, 100, 100, 100}}), shapes);
  CHECK(set.members == std::vector<std::size_t>{1});
  CHECK(set.mean_ratio == Approx(1.01));
  CHECK(set.within_limits);
}

TEST_CASE("a mean within the limit does not excuse one shape that is far off") {
  std::mt19937 random(1);
  const std::vector<AxisValues> shapes = random_shapes(random, 12);
  std::vector<double> almost(12, 100), rescue(12, 200);
  almost[5] = 120;  // the mean is 1.015
  rescue[5] = 100;
  const SetChoice set = chosen(candidates_of({almost, rescue}), shapes);
  CHECK(set.members.size() == 2);
  CHECK(set.worst_ratio == Approx(1));
}

TEST_CASE("no smaller set would have been enough") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 30; ++trial) {
    const std::vector<AxisValues> shapes = random_shapes(random, 6);
    std::vector<std::vector<double>> times(6, std::vector<double>(shapes.size()));
    for (auto& one : times)
      for (double& time : one) time = 100.0 + 5.0 * static_cast<double>(random() % 8);
    const SetChoice set = chosen(candidates_of(times), shapes);
    REQUIRE(set.within_limits);
    REQUIRE(set.mean_ratio <= 1.02);
    REQUIRE(set.worst_ratio <= 1.10);
    for (unsigned members = 1; members < 1u << times.size(); ++members) {
      if (static_cast<std::size_t>(std::popcount(members)) >= set.members.size()) continue;
      double sum = 0, worst = 1;
      for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
        double best = kNever, own = kNever;
        for (std::size_t i = 0; i < times.size(); ++i) {
          best = std::min(best, times[i][shape]);
          if ((members >> i & 1) != 0) own = std::min(own, times[i][shape]);
        }
        sum += std::log(own / best);
        worst = std::max(worst, own / best);
      }
      // Times here are multiples of 5: none is within the slack of another.
      REQUIRE((std::exp(sum / static_cast<double>(shapes.size())) > 1.02 || worst > 1.10));
    }
  }
}

TEST_CASE("the fallback takes every shape, though it be the fastest nowhere") {
  std::mt19937 random(1);
  const std::vector<AxisValues> shapes = random_shapes(random, 2);
  std::vector<SetCandidate> candidates = candidates_of({{100, kNever}, {kNever, 100}, {150, 150}});
  candidates[0].takes_every_shape = candidates[1].takes_every_shape = false;
  const SetChoice set = chosen(candidates, shapes);
  CHECK(set.members == std::vector<std::size_t>{0, 1, 2});
  CHECK(set.fallback == 2);
  CHECK(set.mean_ratio == Approx(1));
}

TEST_CASE("members read one copy of prepared weights unless more are allowed") {
  std::mt19937 random(1);
  const std::vector<AxisValues> shapes = random_shapes(random, 2);
  std::vector<SetCandidate> candidates = candidates_of({{100, 200}, {200, 100}, {140, 160}});
  candidates[0].layout = 1;
  candidates[1].layout = candidates[2].layout = 2;
  const SetChoice one_copy = chosen(candidates, shapes);
  CHECK(one_copy.members == std::vector<std::size_t>{1, 2});
  CHECK_FALSE(one_copy.within_limits);
  const SetChoice two_copies = chosen(candidates, shapes, {.max_layouts = 2});
  CHECK(two_copies.members == std::vector<std::size_t>{0, 1});
  CHECK(two_copies.within_limits);
}

TEST_CASE("a set has no more members than it may, and says where these are not enough") {
  std::mt19937 random(2);
  const std::vector<AxisValues> shapes = random_shapes(random, 5);
  std::vector<std::vector<double>> times(5, std::vector<double>(5, 200));
  for (std::size_t i = 0; i < 5; ++i) times[i][i] = 100;
  const SetChoice set = chosen(candidates_of(times), shapes, {.max_members = 3});
  CHECK(set.members.size() == 3);
  CHECK_FALSE(set.within_limits);
  CHECK(chosen(candidates_of(times), shapes).members.size() == 5);
}

TEST_CASE("sets of very many candidates are found member by member") {
  std::mt19937 random(9);
  const std::vector<AxisValues> shapes = random_shapes(random, 40);
  std::vector<std::vector<double>> times(120, std::vector<double>(40));
  for (auto& one : times)
    for (double& time : one) time = 100.0 + static_cast<double>(random() % 60);
  const SetChoice set = chosen(candidates_of(times), shapes);
  CHECK(set.members.size() <= 12);
  CHECK(set.mean_ratio < 1.15);
}

TEST_CASE("regret is nothing where the best was chosen, and its interval holds the mean") {
  const SetRegret none = regret_of({1, 1, 1});
  CHECK(none.mean_ratio == 1);
  CHECK(none.interval.low == 1);
  CHECK(none.interval.high == 1);
  const SetRegret some = regret_of({1, 1, 1.1, 1, 1.2, 1, 1, 1});
  CHECK(some.mean_ratio == Approx(std::pow(1.1 * 1.2, 1.0 / 8)));
  CHECK(some.interval.low >= 1);
  CHECK(some.interval.low < some.mean_ratio);
  CHECK(some.interval.high > some.mean_ratio);
  CHECK(some.worst_ratio == 1.2);
  CHECK(some.shapes == 8);
}

}  // namespace ak
