// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "strategy_table.h"

namespace ak::agent {
namespace {

/// Walks the space in the order it is given, row-major.
class Exhaustive final : public SearchStrategy {
 public:
  explicit Exhaustive(SearchSpace space) : points_(std::move(space.points)) {}

  std::optional<TunableValues> ask() override {
    if (next_ == points_.size()) return std::nullopt;
    return std::move(points_[next_++]);
  }
  void tell(const TunableValues&, std::optional<double>) override {}

 private:
  std::vector<TunableValues> points_;
  std::size_t next_ = 0;
};

}  // namespace

const Strategy kExhaustive{"exhaustive", "every point once, in the order of the template",
                           [](const SearchSpace& space, std::uint64_t) -> std::unique_ptr<SearchStrategy> {
                             return std::make_unique<Exhaustive>(space);
                           }};

}  // namespace ak::agent
