// SPDX-License-Identifier: Apache-2.0
#include "core/learn/paired_statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/error.h"
#include "core/learn/bootstrap.h"

namespace ak {
namespace {

constexpr double kMaxP = 0.01;          // as the interval's 99 %
constexpr std::size_t kMaxExact = 200;  // beyond, the normal approximation is good to three digits

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

Interval bootstrap(const std::vector<double>& logs) {
  std::vector<double> drawn(logs.size());
  const Interval interval = bootstrap_interval([&](std::mt19937_64& generator) {
    for (double& value : drawn) value = logs[generator() % logs.size()];
    return mean(drawn);
  });
  return {std::exp(interval.low), std::exp(interval.high)};
}

/// Of sizes in ascending order twice their ranks: equal ones share the mean of theirs.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& sizes) {
  std::vector<std::size_t> ranks(sizes.size());
  for (std::size_t begin = 0, end = 0; begin < sizes.size(); begin = end) {
    for (end = begin; end < sizes.size() && sizes[end] == sizes[begin]; ++end) {
    }
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(begin),
              ranks.begin() + static_cast<std::ptrdiff_t>(end), begin + 1 + end);
  }
  return ranks;
}

/// P(sum <= `sum`) where every rank is in it or not, as likely.
double exact_lower_tail(const std::vector<std::size_t>& ranks, std::size_t sum) {
  std::size_t total = 0;
  for (const std::size_t rank : ranks) total += rank;
  std::vector<double> probability(total + 1, 0.0);
  probability[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t at = total + 1; at-- > 0;)
      probability[at] = (probability[at] + (at >= rank ? probability[at - rank] : 0)) / 2;
  }
  double tail = 0;
  for (std::size_t at = 0; at <= sum; ++at) tail += probability[at];
  return tail;
}

double normal_lower_tail(const std::vector<std::size_t>& ranks, std::size_t sum) {
  double total = 0, squares = 0;
  for (const std::size_t rank : ranks) {
    total += static_cast<double>(rank);
    squares += static_cast<double>(rank) * static_cast<double>(rank);
  }
  // Ranks are doubled, so that the correction for continuity is 1 and not a half.
  const double z = (static_cast<double>(sum) + 1 - total / 2) / (std::sqrt(squares) / 2);
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

}  // namespace

bool PairedTest::beyond_chance() const {
  return (interval.high < 1 || interval.low > 1) && wilcoxon_p < kMaxP;
}

double sign_test(std::size_t wins, std::size_t losses) {
  const auto n = static_cast<double>(wins + losses);
  double tail = 0;
  for (std::size_t k = 0; k <= std::min(wins, losses); ++k) {
    const auto i = static_cast<double>(k);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

double signed_rank_test(std::span<const double> differences) {
  std::vector<double> values(differences.begin(), differences.end());
  std::erase(values, 0.0);
  if (values.empty()) return 1;
  std::ranges::sort(values, {}, [](double value) { return std::abs(value); });
  std::vector<double> sizes;
  for (const double value : values) sizes.push_back(std::abs(value));
  const std::vector<std::size_t> ranks = doubled_ranks(sizes);
  std::size_t positive = 0, negative = 0;
  for (std::size_t i = 0; i < values.size(); ++i) (values[i] > 0 ? positive : negative) += ranks[i];
  const std::size_t smaller = std::min(positive, negative);
  const double tail =
      ranks.size() <= kMaxExact ? exact_lower_tail(ranks, smaller) : normal_lower_tail(ranks, smaller);
  return std::min(1.0, 2 * tail);
}

std::optional<PairedTest> test_pairs(std::span<const NumberPair> pairs) {
  if (pairs.empty()) return std::nullopt;
  PairedTest test;
  test.pairs = pairs.size();
  std::vector<double> logs;
  for (const NumberPair& pair : pairs) {
    AK_ASSERT(pair.first > 0 && pair.second > 0, "times and costs are positive");
    logs.push_back(std::log(pair.second / pair.first));
    if (std::abs(pair.second / pair.first - 1) < kTieRatio)
      ++test.ties;
    else
      ++(pair.second < pair.first ? test.wins : test.losses);
  }
  test.ratio = std::exp(mean(logs));
  test.interval = bootstrap(logs);
  test.sign_p = sign_test(test.wins, test.losses);
  test.wilcoxon_p = signed_rank_test(logs);
  return test;
}

}  // namespace ak
