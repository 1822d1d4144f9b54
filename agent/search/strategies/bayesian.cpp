// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "agent/search/first_points.h"
#include "agent/search/members.h"
#include "agent/search/process_model.h"
#include "core/learn/stats.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

constexpr std::size_t kFirst = 8;  // spread points before the model is asked (chosen)
// With a prior, every so many-th proposal is of the model that uses it: of twice as many whenever so many of its points in
// a row were no improvement, up to a limit. Answers that judge the prior, and the rank correlation with them below which
// it is not asked. Points that it chooses before anything works (all chosen).
constexpr std::size_t kTurns = 2, kUseless = 3, kMostTurns = 16, kJudged = 4, kStarts = 5;
constexpr double kTrusted = 0.5;

/// Without a prior, one model. With one, two of them in turns: one that uses it and one that knows of the answers alone,
/// so that a prior that misleads costs half of the proposals until the answers show it, and few later.
class Bayesian final : public Member {
 public:
  [[nodiscard]] bool uses_prior() const override { return true; }

  PointNumber pick(const History& history, Engine& engine) override {
    if (history.prior() == nullptr || !trusted(history)) return cold_point(history, engine);
    if (turn_++ < next_turn_) return cold_point(history, engine);
    next_turn_ = turn_ - 1 + std::min(kTurns << useless_ / kUseless, kMostTurns);
    const PointNumber point = history.best() ? informed_.pick(history, engine) : start_point(history, engine);
    asked_.insert(point);
    return point;
  }

  void learn(const History& history, const Observation& answer, Engine&) override {
    if (asked_.erase(answer.point) == 0) return;
    const bool improves = history.best() && history.best()->point == answer.point;
    useless_ = improves ? 0 : std::min(useless_ + 1, kUseless * kMostTurns);
  }

 private:
  PointNumber cold_point(const History& history, Engine& engine) {
    if (!history.best() || history.told().size() < kFirst) return spread_point(history, engine);
    return cold_.pick(history, engine);
  }

  /// What the prior expects to be the fastest, of a few: where nothing works there it has no more to say.
  PointNumber start_point(const History& history, Engine& engine) {
    const auto& fastest = history.prior()->fastest();
    while (starts_ < std::min(kStarts, fastest.size()))
      if (const PointNumber point = fastest[starts_++]; history.unseen(point)) return point;
    return spread_point(history, engine);
  }

  /// Whether the prior puts the answers in about their order. Answers, not what it says of points in flight.
  [[nodiscard]] static bool trusted(const History& history) {
    std::vector<double> expected, found;
    for (const Observation& answer : history.told()) {
      if (!answer.log_time) continue;
      expected.push_back(history.prior()->at(answer.point).log_time);
      found.push_back(*answer.log_time);
    }
    return found.size() < kJudged || rank_correlation(expected, found) >= kTrusted;
  }

  ProcessModel informed_{{.uses_prior = true}}, cold_{{}};
  std::size_t turn_ = 0, next_turn_ = 0, starts_ = 0;
  std::unordered_set<PointNumber> asked_;  ///< of the prior's model, in flight
  std::size_t useless_ = 0;                ///< of its points, in a row
};

}  // namespace

std::unique_ptr<Member> bayesian() { return std::make_unique<Bayesian>(); }

const Strategy kBayesian{"bayesian", "Bayesian optimisation with a Gaussian process", alone<Bayesian>};

}  // namespace ak::agent
