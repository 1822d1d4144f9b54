// SPDX-License-Identifier: Apache-2.0
// Rules and sets that are learned from tables of times, without a kernel: planted rules are found, and every property
// holds for tables at random.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "core/sets/rule_learning.h"
#include "core/sets/set_choice.h"

namespace ak {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// c[m, n] = a[m, k] b[k, n]
Definition product() {
  Definition definition;
  definition.name = "product";
  for (const char* axis : {"M", "N", "K"})
    definition.axes.push_back({.name = axis, .value = {}, .description = ""});
  const auto matrix = [](const char* name, const char* rows, const char* columns) {
    TensorSpec tensor;
    tensor.name = name;
    tensor.shape = {rows, columns};
    return tensor;
  };
  definition.inputs = {matrix("a", "M", "K"), matrix("b", "K", "N")};
  definition.outputs = {matrix("c", "M", "N")};
  return definition;
}

Environment sizes_of(const AxisValues& shape) {
  Environment sizes;
  for (const auto& [axis, size] : shape) sizes[axis] = size;
  return sizes;
}

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

/// Times of `members` where `fastest(shape)` takes 100 ns and the others 130.
template <class Fastest>
std::vector<std::vector<double>> planted(const std::vector<AxisValues>& shapes, std::size_t members,
                                         Fastest fastest) {
  std::vector<std::vector<double>> times(members, std::vector<double>(shapes.size(), 130));
  for (std::size_t i = 0; i < shapes.size(); ++i) times[fastest(shapes[i])][i] = 100;
  return times;
}

std::string text_of(const SetRule& rule) {
  std::string text;
  for (const RuleCell& cell : rule.cells)
    text += cell.condition() + " -> " + std::to_string(cell.member) + "\n";
  return text;
}

void require_one_cell_each(const SetRule& rule, const std::vector<AxisValues>& shapes) {
  for (const AxisValues& shape : shapes) {
    int cells = 0;
    for (const RuleCell& cell : rule.cells) {
      const SetRule alone{.cells = {cell, {.bounds = {}, .member = 99}}, .fallback = 0};
      cells += alone.cell_of(sizes_of(shape)) == 0 ? 1 : 0;
    }
    REQUIRE(cells == 1);
  }
}

std::vector<SetCandidate> candidates_of(const std::vector<std::vector<double>>& times) {
  std::vector<SetCandidate> candidates;
  for (const auto& one : times) candidates.push_back({.times_ns = one});
  return candidates;
}

SetChoice chosen(const std::vector<SetCandidate>& candidates, const std::vector<AxisValues>& shapes,
                 const SetLimits& limits = {}) {
  return choose_set(candidates, rule_quantities(product(), shapes),
                    {.weights = std::vector<double>(shapes.size(), 1), .asked = shapes.size()}, limits);
}

}  // namespace

TEST_CASE("a rule tells shapes apart by the axis that does, half way between them as ratios go") {
  const std::vector<AxisValues> shapes{{{"M", 16}, {"N", 4096}, {"K", 4096}},
                                       {{"M", 64}, {"N", 4096}, {"K", 512}},
                                       {{"M", 4096}, {"N", 4096}, {"K", 4096}}};
  const auto times = planted(shapes, 2, [](const AxisValues& shape) { return shape.at("M") > 64 ? 1 : 0; });
  CHECK(text_of(learn_rule(rule_quantities(product(), shapes), times, shapes.size(), 1)) ==
        "M <= 512 -> 0\nM > 512 -> 1\n");
}

TEST_CASE("a rule may ask for a product of axes, or whether eight divides one") {
  const std::vector<AxisValues> wide{{{"M", 8}, {"N", 512}, {"K", 64}},
                                     {{"M", 512}, {"N", 8}, {"K", 64}},
                                     {{"M", 512}, {"N", 512}, {"K", 64}}};
  const auto large =
      planted(wide, 2, [](const AxisValues& s) { return s.at("M") * s.at("N") > 10'000 ? 1 : 0; });
  const SetRule by_product = learn_rule(rule_quantities(product(), wide), large, wide.size(), 0);
  CHECK(by_product.cells.size() == 2);
  CHECK(by_product.cells.front().bounds.front().quantity == "M * N");

  const std::vector<AxisValues> odd{{{"M", 64}, {"N", 64}, {"K", 63}},
                                    {{"M", 64}, {"N", 64}, {"K", 64}},
                                    {{"M", 64}, {"N", 64}, {"K", 65}}};
  const auto aligned = planted(odd, 2, [](const AxisValues& s) { return s.at("K") % 8 == 0 ? 1 : 0; });
  CHECK(text_of(learn_rule(rule_quantities(product(), odd), aligned, odd.size(), 0)) ==
        "K % 8 == 0 -> 1\nK % 8 > 0 -> 0\n");
}

TEST_CASE("of two rules of one length the one over axes is taken, and of these the one with more room") {
  const std::vector<AxisValues> shapes{{{"M", 64}, {"N", 100}, {"K", 64}},
                                       {{"M", 128}, {"N", 9000}, {"K", 64}}};
  const auto times = planted(shapes, 2, [](const AxisValues& s) { return s.at("M") > 100 ? 1 : 0; });
  CHECK(text_of(learn_rule(rule_quantities(product(), shapes), times, shapes.size(), 0)) ==
        "N <= 948 -> 0\nN > 948 -> 1\n");
}

TEST_CASE("members that differ by less than noise on a shape need no cell of their own") {
  const std::vector<AxisValues> shapes{{{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 9}, {"N", 9}, {"K", 9}}};
  const std::vector<std::vector<double>> times{{100, 100.4}, {200, 100}};
  const SetRule rule = learn_rule(rule_quantities(product(), shapes), times, shapes.size(), 1);
  REQUIRE(rule.cells.size() == 1);
  CHECK(rule.cells.front().member == 0);
  CHECK(rule.cells.front().condition().empty());
}

TEST_CASE("rules at random are exact on the timed shapes, give every other shape one member, and repeat") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<AxisValues> shapes = random_shapes(random, 2 + random() % 12);
    std::vector<std::vector<double>> times(1 + random() % 4, std::vector<double>(shapes.size()));
    for (auto& one : times)
      for (double& time : one) time = 100.0 + static_cast<double>(random() % 100);
    const auto quantities = rule_quantities(product(), shapes);
    const SetRule rule = learn_rule(quantities, times, shapes.size(), 0);
    for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
      double best = kNever;
      for (const auto& one : times) best = std::min(best, one[shape]);
      REQUIRE(times[rule.member_of(sizes_of(shapes[shape]))][shape] <= kAlike * best);
    }
    require_one_cell_each(rule, random_shapes(random, 200));
    REQUIRE(text_of(rule) == text_of(learn_rule(quantities, times, shapes.size(), 0)));
  }
}

TEST_CASE("a rule has no more cells than the one that the times follow") {
  std::mt19937 random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<AxisValues> shapes = random_shapes(random, 20);
    const std::int64_t m = 1 << (4 + random() % 6), nk = 1 << (10 + random() % 8);
    const auto times = planted(shapes, 3, [&](const AxisValues& s) {
      return s.at("M") <= m ? 0 : s.at("N") * s.at("K") <= nk ? 1 : 2;
    });
    REQUIRE(learn_rule(rule_quantities(product(), shapes), times, shapes.size(), 0).cells.size() <= 3);
  }
}

TEST_CASE("many shapes without any order end in a rule, too, and soon") {
  std::mt19937 random(3);
  const std::vector<AxisValues> shapes = random_shapes(random, kMaxRuleShapes);
  const auto times = planted(shapes, 8, [&](const AxisValues&) { return random() % 8; });
  const SetRule rule = learn_rule(rule_quantities(product(), shapes), times, shapes.size(), 0);
  for (std::size_t shape = 0; shape < shapes.size(); ++shape)
    REQUIRE(times[rule.member_of(sizes_of(shapes[shape]))][shape] == 100);
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

std::vector<SetCandidate> modelled(const std::vector<AxisValues>& shapes) {
  std::vector<SetCandidate> candidates;
  for (const auto& [tile_m, tile_n, split_k] : {std::tuple(16, 64, 1),
                                                {32, 64, 1},
                                                {32, 64, 4},
                                                {64, 64, 1},
                                                {64, 64, 4},
                                                {64, 128, 1},
                                                {128, 128, 1},
                                                {128, 256, 1}}) {
    SetCandidate candidate;
    for (const AxisValues& shape : shapes)
      candidate.times_ns.push_back(modelled_ns(tile_m, tile_n, split_k, shape));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// Geometric mean over shapes never seen of what the set chooses there over the best of all candidates.
double regret_on(const std::vector<AxisValues>& unseen, const SetChoice& set) {
  const std::vector<SetCandidate> candidates = modelled(unseen);
  double sum = 0;
  for (std::size_t shape = 0; shape < unseen.size(); ++shape) {
    double best = kNever;
    for (const SetCandidate& one : candidates) best = std::min(best, one.times_ns[shape]);
    const std::size_t member = set.members[set.rule.member_of(sizes_of(unseen[shape]))];
    sum += std::log(candidates[member].times_ns[shape] / best);
  }
  return std::exp(sum / static_cast<double>(unseen.size()));
}

}  // namespace

TEST_CASE("a set that learns from drawn shapes too loses less on shapes never seen") {
  std::mt19937 random(17);
  double alone = 0, with_drawn = 0;
  constexpr int kTrials = 2;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<AxisValues> shapes = random_shapes(random, 8);
    const std::vector<AxisValues> unseen = random_shapes(random, 300);
    alone += std::log(regret_on(unseen, chosen(modelled(shapes), shapes)));
    for (const AxisValues& drawn : random_shapes(random, 28)) shapes.push_back(drawn);
    const SetChoice set = choose_set(modelled(shapes), rule_quantities(product(), shapes),
                                     {.weights = std::vector<double>(shapes.size(), 1), .asked = 8}, {});
    with_drawn += std::log(regret_on(unseen, set));
    CHECK(set.drawn_ratio <= SetLimits().drawn_ratio);
  }
  UNSCOPED_INFO("loss alone " << std::exp(alone / kTrials) << ", with drawn shapes "
                              << std::exp(with_drawn / kTrials));
  CHECK(with_drawn < 0.6 * alone);
}

TEST_CASE("a cell more has to pay on drawn shapes, and on shapes asked for to be nearer than noise") {
  const std::vector<AxisValues> shapes{{{"M", 1}, {"N", 1}, {"K", 1}}, {{"M", 9}, {"N", 9}, {"K", 9}}};
  const std::vector<std::vector<double>> times{{100, 110}, {200, 100}};
  CHECK(learn_rule(rule_quantities(product(), shapes), times, 1, 0).cells.size() == 1);
  CHECK(learn_rule(rule_quantities(product(), shapes), times, 2, 0).cells.size() == 2);
  const std::vector<std::vector<double>> slower{{100, 130}, {200, 100}};
  CHECK(learn_rule(rule_quantities(product(), shapes), slower, 1, 0).cells.size() == 2);
}

TEST_CASE("a candidate within two percent of the best everywhere is a set of one") {
  std::mt19937 random(1);
  const std::vector<AxisValues> shapes = random_shapes(random, 4);
  const SetChoice set =
      chosen(candidates_of({{100, 130, 130, 130}, {101, 101, 101, 101}, {150, 100, 100, 100}}), shapes);
  CHECK(set.members == std::vector<std::size_t>{1});
  CHECK(set.rule.cells.size() == 1);
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
  CHECK(set.rule.fallback == 2);
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
  CHECK(set.members.size() <= 8);
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
