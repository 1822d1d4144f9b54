// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "agent/search/member.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

constexpr std::size_t kAgents = 16;                      // chosen for budgets of some hundreds
constexpr double kDifferential = 0.7, kCrossover = 0.8;  // of the usual ranges 0.5-0.9 and 0.7-0.9

/// Differential evolution on ordinals: a trial is the agent, where crossover says so replaced by
/// best + F (b - c), snapped to an unseen point; it takes the agent's place when it is faster.
class DifferentialEvolution final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    const std::size_t turn = next_++ % kAgents;
    PointNumber trial = 0;
    if (agents_.size() < kAgents || !history.best()) {
      trial = history.draw_unseen(engine);
    } else {
      trial = history.snap(engine, mutant(history, engine, turn));
    }
    turns_[trial] = turn;
    return trial;
  }

  void learn(const History&, const Observation& answer, Engine&) override {
    const auto turn = turns_.find(answer.point);
    if (agents_.size() < kAgents) {
      agents_.push_back(answer);
    } else if (turn != turns_.end() && time(answer) < time(agents_[turn->second])) {
      agents_[turn->second] = answer;
    }
    if (turn != turns_.end()) turns_.erase(turn);
  }

 private:
  static double time(const Observation& answer) {
    return answer.log_time.value_or(std::numeric_limits<double>::infinity());
  }

  Ordinals mutant(const History& history, Engine& engine, std::size_t turn) const {
    const Points& points = history.points();
    const Ordinals best = points.ordinals(history.best()->point);
    const Ordinals b = points.ordinals(agents_[draw_below(engine, kAgents)].point);
    const Ordinals c = points.ordinals(agents_[draw_below(engine, kAgents)].point);
    Ordinals result(points.ordinals(agents_[turn].point));
    const std::size_t always = draw_below(engine, points.axes());
    for (std::size_t axis = 0; axis < points.axes(); ++axis) {
      if (axis != always && draw_unit(engine) >= kCrossover) continue;
      const double value = best[axis] + kDifferential * (int{b[axis]} - int{c[axis]});
      const double last = static_cast<double>(points.extent(axis) - 1);
      result[axis] = static_cast<char16_t>(std::lround(std::clamp(value, 0.0, last)));
    }
    return result;
  }

  std::vector<Observation> agents_;
  std::map<PointNumber, std::size_t> turns_;  ///< of the agent that a pending point challenges
  std::size_t next_ = 0;
};

}  // namespace

const Strategy kDifferentialEvolution{"differential-evolution", "differential evolution",
                                      alone<DifferentialEvolution>};

}  // namespace ak::agent
