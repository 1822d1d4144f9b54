// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/kriging.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/error.h"

namespace ak::profiler {
namespace {

// Steps of the ascent: 30 lowered held-out errors of measured kernels by a tenth of a point against 15.
constexpr int kSteps = 30;
// The factorisation takes the cube of it: a third of a second a step for a thousand, a fiftieth for these.
constexpr std::size_t kMaxRows = 400;
constexpr double kFirstNoise = 0.05;                    // of the signal's variance
constexpr double kEqualShare = 0.14;                    // first weight of unequal values, of that of distance
constexpr double kFirstStep = 0.5, kLongestStep = 1.5;  // of a logarithm
constexpr double kGrow = 1.3, kShrink = 0.5;            // Rprop's, somewhat tamed
constexpr double kLowest = -12, kHighest = 5;           // of a log weight; values are scaled to [0, 1]
constexpr double kLowestNoise = -9, kHighestNoise = 0;  // e^-9: 1 % of the signal's deviation
constexpr double kPriorWidth = 3;  // of log weights: what data say nothing about stays where it began
constexpr double kAbsent = -1;     // outside of [0, 1]

using Matrix = std::vector<std::vector<double>>;

double matern(double squared) {
  const double r = std::sqrt(5 * squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}
/// Derivative of matern() by its argument.
double matern_slope(double squared) {
  const double r = std::sqrt(5 * squared);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

/// Lower triangle L of a = L L^T, in place.
void factorise(Matrix& a) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
  }
}

/// Inverse of L L^T, both triangles.
Matrix inverse(const Matrix& factor) {
  const std::size_t n = factor.size();
  Matrix rows(n, std::vector<double>(n));  // row c: column c of L^-1
  for (std::size_t c = 0; c < n; ++c) {
    for (std::size_t i = c; i < n; ++i) {
      double sum = i == c ? 1 : 0;
      for (std::size_t k = c; k < i; ++k) sum -= factor[i][k] * rows[c][k];
      rows[c][i] = sum / factor[i][i];
    }
  }
  Matrix result(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = i; k < n; ++k) sum += rows[i][k] * rows[j][k];
      result[i][j] = result[j][i] = sum;
    }
  }
  return result;
}

}  // namespace

/// Weights and noise by Rprop on the marginal likelihood; the signal's variance has a closed form.
class KrigingFit {
 public:
  KrigingFit(Kriging& model, const std::vector<double>& targets) : model_(model), targets_(targets) {
    const double first = 1.0 / static_cast<double>(std::max<std::size_t>(1, model.columns_.size()));
    for (std::size_t c = 0; c < model.columns_.size(); ++c) {
      logs_.push_back(std::log(first));
      logs_.push_back(std::log(first * kEqualShare));
    }
    logs_.push_back(std::log(kFirstNoise));
    firsts_ = logs_;
    steps_.assign(logs_.size(), kFirstStep);
    last_.assign(logs_.size(), 0);
  }

  void run() {
    for (int step = 0; step < kSteps; ++step) {
      set_weights();
      climb(gradient());
    }
    set_weights();
    invert();
    model_.answers_ = answers_;
  }

 private:
  [[nodiscard]] std::size_t size() const { return targets_.size(); }
  void set_weights() {
    for (std::size_t c = 0; c < model_.columns_.size(); ++c) {
      model_.columns_[c].near = std::exp(logs_[2 * c]);
      model_.columns_[c].equal = std::exp(logs_[2 * c + 1]);
    }
  }

  void invert() {
    Matrix k(size(), std::vector<double>(size()));
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        k[i][j] = matern(model_.squared_distance(model_.rows_[i], model_.rows_[j]));
      k[i][i] = 1 + std::exp(logs_.back());
    }
    factorise(k);
    inverse_ = inverse(k);
    answers_.assign(size(), 0);
    double fit = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = 0; j < size(); ++j) answers_[i] += inverse_[i][j] * targets_[j];
      fit += answers_[i] * targets_[i];
    }
    signal_ = std::max(fit / static_cast<double>(size()), 1e-12);
  }

  /// Of the log likelihood by the logs, where the signal's variance is the best one.
  std::vector<double> gradient() {
    invert();
    std::vector<double> slope(logs_.size(), 0);
    for (std::size_t i = 0; i < size(); ++i) {
      const auto& a = model_.rows_[i];
      for (std::size_t j = 0; j < i; ++j) {
        const auto& b = model_.rows_[j];
        const double outer = (answers_[i] * answers_[j] / signal_ - inverse_[i][j]) *
                             matern_slope(model_.squared_distance(a, b));
        for (std::size_t c = 0; c < model_.columns_.size(); ++c) {
          const double d = a[c] - b[c];
          if (d == 0) continue;
          slope[2 * c] += outer * model_.columns_[c].near * d * d;
          slope[2 * c + 1] += outer * model_.columns_[c].equal;
        }
      }
      slope.back() += 0.5 * (answers_[i] * answers_[i] / signal_ - inverse_[i][i]) * std::exp(logs_.back());
    }
    for (std::size_t l = 0; l < slope.size(); ++l)
      slope[l] -= (logs_[l] - firsts_[l]) / (kPriorWidth * kPriorWidth);
    return slope;
  }

  void climb(const std::vector<double>& slope) {
    for (std::size_t l = 0; l < logs_.size(); ++l) {
      const double agreement = slope[l] * last_[l];
      if (agreement > 0) steps_[l] = std::min(kLongestStep, steps_[l] * kGrow);
      if (agreement < 0) steps_[l] *= kShrink;
      last_[l] = agreement < 0 ? 0 : slope[l];
      if (last_[l] == 0) continue;
      const bool noise = l + 1 == logs_.size();
      logs_[l] = std::clamp(logs_[l] + (slope[l] > 0 ? steps_[l] : -steps_[l]),
                            noise ? kLowestNoise : kLowest, noise ? kHighestNoise : kHighest);
    }
  }

  Kriging& model_;
  const std::vector<double>& targets_;                ///< of mean 0
  std::vector<double> logs_, firsts_, steps_, last_;  ///< near and equal of every column, then the noise
  Matrix inverse_;
  std::vector<double> answers_;
  double signal_ = 1;
};

std::vector<double> Kriging::row_of(const Features& features) const {
  std::vector<double> row;
  for (const Column& column : columns_) {
    const auto found = features.find(column.name);
    row.push_back(found == features.end() || std::isnan(found->second)
                      ? kAbsent
                      : (found->second - column.least) / column.range);
  }
  return row;
}

double Kriging::squared_distance(const std::vector<double>& a, const std::vector<double>& b) const {
  double squared = 0;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const double d = a[c] - b[c];
    if (d != 0) squared += columns_[c].near * d * d + columns_[c].equal;
  }
  return squared;
}

/// Those features that are not the same in all rows.
void Kriging::set_columns(const std::vector<const Features*>& rows) {
  std::map<std::string, std::pair<double, double>, std::less<>> ranges;
  for (const Features* row : rows) {
    for (const auto& [name, value] : *row) {
      if (std::isnan(value)) continue;
      auto& range = ranges.try_emplace(name, value, value).first->second;
      range = {std::min(range.first, value), std::max(range.second, value)};
    }
  }
  for (const auto& [name, range] : ranges) {
    if (range.second > range.first)
      columns_.push_back({.name = name, .least = range.first, .range = range.second - range.first});
  }
}

Kriging Kriging::fit(const std::vector<Features>& rows, const std::vector<double>& targets) {
  AK_ASSERT(rows.size() == targets.size(), "every row has a target");
  Kriging model;
  const std::size_t stride = rows.size() / kMaxRows + 1;
  std::vector<const Features*> kept;
  std::vector<double> centred;
  for (std::size_t i = 0; i < rows.size(); i += stride) {
    kept.push_back(&rows[i]);
    centred.push_back(targets[i]);
  }
  if (kept.empty()) return model;
  model.set_columns(kept);
  for (const double target : centred) model.mean_ += target / static_cast<double>(centred.size());
  for (double& target : centred) target -= model.mean_;
  for (const Features* row : kept) model.rows_.push_back(model.row_of(*row));
  KrigingFit(model, centred).run();
  return model;
}

double Kriging::predict(const Features& features) const {
  const std::vector<double> row = row_of(features);
  double sum = mean_;
  for (std::size_t i = 0; i < rows_.size(); ++i) sum += answers_[i] * matern(squared_distance(row, rows_[i]));
  return sum;
}

Json Kriging::to_json() const {
  Json columns = Json::array();
  for (const Column& column : columns_)
    columns.push_back({column.name, column.least, column.range, column.near, column.equal});
  return {{"columns", std::move(columns)}, {"mean", mean_}, {"rows", rows_}, {"answers", answers_}};
}

Kriging Kriging::from_json(const Json& json) {
  Kriging read;
  try {
    for (const Json& column : json.at("columns"))
      read.columns_.push_back({.name = column.at(0).get<std::string>(),
                               .least = column.at(1).get<double>(),
                               .range = column.at(2).get<double>(),
                               .near = column.at(3).get<double>(),
                               .equal = column.at(4).get<double>()});
    read.mean_ = json.at("mean").get<double>();
    read.rows_ = json.at("rows").get<std::vector<std::vector<double>>>();
    read.answers_ = json.at("answers").get<std::vector<double>>();
  } catch (const Json::exception& error) {
    fail(ExitCode::bad_input, "kriging of a model: {}", error.what());
  }
  const auto fits = [&](const std::vector<double>& row) { return row.size() == read.columns_.size(); };
  if (read.rows_.size() != read.answers_.size() || !std::ranges::all_of(read.rows_, fits))
    fail(ExitCode::bad_input,
         "kriging of a model: expected an answer for every row and a value for every column");
  return read;
}

}  // namespace ak::profiler
