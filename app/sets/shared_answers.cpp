// SPDX-License-Identifier: Apache-2.0
#include "app/sets/shared_answers.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "agent/champion.h"
#include "app/search/best_lookup.h"

namespace ak::app {
namespace {

// Ends that say the code is wrong. The others may be of one shape alone: what its launch needs, or how long it takes.
constexpr std::array kWrong{
    Status::memory_error,       Status::race, Status::hang, Status::incorrect, Status::nondeterministic,
    Status::integrity_violation};

bool fails_anywhere(const Outcome& outcome) {
  if (!info(outcome.status).candidate_fault || is_verified(outcome.status)) return false;
  // Builds know no shape.
  return outcome.stage == StageId::build || std::ranges::find(kWrong, outcome.status) != kWrong.end();
}

/// A search that goes on measures the fastest points again: a point has one answer, that it failed or
/// its fastest.
void add_answer(agent::EarlierSearch::Answer answer, std::vector<agent::EarlierSearch::Answer>& answers) {
  const auto same = std::ranges::find(answers, answer.point, &agent::EarlierSearch::Answer::point);
  if (same == answers.end())
    answers.push_back(std::move(answer));
  else if (!answer.time_ns || (same->time_ns && *answer.time_ns < *same->time_ns))
    same->time_ns = answer.time_ns;
}

/// One that failed has no time. A duplicate of one that failed says no more than that one did.
bool says_something(const EvaluationResult& result) {
  if (agent::passed(result, Depth::time)) return result.score_ns.has_value();
  return info(result.outcome.status).candidate_fault && !is_verified(result.outcome.status);
}

}  // namespace

SharedAnswers::SharedAnswers(const std::vector<Candidate>& templates)
    : templates_(templates), failed_(templates.size()) {}

SharedAnswers::OfShape& SharedAnswers::of(const Workload& shape, const std::string& device) {
  const auto found = std::ranges::find(shapes_, shape.axes, &OfShape::axes);
  if (found != shapes_.end()) return *found;
  OfShape& added = shapes_.emplace_back(OfShape{.axes = shape.axes, .of_templates = {}});
  added.of_templates.assign(templates_.size(), {.device = device, .shape = shape.name, .answers = {}});
  return added;
}

void SharedAnswers::note(const Workload& shape, const std::string& device, const Completed& completed) {
  const Candidate& candidate = completed.request.candidate;
  const auto of_template = std::ranges::find(templates_, candidate.source, &Candidate::source);
  if (of_template == templates_.end() || !says_something(completed.result)) return;
  const auto index = static_cast<std::size_t>(of_template - templates_.begin());
  const bool passed = agent::passed(completed.result, Depth::time);
  add_answer({candidate.tunables, passed ? completed.result.score_ns : std::nullopt},
             of(shape, device).of_templates[index].answers);
  if (fails_anywhere(completed.result.outcome)) failed_[index].insert(candidate.tunables);
}

std::vector<agent::EarlierSearches> SharedAnswers::earlier(
    const Workload& shape, const std::vector<agent::EarlierSearches>& beyond) const {
  std::vector<const OfShape*> nearest;
  for (const OfShape& other : shapes_)
    if (other.axes != shape.axes) nearest.push_back(&other);
  std::ranges::stable_sort(nearest, {},
                           [&](const OfShape* other) { return shape_distance(shape.axes, other->axes); });
  std::vector<agent::EarlierSearches> result(templates_.size());
  for (std::size_t i = 0; i < templates_.size(); ++i) {
    for (const OfShape* other : nearest) result[i].push_back(other->of_templates[i]);
    if (i < beyond.size()) result[i].insert(result[i].end(), beyond[i].begin(), beyond[i].end());
  }
  return result;
}

std::vector<std::vector<KnownPoint>> SharedAnswers::known(const Workload& shape) const {
  std::vector<std::vector<KnownPoint>> result(templates_.size());
  const auto found = std::ranges::find(shapes_, shape.axes, &OfShape::axes);
  for (std::size_t i = 0; found != shapes_.end() && i < templates_.size(); ++i)
    for (const agent::EarlierSearch::Answer& answer : found->of_templates[i].answers)
      result[i].push_back({.tunables = answer.point, .score_ns = answer.time_ns});
  return result;
}

std::vector<std::size_t> tuning_order(const std::vector<Workload>& shapes) {
  std::vector<std::size_t> order;
  if (shapes.empty()) return order;
  const auto to_all = [&](std::size_t one) {
    double sum = 0;
    for (const Workload& other : shapes) sum += shape_distance(shapes[one].axes, other.axes);
    return sum;
  };
  const auto to_tuned = [&](std::size_t one) {
    double least = INFINITY;
    for (const std::size_t tuned : order)
      least = std::min(least, shape_distance(shapes[one].axes, shapes[tuned].axes));
    return least;
  };
  std::vector<std::size_t> left(shapes.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    const auto next = order.empty() ? std::ranges::min_element(left, {}, to_all)
                                    : std::ranges::min_element(left, {}, to_tuned);
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

}  // namespace ak::app
