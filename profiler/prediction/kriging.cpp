// SPDX-License-Identifier: Apache-2.0
#include "profiler/prediction/kriging.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/learn/gaussian_process.h"

namespace ak::profiler {
namespace {

// Steps of the ascent: 30 lowered held-out errors of measured kernels by a tenth of a point against 15.
constexpr int kSteps = 30;
// The factorisation takes the cube of it: a third of a second a step for a thousand, a fiftieth for these.
constexpr std::size_t kMaxRows = 400;
constexpr double kFirstNoise = 0.05;                    // of the signal's variance
constexpr double kEqualShare = 0.14;                    // first weight of unequal values, of that of distance
constexpr double kLowest = -12, kHighest = 5;           // of a log weight; values are scaled to [0, 1]
constexpr double kLowestNoise = -9, kHighestNoise = 0;  // e^-9: 1 % of the signal's deviation
constexpr double kPriorWidth = 3;  // of log weights: what data say nothing about stays where it began
constexpr double kAbsent = -1;     // outside of [0, 1]

double matern(double squared) {
  const double r = std::sqrt(5 * squared);
  return (1 + r + r * r / 3) * std::exp(-r);
}
/// Derivative of matern() by its argument.
double matern_slope(double squared) {
  const double r = std::sqrt(5 * squared);
  return -5.0 / 6 * (1 + r) * std::exp(-r);
}

FittedParameter log_of(double first, double low, double high) {
  return {
      .value = std::log(first), .prior = std::log(first), .deviation = kPriorWidth, .low = low, .high = high};
}

GaussianProcessOptions process_options() {
  GaussianProcessOptions options;
  options.log_noise = log_of(kFirstNoise, kLowestNoise, kHighestNoise);
  options.first_step = 0.5 / kPriorWidth, options.max_step = 1.5 / kPriorWidth;  // 0.5 and 1.5 of a logarithm
  options.grow = 1.3, options.shrink = 0.5;                                      // Rprop's, somewhat tamed
  options.rest_after_reversal = true;
  return options;
}

}  // namespace

/// Inputs are rows of the model; parameters are logarithms of the weights, near and equal of every column.
class KrigingCorrelation final : public CorrelationFunction {
 public:
  explicit KrigingCorrelation(Kriging& model) : model_(model) {
    const double first = 1.0 / static_cast<double>(std::max<std::size_t>(1, model.columns_.size()));
    for (std::size_t c = 0; c < model.columns_.size(); ++c) {
      logs_.push_back(log_of(first, kLowest, kHighest));
      logs_.push_back(log_of(first * kEqualShare, kLowest, kHighest));
    }
  }
  [[nodiscard]] std::span<FittedParameter> parameters() override { return logs_; }
  void restart() override {
    rows_.clear();
    for (std::size_t c = 0; c < model_.columns_.size(); ++c) {
      model_.columns_[c].near = std::exp(logs_[2 * c].value);
      model_.columns_[c].equal = std::exp(logs_[2 * c + 1].value);
    }
  }
  void append(std::size_t input) override { rows_.push_back(&model_.rows_[input]); }
  void correlate(std::size_t input, std::size_t first, std::span<double> result) const override {
    for (std::size_t j = 0; j < result.size(); ++j)
      result[j] = matern(model_.squared_distance(model_.rows_[input], *rows_[first + j]));
  }
  [[nodiscard]] std::vector<double> gradient(std::span<const double> weights) const override {
    std::vector<double> slopes(logs_.size(), 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const auto &a = *rows_[i], &b = *rows_[j];
        const double weight = weights[i * rows_.size() + j] * matern_slope(model_.squared_distance(a, b));
        for (std::size_t c = 0; c < model_.columns_.size(); ++c) {
          const double d = a[c] - b[c];
          if (d == 0) continue;
          slopes[2 * c] += weight * model_.columns_[c].near * d * d;
          slopes[2 * c + 1] += weight * model_.columns_[c].equal;
        }
      }
    }
    return slopes;
  }

 private:
  Kriging& model_;
  std::vector<FittedParameter> logs_;
  std::vector<const std::vector<double>*> rows_;
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
  KrigingCorrelation correlation(model);
  GaussianProcess process(correlation, process_options());
  std::vector<std::size_t> all(model.rows_.size());
  std::iota(all.begin(), all.end(), 0);
  process.replace(std::move(all));
  process.set_values(std::move(centred));
  process.fit(kSteps);
  model.answers_ = process.answers();
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
