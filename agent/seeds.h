// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ak::agent {

/// Independent seed number `stream` of a run, the same on every machine (SplitMix64: Steele, Lea,
/// Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). Below 2^63, because SQLite's
/// integers are signed.
[[nodiscard]] constexpr std::uint64_t derive_seed(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t z = seed + (stream + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (z ^ (z >> 31)) >> 1;
}

}  // namespace ak::agent
