// SPDX-License-Identifier: Apache-2.0
#include "core/learn/stats.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <vector>

using namespace ak;

TEST_CASE("the median is the middle value, or the mean of the middle two") {
  CHECK(median(std::vector<double>{}) == 0);
  CHECK(median(std::vector<double>{7}) == 7);
  CHECK(median(std::vector<double>{9, 1, 5}) == 5);
  CHECK(median(std::vector<double>{4, 1, 3, 2}) == 2.5);
}

TEST_CASE("the interval of the median is the whole range below 6 values") {
  const Interval interval = median_interval_95(std::vector<double>{5, 1, 4, 2, 3});
  CHECK(interval.low == 1);
  CHECK(interval.high == 5);
  CHECK(median_interval_95(std::vector<double>{}).high == 0);
}

TEST_CASE("the interval of the median uses the ranks of the binomial tables") {
  const auto low_rank = [](int count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0);
    const Interval interval = median_interval_95(values);
    CHECK(interval.low + interval.high == count + 1);
    return interval.low;
  };
  CHECK(low_rank(6) == 1);
  CHECK(low_rank(9) == 2);
  CHECK(low_rank(10) == 2);
  CHECK(low_rank(20) == 6);
  CHECK(low_rank(50) == 18);
  CHECK(low_rank(100) == 40);
  CHECK(low_rank(10'000) == 4902);  // where 2^-n is below the smallest double
}

TEST_CASE("the interval of the median covers the true median about 95 times in 100") {
  std::mt19937 generator(1);
  std::exponential_distribution<double> exponential(1);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> values(30);
    for (double& value : values) value = exponential(generator);
    const Interval interval = median_interval_95(values);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  CHECK(covered > 1880);
  CHECK(covered < 1960);
}

TEST_CASE("the weighted geometric mean follows its weights") {
  CHECK(weighted_geometric_mean(std::vector<double>{2, 8}, std::vector<double>{1, 1}) == Approx(4));
  CHECK(weighted_geometric_mean(std::vector<double>{2, 16}, std::vector<double>{2, 1}) == Approx(4));
  CHECK(weighted_geometric_mean(std::vector<double>{3, 100}, std::vector<double>{5, 0}) == Approx(3));
}

namespace {

/// Pairs whose times share a drift, as clocks do, and have their own noise.
PairedSamples pairs(double ratio, double noise, std::mt19937& generator) {
  std::normal_distribution<double> own(0, noise), step(0, 0.002);
  PairedSamples samples;
  double drift = 0;
  for (int i = 0; i < 40; ++i) {
    drift += step(generator);
    samples.champion_ns.push_back(20'000 * std::exp(drift + own(generator)));
    samples.challenger_ns.push_back(20'000 * ratio * std::exp(drift + own(generator)));
  }
  return samples;
}

int found_faster(double ratio, double noise, int trials) {
  std::mt19937 generator(7);
  int found = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const std::vector<PairedSamples> samples{pairs(ratio, noise, generator)};
    found += paired_ratio(samples).interval.high < 1;
  }
  return found;
}

}  // namespace

TEST_CASE("of two equal kernels one is rarely called faster, though clocks drift") {
  CHECK(found_faster(1, 0.01, 500) <= 10);  // 0.5 % by design; the bootstrap of a median is a little narrow
}

TEST_CASE("a kernel that is 2 % faster is found under noise of 1 %") {
  CHECK(found_faster(0.98, 0.01, 100) >= 95);
}

TEST_CASE("workloads count by their weights, and the same samples give the same interval") {
  const std::vector<double> champion(20, 100.0);
  const std::vector<PairedSamples> samples{{std::vector<double>(20, 50.0), champion, 3},
                                           {std::vector<double>(20, 200.0), champion, 1}};
  const PairedRatio ratio = paired_ratio(samples);
  CHECK(ratio.ratio == Approx(std::pow(0.5, 0.5)));
  CHECK(ratio.interval.low == Approx(ratio.ratio));
  std::mt19937 generator(3);
  const std::vector<PairedSamples> noisy{pairs(1, 0.02, generator)};
  CHECK(paired_ratio(noisy).interval.low == paired_ratio(noisy).interval.low);
  CHECK(paired_ratio(noisy).interval.low < paired_ratio(noisy).interval.high);
}

TEST_CASE("ranks agree, disagree, and share ties") {
  CHECK(rank_correlation({1, 2, 3}, {10, 20, 30}) == Approx(1));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == Approx(-1));
  CHECK(rank_correlation({1, 1, 2}, {1, 1, 5}) == Approx(1));
  CHECK(rank_correlation({1, 1, 1}, {1, 2, 3}) == 0);
}
