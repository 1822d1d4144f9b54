// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

#include "agent/search/members.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

// Shares of the turns while nothing is known of the members (chosen). The first leads almost everywhere;
// the others help where it is stuck, so they come in as answers without an improvement go by, in full
// from kStuck on.
constexpr std::array kFirstShares{0.7, 0.25, 0.05};
constexpr std::array<std::string_view, kFirstShares.size()> kNames{"bayesian", "forest", "local-search"};
constexpr double kNotStuck = 100, kStuck = 400;
// Credit fades with every answer; kPatience answers' worth of the first shares counts alongside it.
constexpr double kDecay = 0.97, kPatience = 4;

/// Several members over one history. Each answer is heard by all; the one that asked for it is credited when
/// it is among the fastest tenth, and gets more of the turns. Until the Gaussian process is stuck, it is
/// alone and proposes what it would without the others: these draw their own random numbers.
class Portfolio final : public Member {
 public:
  explicit Portfolio(std::uint64_t seed)
      : members_{bayesian(), tree_search(), local_search(true)}, engine_(seed) {}

  [[nodiscard]] bool uses_prior() const override { return true; }

  PointNumber pick(const History& history, Engine& engine) override {
    const std::size_t turn = choose();
    const PointNumber point = members_[turn]->pick(history, turn == 0 ? engine : engine_);
    asked_[point] = last_ = turn;
    return point;
  }

  void learn(const History& history, const Observation& answer, Engine& engine) override {
    for (std::size_t i = 0; i < members_.size(); ++i)
      members_[i]->learn(history, answer, i == 0 ? engine : engine_);
    since_improvement_ = history.best() && history.best()->point == answer.point ? 0 : since_improvement_ + 1;
    const auto asked = asked_.find(answer.point);
    if (asked == asked_.end()) return;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      credit_[i] *= kDecay;
      turns_[i] *= kDecay;
    }
    turns_[asked->second] += 1;
    if (answer.log_time && rank(history, *answer.log_time) * 10 <= history.told().size())
      credit_[asked->second] += 1;
    asked_.erase(asked);
  }

  [[nodiscard]] std::string_view member_name() const override { return kNames[last_]; }

 private:
  /// How many were faster.
  static std::size_t rank(const History& history, double log_time) {
    return static_cast<std::size_t>(std::ranges::count_if(history.told(), [&](const Observation& other) {
      return other.log_time && *other.log_time < log_time;
    }));
  }

  std::size_t choose() {
    const double stuck = std::clamp((since_improvement_ - kNotStuck) / (kStuck - kNotStuck), 0.0, 1.0);
    std::array<double, kFirstShares.size()> shares{};
    double sum = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double success = (credit_[i] + kPatience / 2) / (turns_[i] + kPatience);
      shares[i] = kFirstShares[i] * success * (i == 0 ? 1 : stuck);
      sum += shares[i];
    }
    double left = draw_unit(engine_) * sum;
    for (std::size_t i = 0; i + 1 < shares.size(); ++i) {
      left -= shares[i];
      if (left < 0) return i;
    }
    return shares.size() - 1;
  }

  std::array<std::unique_ptr<Member>, kFirstShares.size()> members_;
  Engine engine_;  ///< of all but the first member
  std::array<double, kFirstShares.size()> credit_{}, turns_{};
  std::size_t last_ = 0;                                ///< that chose
  double since_improvement_ = 0;                        ///< answers
  std::unordered_map<PointNumber, std::size_t> asked_;  ///< by whom, of points in flight
};

}  // namespace

const Strategy kPortfolio{
    "portfolio", "bayesian, forest and local-search, by their success",
    [](std::shared_ptr<const TunableSpace> space, std::uint64_t seed, const EarlierSearches& earlier) {
      return stand_alone(std::move(space), seed, earlier, std::make_unique<Portfolio>(seed));
    }};

}  // namespace ak::agent
