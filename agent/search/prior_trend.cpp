// SPDX-License-Identifier: Apache-2.0
#include "agent/search/prior_trend.h"

#include <cmath>
#include <optional>

namespace ak::agent {
namespace {

// Deviations of the factors of all groups together (chosen, on four kernels: with 0.3 a search takes long to see that
// its prior misleads, with 1.5 it looks elsewhere although the prior is right), and of the level, which is not known.
constexpr double kFactorDeviation = 1, kLevelDeviation = 100;

}  // namespace

PriorTrend::PriorTrend(SearchPrior& prior, double level) : prior_(prior) {
  trend_.coefficients.assign(1 + prior.groups(), 1 / static_cast<double>(prior.groups()));
  trend_.coefficients.front() = level;
}

void PriorTrend::fit(const GaussianProcess& model, const History& history, double residual) {
  const auto groups = static_cast<double>(prior_.groups());
  std::vector<GaussianProcess::TrendColumn> columns(1 + prior_.groups());
  for (auto& column : columns)
    column = {.values = {}, .coefficient = 1 / groups, .deviation = kFactorDeviation / std::sqrt(groups)};
  // Relative to an answer, so that the level is drawn to a place that is possible.
  const double origin = *history.best()->log_time;
  columns.front() = {.values = {}, .coefficient = 0, .deviation = kLevelDeviation};
  std::vector<std::optional<double>> values;  // nothing of what failed or is in flight
  for (const PointNumber row : model.rows()) {
    const auto log_time = history.log_time(row);
    values.push_back(log_time ? std::optional(*log_time - origin) : std::nullopt);
    columns.front().values.push_back(1);
    const auto& expected = prior_.at(row).log_times;
    for (std::size_t group = 0; group < expected.size(); ++group)
      columns[1 + group].values.push_back(expected[group]);
  }
  trend_ = model.trend(columns, values, residual);
  trend_.coefficients.front() += origin;
}

double PriorTrend::mean(PointNumber point) const {
  const auto& expected = prior_.at(point).log_times;
  double sum = trend_.coefficients.front();
  for (std::size_t group = 0; group < expected.size(); ++group)
    sum += trend_.coefficients[1 + group] * expected[group];
  return sum;
}

double PriorTrend::variance(const GaussianProcess::Projection& projection) const {
  std::vector<double> columns{1};
  const auto& expected = prior_.at(projection.input).log_times;
  columns.insert(columns.end(), expected.begin(), expected.end());
  return GaussianProcess::trend_variance(trend_, columns, projection);
}

double PriorTrend::chance_to_work(PointNumber point) const {
  const auto& [worked, failed] = prior_.at(point).outcomes;
  return (1 + worked) / (1 + worked + failed);  // one that works is believed in beforehand
}

}  // namespace ak::agent
