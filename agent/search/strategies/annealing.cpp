// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "agent/search/member.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

// A step to a point 1.2 times as slow is taken with 1/e at the start; after 40 answers the temperature is
// half of that, so that it suits a budget of some hundreds (both chosen).
constexpr double kFirstTemperature = 0.2, kHalvedAfter = 40;

/// Simulated annealing on log times.
class Annealing final : public Member {
 public:
  PointNumber pick(const History& history, Engine& engine) override {
    if (!current_) return history.draw_unseen(engine);
    std::vector<PointNumber> near = history.points().neighbours(current_->point);
    std::erase_if(near, [&](PointNumber point) { return !history.unseen(point); });
    if (!near.empty()) return near[draw_below(engine, near.size())];
    const PointNumber start = current_->point;
    current_.reset();
    return history.snap(engine, history.points().ordinals(start));
  }

  void learn(const History& history, const Observation& answer, Engine& engine) override {
    if (!answer.log_time) return;
    const double temperature =
        kFirstTemperature / (1 + static_cast<double>(history.told().size()) / kHalvedAfter);
    if (!current_ || draw_unit(engine) < std::exp((*current_->log_time - *answer.log_time) / temperature))
      current_ = answer;
  }

 private:
  std::optional<Observation> current_;
};

}  // namespace

const Strategy kAnnealing{"annealing", "simulated annealing", alone<Annealing>};

}  // namespace ak::agent
