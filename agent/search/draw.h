// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace ak::agent {

/// The same everywhere: std::mt19937_64 is fixed by the standard, its distributions are not.
using Engine = std::mt19937_64;

/// Uniform in [0, bound).
[[nodiscard]] inline std::uint64_t draw_below(Engine& engine, std::uint64_t bound) {
  const std::uint64_t excess =
      (0 - bound) % bound;  // 2^64 mod bound: values below it would favour small results
  std::uint64_t value = engine();
  while (value < excess) value = engine();
  return value % bound;
}

/// Uniform in [0, 1).
[[nodiscard]] inline double draw_unit(Engine& engine) {
  return static_cast<double>(engine() >> 11) * 0x1.0p-53;
}

template <typename T>
void shuffle(Engine& engine, std::vector<T>& items) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[draw_below(engine, i)]);
}

}  // namespace ak::agent
