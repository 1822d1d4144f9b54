// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <utility>

#include "agent/search/builtin.h"

namespace ak::agent {
namespace {

/// Uniform in [0, bound). std::uniform_int_distribution may differ between standard libraries, and a seed
/// must mean the same order everywhere; std::mt19937_64 itself is fixed by the standard.
std::uint64_t draw_below(std::mt19937_64& engine, std::uint64_t bound) {
  const std::uint64_t excess =
      (0 - bound) % bound;  // 2^64 mod bound: values below it would favour small results
  std::uint64_t value = engine();
  while (value < excess) value = engine();
  return value % bound;
}

/// Draws without replacement: a Fisher-Yates shuffle done one step an ask.
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
  std::mt19937_64 engine_;
};

}  // namespace

std::unique_ptr<SearchStrategy> make_random(SearchSpace space, std::uint64_t seed) {
  return std::make_unique<RandomSearch>(std::move(space), seed);
}

}  // namespace ak::agent
