// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <utility>

#include "agent/search/member.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

// Neighbours tried before a move, and moves for which a value that was left stays forbidden (chosen).
constexpr std::size_t kTried = 6, kTenure = 5;

/// Tabu search: moves to the fastest of a few neighbours, even when it is slower, and does not go back to a
/// value that it just left unless that is the best of all.
class Tabu final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    if (!current_) return history.draw_unseen(engine);
    if (given_ >= kTried) move(history);
    std::vector<PointNumber> near = history.points().neighbours(current_->point);
    std::erase_if(near, [&](PointNumber point) { return !history.unseen(point); });
    std::vector<PointNumber> allowed = near;
    std::erase_if(allowed, [&](PointNumber point) { return forbidden(history, point); });
    if (!allowed.empty()) near = std::move(allowed);
    ++given_;
    if (!near.empty()) return near[draw_below(engine, near.size())];
    const PointNumber left = current_->point;
    current_.reset();
    return history.snap(engine, history.points().ordinals(left));
  }

  void learn(const History& history, const Observation& answer, Engine&) override {
    if (!answer.log_time) return;
    if (!current_) current_ = answer;
    if (history.best()->point == answer.point) {
      step_to(history, answer);
    } else if (!next_ || *answer.log_time < *next_->log_time) {
      next_ = answer;
    }
  }

 private:
  void move(const History& history) {
    if (next_) step_to(history, *next_);
    given_ = 0;
  }

  void step_to(const History& history, const Observation& answer) {
    const Ordinals from = history.points().ordinals(current_->point);
    const Ordinals to = history.points().ordinals(answer.point);
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      if (from[axis] != to[axis]) left_.emplace_back(axis, from[axis]);
    while (left_.size() > kTenure) left_.pop_front();
    current_ = answer;
    next_.reset();
    given_ = 0;
  }

  [[nodiscard]] bool forbidden(const History& history, PointNumber point) const {
    const Ordinals ordinals = history.points().ordinals(point);
    return std::ranges::any_of(left_, [&](const auto& left) { return ordinals[left.first] == left.second; });
  }

  std::optional<Observation> current_, next_;          ///< where it is; the fastest tried since
  std::size_t given_ = 0;                              ///< neighbours given out since the last move
  std::deque<std::pair<std::size_t, char16_t>> left_;  ///< axes and the values that were left on them
};

}  // namespace

const Strategy kTabu{"tabu", "tabu search", alone<Tabu>};

}  // namespace ak::agent
