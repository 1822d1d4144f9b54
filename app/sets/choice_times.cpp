// SPDX-License-Identifier: Apache-2.0
#include "app/sets/choice_times.h"

#include <algorithm>
#include <cmath>

#include "app/sets/drawn_shapes.h"

namespace ak::app {

std::vector<std::vector<std::size_t>> asked_of(const ChoiceQuestion& question) {
  std::vector<std::vector<std::size_t>> asked =
      near_shapes(question.estimated_ns, DrawnTimes::of(question.shapes, question.estimated_ns.size()));
  for (std::size_t shape = 0; shape < question.shapes.size(); ++shape) {
    std::vector<std::size_t>& own = asked[question.chosen[shape]];
    if (std::ranges::find(own, shape) == own.end()) own.push_back(shape);
  }
  return asked;
}

std::vector<SetShapeRecord> time_choice(MemberMeasurements& measurements,
                                        const std::vector<Candidate>& members, const ChoiceQuestion& question,
                                        const std::function<void()>& go_on) {
  const std::vector<std::vector<std::size_t>> asked = asked_of(question);
  std::vector<MemberTimes> times;
  for (std::size_t member = 0; member < members.size(); ++member) {
    go_on();
    const auto answer = measurements.time(members[member], question.shapes, asked[member], TimeQuality::full);
    if (!answer || answer->times_ns.size() != question.shapes.size()) return {};
    times.push_back(*answer);
  }
  std::vector<SetShapeRecord> records;
  for (std::size_t shape = 0; shape < question.shapes.size(); ++shape) {
    const std::size_t chosen = question.chosen[shape];
    if (!std::isfinite(times[chosen].times_ns[shape])) continue;
    const auto best =
        std::ranges::min_element(times, {}, [&](const MemberTimes& one) { return one.times_ns[shape]; });
    records.push_back({.workload = question.shapes[shape],
                       .held_out = true,
                       .member = chosen + 1,
                       .member_ns = times[chosen].times_ns[shape],
                       .best_ns = best->times_ns[shape],
                       .best_variant = best->variant});
  }
  return records;
}

}  // namespace ak::app
