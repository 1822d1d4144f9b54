// SPDX-License-Identifier: Apache-2.0
#include "core/sets/time_estimate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/error.h"

namespace ak {
namespace {

constexpr double kPsPerNs = 1000;
// Of the diagonal, whose entries are 1: of two terms that are proportional on all shapes either will do.
constexpr double kRidge = 1e-9;
// A gradient that is rounding alone.
constexpr double kFlat = 1e-9;
// How much a factor's relative distance from the mean of kernels alike counts, in errors of one shape: by cross-validation 0.03 to
// 0.3 are alike, and this is between them (experiments/results/2026-11-28_set_estimates).
constexpr double kTowardsMean = 0.1;

using Row = std::vector<double>;

/// The solution of a symmetric system; nothing where it has none.
std::optional<Row> solved(std::vector<Row> matrix, Row right) {
  const std::size_t size = right.size();
  for (std::size_t column = 0; column < size; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column; row < size; ++row)
      if (std::abs(matrix[row][column]) > std::abs(matrix[pivot][column])) pivot = row;
    if (std::abs(matrix[pivot][column]) < kRidge * kRidge) return std::nullopt;
    std::swap(matrix[pivot], matrix[column]);
    std::swap(right[pivot], right[column]);
    for (std::size_t row = 0; row < size; ++row) {
      const double factor = row == column ? 0 : matrix[row][column] / matrix[column][column];
      for (std::size_t i = column; i < size && factor != 0; ++i) matrix[row][i] -= factor * matrix[column][i];
      right[row] -= factor * right[column];
    }
  }
  for (std::size_t i = 0; i < size; ++i) right[i] /= matrix[i][i];
  return right;
}

/// A sum of terms that should be `right`.
struct Equation {
  Row factors;
  double right = 1;
};

/// min |rows x - right| over x >= 0, by active sets (Lawson and Hanson), with columns of length 1.
class NonNegativeFit {
 public:
  explicit NonNegativeFit(const std::vector<Equation>& equations)
      : size_(equations.front().factors.size()),
        lengths_(size_, 0),
        squares_(size_, Row(size_, 0)),
        right_(size_, 0),
        x_(size_, 0) {
    for (const auto& [row, right] : equations)
      for (std::size_t i = 0; i < size_; ++i) lengths_[i] += row[i] * row[i];
    for (double& length : lengths_) length = length > 0 ? std::sqrt(length) : 1;
    for (const auto& [row, right] : equations)
      for (std::size_t i = 0; i < size_; ++i) {
        right_[i] += row[i] / lengths_[i] * right;
        for (std::size_t j = 0; j < size_; ++j) squares_[i][j] += row[i] / lengths_[i] * row[j] / lengths_[j];
      }
    for (std::size_t i = 0; i < size_; ++i) squares_[i][i] += kRidge;
  }

  Row run() {
    // Each round adds a term; the bound only keeps rounding from going in circles.
    for (std::size_t round = 0; round < 10 * size_; ++round) {
      const auto next = steepest();
      if (!next) break;
      used_.push_back(*next);
      if (!settle()) break;
    }
    for (std::size_t i = 0; i < size_; ++i) x_[i] /= lengths_[i];
    return x_;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> steepest() const {
    std::optional<std::size_t> best;
    double most = kFlat;
    for (std::size_t i = 0; i < size_; ++i) {
      const double gradient = right_[i] - std::inner_product(x_.begin(), x_.end(), squares_[i].begin(), 0.0);
      const bool used = std::ranges::find(used_, i) != used_.end();
      if (!used && gradient > most) most = gradient, best = i;
    }
    return best;
  }

  /// The best x of the used terms, without those that would be negative. False: there is none.
  bool settle() {
    while (!used_.empty()) {
      std::vector<Row> part;
      Row right;
      for (const std::size_t i : used_) {
        right.push_back(right_[i]);
        part.emplace_back();
        for (const std::size_t j : used_) part.back().push_back(squares_[i][j]);
      }
      const auto wanted = solved(std::move(part), std::move(right));
      if (!wanted) return used_.pop_back(), false;
      double step = 1;
      for (std::size_t at = 0; at < used_.size(); ++at)
        if ((*wanted)[at] <= 0) step = std::min(step, x_[used_[at]] / (x_[used_[at]] - (*wanted)[at]));
      for (std::size_t at = 0; at < used_.size(); ++at)
        x_[used_[at]] += step * ((*wanted)[at] - x_[used_[at]]);
      if (step == 1) return true;
      std::erase_if(used_, [&](std::size_t i) {
        if (x_[i] > kFlat * kFlat) return false;
        x_[i] = 0;
        return true;
      });
    }
    return true;
  }

  std::size_t size_;
  Row lengths_;  ///< of columns
  std::vector<Row> squares_;
  Row right_, x_;
  std::vector<std::size_t> used_;
};

/// A shape each: what it takes is 1, so that errors are parts of times.
std::vector<Equation> equations_of(const std::vector<std::vector<std::int64_t>>& amounts,
                                   const std::vector<double>& times_ns) {
  AK_ASSERT(!amounts.empty() && amounts.size() == times_ns.size(), "times are fitted to shapes");
  std::vector<Equation> equations(amounts.size());
  for (std::size_t shape = 0; shape < amounts.size(); ++shape)
    for (const std::int64_t amount : amounts[shape])
      equations[shape].factors.push_back(static_cast<double>(amount) / times_ns[shape]);
  return equations;
}

std::vector<std::int64_t> whole_ps(const Row& factors_ns) {
  std::vector<std::int64_t> ps;
  for (const double one : factors_ns) ps.push_back(std::llround(one * kPsPerNs));
  return ps;
}

/// By term, over the kernels that have an amount of it on some shape.
Row mean_factors(const std::vector<std::vector<Equation>>& kernels) {
  const std::size_t terms = kernels.front().front().factors.size();
  Row sums(terms, 0), counts(terms, 0);
  for (const std::vector<Equation>& equations : kernels) {
    const Row alone = NonNegativeFit(equations).run();
    for (std::size_t term = 0; term < terms; ++term)
      if (std::ranges::any_of(equations, [&](const Equation& one) { return one.factors[term] > 0; }))
        sums[term] += alone[term], ++counts[term];
  }
  for (std::size_t term = 0; term < terms; ++term) sums[term] /= std::max(counts[term], 1.0);
  return sums;
}

std::string duration_text(std::int64_t ps) {
  const auto amount = static_cast<double>(ps);
  if (ps >= 999'500) return fmt::format("{:.3g} us", amount / 1e6);
  return ps >= 1000 ? fmt::format("{:.3g} ns", amount / 1e3) : fmt::format("{} ps", ps);
}

}  // namespace

std::string TimeEstimate::text() const {
  std::vector<std::string> texts;
  for (const TimeTerm& term : terms) {
    const bool plain = std::ranges::none_of(term.amount, [](char c) { return c == ' '; });
    texts.push_back(term.amount == "1" ? duration_text(term.ps)
                                       : fmt::format(fmt::runtime(plain ? "{} * {}" : "{} * ({})"),
                                                     duration_text(term.ps), term.amount));
  }
  return texts.empty() ? "0 ns" : fmt::format("{}", fmt::join(texts, " + "));
}

double estimated_ns(const std::vector<std::int64_t>& ps, const std::vector<std::int64_t>& amounts) {
  double sum = 0;
  for (std::size_t term = 0; term < ps.size(); ++term)
    sum += static_cast<double>(ps[term]) * static_cast<double>(amounts[term]);
  return sum / kPsPerNs;
}

std::vector<std::int64_t> fit_times(const std::vector<std::vector<std::int64_t>>& amounts,
                                    const std::vector<double>& times_ns) {
  return whole_ps(NonNegativeFit(equations_of(amounts, times_ns)).run());
}

std::vector<std::vector<std::int64_t>> fit_alike(const std::vector<TimedAmounts>& kernels) {
  if (kernels.empty()) return {};
  std::vector<std::vector<Equation>> all;
  for (const TimedAmounts& one : kernels) all.push_back(equations_of(one.amounts, one.times_ns));
  const Row mean = mean_factors(all);
  std::vector<std::vector<std::int64_t>> fits;
  for (std::vector<Equation>& equations : all) {
    for (std::size_t term = 0; term < mean.size(); ++term) {
      if (mean[term] <= 0) continue;
      const double weight = std::sqrt(kTowardsMean);
      equations.push_back({.factors = Row(mean.size(), 0), .right = weight});
      equations.back().factors[term] = weight / mean[term];
    }
    fits.push_back(whole_ps(NonNegativeFit(equations).run()));
  }
  return fits;
}

}  // namespace ak
