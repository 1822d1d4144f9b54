// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "agent/search/draw.h"
#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Draws without replacement: a Fisher-Yates shuffle done one step per ask.
class RandomSearch final : public SearchStrategy {
 public:
  RandomSearch(SearchSpace space, std::uint64_t seed) : points_(std::move(space.points)), engine_(seed) {}

  std::optional<TunableValues> ask() override {
    if (points_.empty()) return std::nullopt;
    std::swap(points_[draw_below(engine_, points_.size())], points_.back());
    TunableValues point = std::move(points_.back());
    points_.pop_back();
    return point;
  }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  std::vector<TunableValues> points_;
  Engine engine_;
};

}  // namespace

const Strategy kRandomSearch{
    "random", "every point once, in a random order",
    [](const SearchSpace& space, std::uint64_t seed) -> std::unique_ptr<SearchStrategy> {
      return std::make_unique<RandomSearch>(space, seed);
    }};

}  // namespace ak::agent
