// SPDX-License-Identifier: Apache-2.0
#include "app/sets/set_points.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "codegen/sets/time_terms.h"

namespace ak::app {
namespace {

constexpr double kNoTime = std::numeric_limits<double>::infinity();

/// Nothing where the candidate does not take the shape.
std::optional<std::vector<std::int64_t>> amounts_on(const MemberMeasurements& measurements,
                                                    const Candidate& candidate,
                                                    const std::vector<Expression>& terms,
                                                    const AxisValues& sizes) {
  if (!measurements.takes(candidate, sizes)) return std::nullopt;
  return codegen::amounts_of(terms, candidate, measurements.environment(sizes));
}

/// Without the shapes that are not to be kept, for all points; which they were. @param times of a point
template <class Keeps, class Times>
std::vector<Workload> keep_shapes(std::vector<Workload>& shapes, std::vector<SetPoint>& points, Keeps keeps,
                                  Times times) {
  std::vector<Workload> left_out;
  for (std::size_t shape = shapes.size(); shape-- > 0;) {
    if (keeps(shape)) continue;
    const auto at = static_cast<std::ptrdiff_t>(shape);
    left_out.push_back(std::move(shapes[shape]));
    shapes.erase(shapes.begin() + at);
    for (SetPoint& point : points) times(point).erase(times(point).begin() + at);
  }
  return left_out;
}

}  // namespace

struct SetPoints::ShapeAmounts {
  std::vector<Expression> terms;
  std::vector<std::optional<std::vector<std::int64_t>>> by_shape;
  TimedAmounts timed;  ///< of the shapes that it was timed on
};

std::vector<AxisValues> SetPoints::axes() const {
  std::vector<AxisValues> sizes;
  for (const Workload& shape : asked) sizes.push_back(shape.axes);
  return sizes;
}

std::vector<Candidate> SetPoints::candidates() const {
  std::vector<Candidate> candidates;
  for (const SetPoint& point : list) candidates.push_back(point.candidate);
  return candidates;
}

std::vector<double> SetPoints::fastest_times() const {
  std::vector<double> fastest(asked.size(), kNoTime);
  for (const SetPoint& point : list)
    for (std::size_t shape = 0; shape < asked.size(); ++shape)
      fastest[shape] = std::min(fastest[shape], point.times.times_ns[shape]);
  return fastest;
}

std::vector<std::size_t> SetPoints::shapes_near(const SetPoint& point, const std::vector<double>& fastest) {
  std::vector<std::size_t> near;
  for (std::size_t shape = 0; shape < fastest.size(); ++shape) {
    const double ns = point.times.times_ns[shape];
    if (std::isfinite(ns) && ns <= SetLimits().worst_ratio * fastest[shape]) near.push_back(shape);
  }
  return near;
}

std::size_t SetPoints::widest_and_fastest() const {
  const auto rank = [](const SetPoint& point) {
    std::ptrdiff_t shapes = 0;
    double sum = 0;
    for (const double ns : point.times.times_ns)
      if (std::isfinite(ns)) ++shapes, sum += std::log(ns);
    return std::tuple(!point.takes_every_shape, -shapes, sum);
  };
  return static_cast<std::size_t>(std::ranges::min_element(list, {}, rank) - list.begin());
}

std::vector<std::vector<double>> SetPoints::estimated_on_drawn() const {
  std::vector<std::vector<double>> estimated_ns;
  for (const SetPoint& point : list) {
    const auto begin = point.estimated_ns.begin() + static_cast<std::ptrdiff_t>(asked.size());
    estimated_ns.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(drawn.size()));
  }
  return estimated_ns;
}

void SetPoints::keep(const DrawnTimes& times) {
  drawn = times.shapes;
  for (std::size_t i = 0; i < list.size(); ++i) list[i].drawn_ns = times.times_ns[i];
}

bool SetPoints::keep_one_list_of_options() {
  std::set<std::vector<std::string>> lists;
  for (const SetPoint& point : list) lists.insert(point.candidate.plan.options);
  if (lists.size() < 2) return false;
  const auto mean_of = [&](const std::vector<std::string>& options) {
    double sum = 0;
    for (std::size_t shape = 0; shape < asked.size(); ++shape) {
      double best = kNoTime;
      for (const SetPoint& point : list)
        if (point.candidate.plan.options == options) best = std::min(best, point.times.times_ns[shape]);
      sum += std::log(best);
    }
    const bool any = std::ranges::any_of(list, [&](const SetPoint& point) {
      return point.candidate.plan.options == options && point.takes_every_shape;
    });
    return any ? sum : kNoTime;
  };
  const auto options = *std::ranges::min_element(lists, {}, mean_of);
  std::erase_if(list, [&](const SetPoint& point) { return point.candidate.plan.options != options; });
  return true;
}

std::vector<Workload> SetPoints::let_widest_take_all() {
  const auto widest = std::ranges::max_element(list, {}, [](const SetPoint& point) {
    return std::ranges::count_if(point.times.times_ns, [](double ns) { return std::isfinite(ns); });
  });
  if (widest == list.end()) return {};
  widest->takes_every_shape = true;
  return keep_shapes(
      asked, list, [&](std::size_t shape) { return std::isfinite(widest->times.times_ns[shape]); },
      [](SetPoint & point) -> auto& { return point.times.times_ns; });
}

void SetPoints::keep_drawn_that_are_taken(const MemberMeasurements& measurements) {
  if (drawn.empty()) return;
  const auto takes = [&](const SetPoint& point, const Workload& shape) {
    return measurements.takes(point.candidate, shape.axes);
  };
  const auto widest = std::ranges::max_element(list, {}, [&](const SetPoint& point) {
    const auto taken =
        std::ranges::count_if(drawn, [&](const Workload& shape) { return takes(point, shape); });
    return point.takes_every_shape ? taken : -1;
  });
  keep_shapes(
      drawn, list, [&](std::size_t shape) { return takes(*widest, drawn[shape]); },
      [](SetPoint & point) -> auto& { return point.drawn_ns; });
}

void SetPoints::keep_where_estimates_say_something() {
  const auto known_on = [&](const SetPoint& point, std::size_t place) {
    const double ns = point.estimated_ns[place];
    return std::isfinite(time_on(point, place)) ||
           (ns > 0 && (std::isfinite(ns) || !point.takes_every_shape));
  };
  for (std::size_t place = shape_count(); place-- > asked.size();) {
    const bool is_guessed = place >= asked.size() + drawn.size();
    const auto lacks = [&](const SetPoint& point) {
      return (is_guessed || point.takes_every_shape) && !known_on(point, place);
    };
    if (std::ranges::none_of(list, lacks)) continue;
    for (SetPoint& point : list) {
      point.estimated_ns.erase(point.estimated_ns.begin() + static_cast<std::ptrdiff_t>(place));
      if (!is_guessed)
        point.drawn_ns.erase(point.drawn_ns.begin() + static_cast<std::ptrdiff_t>(place - asked.size()));
    }
    std::vector<Workload>& shapes = is_guessed ? guessed : drawn;
    const std::size_t before = asked.size() + (is_guessed ? drawn.size() : 0);
    shapes.erase(shapes.begin() + static_cast<std::ptrdiff_t>(place - before));
  }
}

const AxisValues& SetPoints::sizes_of(std::size_t shape) const {
  if (shape < asked.size()) return asked[shape].axes;
  const std::size_t other = shape - asked.size();
  return other < drawn.size() ? drawn[other].axes : guessed[other - drawn.size()].axes;
}

/// Infinite where it was not timed.
double SetPoints::time_on(const SetPoint& point, std::size_t shape) const {
  if (shape < asked.size()) return point.times.times_ns[shape];
  const std::size_t other = shape - asked.size();
  return other < drawn.size() ? point.drawn_ns[other] : kNoTime;
}

SetPoints::ShapeAmounts SetPoints::amounts_of(const MemberMeasurements& measurements,
                                              const SetPoint& point) const {
  ShapeAmounts amounts{.terms = codegen::time_terms(problem_, point.candidate), .by_shape = {}, .timed = {}};
  for (std::size_t shape = 0; shape < shape_count(); ++shape) {
    amounts.by_shape.push_back(amounts_on(measurements, point.candidate, amounts.terms, sizes_of(shape)));
    const double ns = time_on(point, shape);
    if (!amounts.by_shape.back() || !std::isfinite(ns)) continue;
    amounts.timed.amounts.push_back(*amounts.by_shape.back());
    amounts.timed.times_ns.push_back(ns);
  }
  return amounts;
}

void SetPoints::estimate(const MemberMeasurements& measurements) {
  std::vector<ShapeAmounts> amounts;
  std::map<std::vector<std::string>, std::vector<std::size_t>> alike;  // by source and terms
  for (SetPoint& point : list) {
    point.ps.clear();
    point.estimated_ns.assign(shape_count(), kNoTime);
    std::vector<std::string> terms{point.candidate.source};
    amounts.push_back(amounts_of(measurements, point));
    for (const Expression& term : amounts.back().terms) terms.push_back(term.text());
    if (!amounts.back().timed.times_ns.empty()) alike[terms].push_back(amounts.size() - 1);
  }
  for (const auto& [terms, places] : alike) {
    std::vector<TimedAmounts> timed;
    for (const std::size_t place : places) timed.push_back(amounts[place].timed);
    const std::vector<std::vector<std::int64_t>> ps = fit_alike(timed);
    for (std::size_t i = 0; i < places.size(); ++i) {
      SetPoint& point = list[places[i]];
      point.ps = ps[i];
      for (std::size_t shape = 0; shape < shape_count(); ++shape)
        if (const auto& of_shape = amounts[places[i]].by_shape[shape])
          point.estimated_ns[shape] = ak::estimated_ns(ps[i], *of_shape);
    }
  }
}

TimeEstimate SetPoints::estimate_of(const SetPoint& point) const {
  const std::vector<Expression> terms = codegen::time_terms(problem_, point.candidate);
  TimeEstimate estimate;
  for (std::size_t term = 0; term < point.ps.size(); ++term)
    if (point.ps[term] > 0) estimate.terms.push_back({point.ps[term], terms[term].text()});
  return estimate;
}

std::vector<double> SetPoints::estimated_on(const MemberMeasurements& measurements, const SetPoint& point,
                                            const std::vector<Workload>& shapes) const {
  const std::vector<Expression> terms = codegen::time_terms(problem_, point.candidate);
  std::vector<double> ns;
  for (const Workload& shape : shapes) {
    const auto amounts = amounts_on(measurements, point.candidate, terms, shape.axes);
    ns.push_back(amounts ? ak::estimated_ns(point.ps, *amounts) : kNoTime);
  }
  return ns;
}

SetChoice SetPoints::choose(const SetLimits& limits) const {
  std::vector<SetCandidate> candidates;
  std::vector<std::string> layouts;
  for (const SetPoint& point : list) {
    auto layout = std::ranges::find(layouts, point.layout);
    if (layout == layouts.end()) layout = layouts.insert(layouts.end(), point.layout);
    std::vector<double> times_ns;
    for (std::size_t shape = 0; shape < shape_count(); ++shape) times_ns.push_back(time_on(point, shape));
    // Of shapes without an answer nothing better is known.
    for (std::size_t shape = asked.size(); shape < times_ns.size(); ++shape)
      if (!std::isfinite(times_ns[shape]) && point.estimated_ns[shape] > 0)
        times_ns[shape] = point.estimated_ns[shape];
    candidates.push_back(
        {.times_ns = std::move(times_ns),
         .estimated_ns = point.estimated_ns,
         .takes_every_shape = point.takes_every_shape,
         .layout = point.layout.empty() ? 0 : static_cast<std::size_t>(layout - layouts.begin()) + 1});
  }
  SetShapes shapes{.weights = {}, .asked = asked.size(), .guessed = guessed.size()};
  for (const Workload& shape : asked) shapes.weights.push_back(shape.weight);
  shapes.weights.resize(shape_count(), 1);
  return choose_set(candidates, shapes, limits);
}

}  // namespace ak::app
