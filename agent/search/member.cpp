// SPDX-License-Identifier: Apache-2.0
#include "agent/search/member.h"

#include <utility>

namespace ak::agent {
namespace {

class StandAlone final : public SearchStrategy {
 public:
  StandAlone(std::shared_ptr<const TunableSpace> space, std::uint64_t seed, std::unique_ptr<Member> member)
      : history_(std::move(space)), engine_(seed), member_(std::move(member)) {}

  std::optional<TunableValues> ask() override {
    if (history_.exhausted()) return std::nullopt;
    const PointNumber point = member_->pick(history_, engine_);
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

  [[nodiscard]] std::string_view member_name() const override { return member_->member_name(); }

 private:
  History history_;
  Engine engine_;
  std::unique_ptr<Member> member_;
};

}  // namespace

std::unique_ptr<SearchStrategy> stand_alone(std::shared_ptr<const TunableSpace> space, std::uint64_t seed,
                                            std::unique_ptr<Member> member) {
  return std::make_unique<StandAlone>(std::move(space), seed, std::move(member));
}

}  // namespace ak::agent
