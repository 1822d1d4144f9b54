// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "agent/search/points.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Walks the space in the order of its numbers.
class Exhaustive final : public SearchStrategy {
 public:
  explicit Exhaustive(std::shared_ptr<const TunableSpace> space) : points_(std::move(space)) {}

  std::optional<TunableValues> ask() override {
    if (next_ == points_.size()) return std::nullopt;
    return points_.tunable_values(next_++);
  }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  Points points_;
  PointNumber next_ = 0;
};

}  // namespace

const Strategy kExhaustive{"exhaustive", "every point once, one tunable after the other",
                           [](std::shared_ptr<const TunableSpace> space, std::uint64_t,
                              const EarlierSearches&) -> std::unique_ptr<SearchStrategy> {
                             return std::make_unique<Exhaustive>(std::move(space));
                           },
                           false};

}  // namespace ak::agent
