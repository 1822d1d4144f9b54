// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "emulator/machine/warp.h"

namespace ak::emulator {

// How handlers see registers: arrays of 32 lanes. The library is compiled without strict aliasing, since one
// row is a float to one instruction and an integer to the next.

/// Type in which a lane of T is kept: 4 bytes for T of up to 4 bytes, else T itself.
template <class T>
using Lane = std::conditional_t<(sizeof(T) >= 4), T, std::uint32_t>;

template <class T>
[[nodiscard]] inline const Lane<T>* source(const Warp& warp, Slot slot) {
  const std::byte* base = (slot & kConstantSlot) != 0 ? warp.constants : warp.registers;
  return reinterpret_cast<const Lane<T>*>(base + (slot & ~kConstantSlot));
}
template <class T>
[[nodiscard]] inline Lane<T>* destination(Warp& warp, Slot slot) {
  return reinterpret_cast<Lane<T>*>(warp.registers + slot);
}

/// Value of a lane as T: T of 1 and 2 bytes from the low end of its 4 bytes, with T's sign.
template <class T>
[[nodiscard]] inline T value_of(Lane<T> lane) {
  if constexpr (sizeof(T) >= 4) {
    return lane;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    return std::bit_cast<T>(static_cast<Bits>(lane));
  }
}
/// The lane that holds `value`: zero-extended below 4 bytes.
template <class T>
[[nodiscard]] inline Lane<T> lane_of(T value) {
  if constexpr (sizeof(T) >= 4) {
    return value;
  } else {
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    return std::bit_cast<Bits>(value);
  }
}

/// Writes `values` to the lanes in warp.mask.
template <class L>
inline void write_lanes(Warp& warp, L* to, const L* values) {
  // Bits are tested in words as wide as the lanes, and both sides of the choice are read for every lane: so
  // the loop becomes blends without masked loads.
  using Word = std::conditional_t<sizeof(L) == 8, std::uint64_t, std::uint32_t>;
  const Word mask = warp.mask;
#pragma GCC ivdep
  for (int i = 0; i < kLanes; ++i) {
    const L value = values[i], old = to[i];
    to[i] = (mask & Word{1} << i) != 0 ? value : old;
  }
}

/// d = f(a, ...) for the lanes in warp.mask. `f` is evaluated for all 32 lanes where that is faster, so it
/// must be defined for any input. d may be the same row as an input.
template <class R, class... A, class F, class... Slots>
inline void map_lanes(Warp& warp, Slot d, F f, Slots... slots) {
  static_assert(sizeof...(A) == sizeof...(Slots));
  Lane<R>* to = destination<R>(warp, d);
  const auto apply = [&](Lane<R>* out, const Lane<A>*... in) {
#pragma GCC ivdep
    for (int i = 0; i < kLanes; ++i) out[i] = lane_of<R>(f(value_of<A>(in[i])...));
  };
  if (warp.mask == kAllLanes) {
    apply(to, source<A>(warp, slots)...);
  } else {
    alignas(64) Lane<R> values[kLanes];
    apply(values, source<A>(warp, slots)...);
    write_lanes(warp, to, values);
  }
}

/// One bit per lane from one 0 / nonzero word a lane.
[[nodiscard]] inline std::uint32_t to_mask(const std::int32_t* truth) {
  std::uint32_t bits = 0;
#ifdef __AVX2__
  for (int i = 0; i < kLanes; i += 8) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(truth + i));
    const __m256i zero = _mm256_cmpeq_epi32(words, _mm256_setzero_si256());
    bits |= static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(zero))) << i;
  }
  return ~bits;
#else
  for (int i = 0; i < kLanes; ++i) bits |= static_cast<std::uint32_t>(truth[i] != 0) << i;
  return bits;
#endif
}

[[nodiscard]] inline std::uint32_t predicate(const Warp& warp, PredicateSlot slot) {
  const std::uint32_t bits = warp.predicates[slot & ~kNegated];
  return (slot & kNegated) != 0 ? ~bits : bits;
}
/// Writes the lanes in warp.mask.
inline void set_predicate(Warp& warp, PredicateSlot slot, std::uint32_t bits) {
  std::uint32_t& to = warp.predicates[slot];
  to = (to & ~warp.mask) | (bits & warp.mask);
}

/// Calls f(lane) for every lane in `mask`, in ascending order.
template <class F>
inline void for_each_lane(std::uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

}  // namespace ak::emulator
