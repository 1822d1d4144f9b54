// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "agent/search/points.h"
#include "agent/search/remaining_numbers.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Draws without replacement.
class RandomSearch final : public SearchStrategy {
 public:
  RandomSearch(std::shared_ptr<const TunableSpace> space, std::uint64_t seed)
      : points_(std::move(space)), remaining_(points_.size()), engine_(seed) {}

  std::optional<TunableValues> ask() override {
    if (remaining_.size() == 0) return std::nullopt;
    const PointNumber point = remaining_.draw(engine_);
    remaining_.take(point);
    return points_.tunable_values(point);
  }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  Points points_;
  RemainingNumbers remaining_;
  Engine engine_;
};

}  // namespace

const Strategy kRandomSearch{"random", "every point once, in a random order",
                             [](std::shared_ptr<const TunableSpace> space, std::uint64_t seed,
                                const EarlierSearches&) -> std::unique_ptr<SearchStrategy> {
                               return std::make_unique<RandomSearch>(std::move(space), seed);
                             },
                             false};

}  // namespace ak::agent
