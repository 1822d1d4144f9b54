// SPDX-License-Identifier: Apache-2.0
#include "core/learn/time_prior.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/learn/stats.h"

namespace ak {
namespace {

constexpr int kFitSteps = 25;  // of the kernel's weights (chosen: they hardly move later)
// Rank correlation of times with what is expected of them, from which on a group's kernel counts (chosen, as for priors).
constexpr double kOrdered = 0.5;

/// At most `most`: the fastest half, and of the others some evenly.
std::vector<EarlierAnswer> some_of(std::vector<EarlierAnswer> answers, std::size_t most) {
  if (answers.size() <= most) return answers;
  std::ranges::stable_sort(answers, {}, [](const EarlierAnswer& answer) {
    return answer.log_time.value_or(std::numeric_limits<double>::infinity());
  });
  const std::size_t fast = most / 2, others = most - fast;
  std::vector<EarlierAnswer> kept(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(fast));
  for (std::size_t i = 0; i < others; ++i)
    kept.push_back(answers[fast + i * (answers.size() - fast) / others]);
  return kept;
}

bool has_two_times(const std::vector<EarlierAnswer>& group) {
  return std::ranges::count_if(group, [](const auto& answer) { return answer.log_time.has_value(); }) >= 2;
}

}  // namespace

class TimePrior::Group {
 public:
  Group(const TunableAxes& tunables, std::vector<EarlierAnswer> answers)
      : answers_(std::move(answers)),
        correlation_(tunables,
                     [this](std::size_t input) -> const Ordinals& {
                       return input < answers_.size() ? answers_[input].point : asked_;
                     }),
        model_(correlation_, point_process_options()) {
    double sum = 0, squares = 0, count = 0;
    for (const EarlierAnswer& answer : answers_) {
      if (!answer.log_time) continue;
      sum += *answer.log_time, squares += *answer.log_time * *answer.log_time, ++count;
    }
    mean_ = sum / count;
    deviation_ = std::max(std::sqrt(std::max(squares / count - mean_ * mean_, 0.0)), 1e-6);
    std::vector<std::size_t> rows;
    std::vector<double> values;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      rows.push_back(i);
      values.push_back(answers_[i].log_time ? (*answers_[i].log_time - mean_) / deviation_ : 0);
    }
    model_.replace(rows);
    model_.set_values(values);
    model_.fit(kFitSteps);
    orders_itself_ = order_every_other(values);
    model_.replace(std::move(rows));
    model_.set_values(std::move(values));
    model_.fit(0);
  }

  double expect(const Ordinals& point, Outcomes& outcomes) const {
    asked_ = point;
    GaussianProcess::Projection projection{.input = answers_.size(), .k = {}, .v = {}};
    model_.relate(projection);
    // Failing is more local than being fast: the kernel's square.
    for (std::size_t i = 0; i < answers_.size(); ++i)
      (answers_[i].log_time ? outcomes.worked : outcomes.failed) += projection.k[i] * projection.k[i];
    return deviation_ * model_.predict(projection).mean;
  }
  [[nodiscard]] std::span<const FittedParameter> parameters() { return correlation_.parameters(); }

  /// Whether the kernel tells something: times that come in no order fit some kernel, too.
  [[nodiscard]] bool orders_itself() const { return orders_itself_; }

 private:
  /// Whether the answers between put every other time in about its order.
  bool order_every_other(const std::vector<double>& values) {
    std::vector<std::size_t> rows;
    std::vector<double> between, expected, found;
    for (std::size_t i = 1; i < values.size(); i += 2) rows.push_back(i), between.push_back(values[i]);
    model_.replace(std::move(rows));
    model_.set_values(std::move(between));
    model_.fit(0);
    for (std::size_t i = 0; i < values.size(); i += 2) {
      if (!answers_[i].log_time) continue;
      GaussianProcess::Projection projection{.input = i, .k = {}, .v = {}};
      model_.relate(projection);
      expected.push_back(model_.predict(projection).mean);
      found.push_back(values[i]);
    }
    return rank_correlation(expected, found) >= kOrdered;
  }

  std::vector<EarlierAnswer> answers_;
  mutable Ordinals asked_;  ///< the input after those of the answers
  PointCorrelation correlation_;
  GaussianProcess model_;
  double mean_ = 0, deviation_ = 1;
  bool orders_itself_ = false;
};

TimePrior::TimePrior(const TunableAxes& tunables, std::vector<std::vector<EarlierAnswer>> groups) {
  std::erase_if(groups, [](const auto& group) { return !has_two_times(group); });
  if (groups.size() > kMaxGroups) groups.resize(kMaxGroups);
  const std::size_t most =
      std::min(kMaxAnswersOfGroup, kMaxAnswers / std::max<std::size_t>(groups.size(), 1));
  for (auto& group : groups)
    groups_.push_back(std::make_unique<Group>(tunables, some_of(std::move(group), most)));
}
TimePrior::~TimePrior() = default;

double TimePrior::expect(std::size_t group, const Ordinals& point, Outcomes& outcomes) const {
  return groups_[group]->expect(point, outcomes);
}

std::vector<double> TimePrior::kernel_parameters() const {
  std::vector<double> mean;
  const auto count = static_cast<double>(
      std::ranges::count_if(groups_, [](const auto& group) { return group->orders_itself(); }));
  for (const auto& group : groups_) {
    if (!group->orders_itself()) continue;
    const auto own = group->parameters();
    mean.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) mean[i] += own[i].value / count;
  }
  return mean;
}

}  // namespace ak
