// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "agent/search/draw.h"

namespace ak::agent {

/// The numbers from 0 to n - 1 in any order, from which some are taken: a list whose last element fills the gap
/// that one leaves. Only what moved is stored, so memory follows what was taken, however large n is.
class RemainingNumbers {
 public:
  explicit RemainingNumbers(std::uint64_t count) : size_(count) {}

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool contains(std::uint64_t number) const;
  /// Does nothing where it was taken before.
  void take(std::uint64_t number);
  /// Uniform; there is at least one.
  [[nodiscard]] std::uint64_t draw(Engine& engine) const;
  /// Up to `count`, without replacement, in a random order.
  [[nodiscard]] std::vector<std::uint64_t> sample(Engine& engine, std::size_t count) const;

 private:
  [[nodiscard]] std::uint64_t at(std::uint64_t place) const;

  static constexpr std::uint64_t kTaken = ~std::uint64_t{0};
  std::uint64_t size_;
  std::unordered_map<std::uint64_t, std::uint64_t> moved_;  ///< place -> number, where they differ
  std::unordered_map<std::uint64_t, std::uint64_t>
      places_;  ///< number -> place, where they differ, or kTaken
};

}  // namespace ak::agent
