// SPDX-License-Identifier: Apache-2.0
#include "agent/search/member.h"

#include <algorithm>
#include <utility>

#include "agent/search/gain_estimate.h"

namespace ak::agent {
namespace {

constexpr std::size_t kStarts = 5;  // chosen: few enough to lose where the prior misleads

class StandAlone final : public SearchStrategy {
 public:
  StandAlone(std::shared_ptr<const TunableSpace> space, std::uint64_t seed, const EarlierSearches& earlier,
             std::unique_ptr<Member> member)
      : history_(std::move(space), earlier), engine_(seed), member_(std::move(member)) {}

  std::optional<TunableValues> ask() override {
    if (history_.exhausted()) return std::nullopt;
    const auto start = start_point();
    last_is_start_ = start.has_value();
    const PointNumber point = start ? *start : member_->pick(history_, engine_);
    history_.propose(point);
    return history_.points().tunable_values(point);
  }

  void tell(const TunableValues& values, std::optional<double> time_ns) override {
    const auto point = history_.points().find(values);
    if (point && history_.tell(*point, time_ns)) member_->learn(history_, history_.told().back(), engine_);
  }

  void give_up(const TunableValues& values) override {
    if (const auto point = history_.points().find(values)) history_.give_up(*point);
  }

  [[nodiscard]] std::optional<GainChances> gain_chances(double best_ns) override {
    return gain_.chances(history_, best_ns);
  }

  [[nodiscard]] std::string_view member_name() const override {
    return last_is_start_ ? "prior" : member_->member_name();
  }

 private:
  std::optional<PointNumber> start_point() {
    if (history_.prior() == nullptr || member_->uses_prior()) return std::nullopt;
    const auto& fastest = history_.prior()->fastest();
    while (starts_ < std::min(kStarts, fastest.size()))
      if (const PointNumber point = fastest[starts_++]; history_.unseen(point)) return point;
    return std::nullopt;
  }

  History history_;
  Engine engine_;
  std::unique_ptr<Member> member_;
  GainEstimate gain_;
  std::size_t starts_ = 0;  ///< of the prior's points, looked at
  bool last_is_start_ = false;
};

}  // namespace

std::unique_ptr<SearchStrategy> stand_alone(std::shared_ptr<const TunableSpace> space, std::uint64_t seed,
                                            const EarlierSearches& earlier, std::unique_ptr<Member> member) {
  return std::make_unique<StandAlone>(std::move(space), seed, earlier, std::move(member));
}

}  // namespace ak::agent
