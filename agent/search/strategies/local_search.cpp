// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "agent/search/members.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Axes that a kick changes (chosen: two leave the basin of most local optima and keep most of the point).
constexpr int kKickedAxes = 2;

/// Walks to the first better neighbour, closest values first, until none is left; then starts again from a
/// random point, or near the best one.
class LocalSearch final : public Member {
 public:
  explicit LocalSearch(bool from_best) : from_best_(from_best) {}

  PointNumber pick(const History& history, Engine& engine) override {
    while (!waiting_.empty()) {
      const PointNumber point = waiting_.back();
      waiting_.pop_back();
      if (history.unseen(point)) return point;
    }
    current_.reset();
    return from_best_ && history.best() ? kick(history, engine) : history.draw_unseen(engine);
  }

  void learn(const History& history, const Observation& answer, Engine& engine) override {
    if (!answer.log_time || (current_ && *answer.log_time >= *current_)) return;
    current_ = answer.log_time;
    waiting_ = history.points().neighbours(answer.point);
    shuffle(engine, waiting_);
    const auto close = history.points().adjacent(answer.point);
    std::stable_partition(waiting_.begin(), waiting_.end(),
                          [&](PointNumber point) { return std::ranges::count(close, point) == 0; });
  }

 private:
  static PointNumber kick(const History& history, Engine& engine) {
    const Points& points = history.points();
    Ordinals ordinals(points.ordinals(history.best()->point));
    for (int i = 0; i < kKickedAxes; ++i) {
      const std::size_t axis = draw_below(engine, points.axes());
      ordinals[axis] = static_cast<char16_t>(draw_below(engine, points.extent(axis)));
    }
    return history.snap(engine, ordinals);
  }

  bool from_best_;
  std::optional<double> current_;     ///< log time of the point whose neighbours are tried
  std::vector<PointNumber> waiting_;  ///< neighbours to try, the last first
};

}  // namespace

std::unique_ptr<Member> local_search(bool from_best) { return std::make_unique<LocalSearch>(from_best); }

const Strategy kLocalSearch{
    "local-search", "first better neighbour, again from near the best",
    [](std::shared_ptr<const TunableSpace> space, std::uint64_t seed, const EarlierSearches& earlier) {
      return stand_alone(std::move(space), seed, earlier, local_search(true));
    }};

}  // namespace ak::agent
