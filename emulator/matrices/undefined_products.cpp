// SPDX-License-Identifier: Apache-2.0
#include "emulator/matrices/undefined_products.h"

#include <algorithm>

namespace ak::emulator {
namespace {

using Origins = UndefinedValues::Origin;

/// The worst of `bytes` bytes from `first` on of a lane's register.
Origins worst(Warp& warp, Slot slot, int lane, std::uint32_t register_bytes, std::uint32_t first,
              std::uint32_t bytes) {
  if ((slot & kConstantSlot) != 0) return 0;
  const Origins* const states = warp.undefined->at(slot, lane, register_bytes) + first;
  return *std::max_element(states, states + bytes);
}

/// By line of A or B: 4 lanes after the other hold one of a tile.
template <std::size_t kCount>
void add_lines(Warp& warp, const FragmentLayout& layout, const Slot* slots,
               std::array<Origins, kCount>& lines) {
  const auto bytes = static_cast<std::uint32_t>(layout.lane_bytes());
  for (int t = 0; t < layout.tiles(); ++t) {
    for (int lane = 0; lane < kLanes; ++lane) {
      Origins& line =
          lines[static_cast<std::size_t>(layout.place_of(t).line) + static_cast<std::size_t>(lane) / 4];
      line = std::max(line, worst(warp, slots[t], lane, bytes, 0, bytes));
    }
  }
}

/// f(element's place, its slot, lane, first byte, bytes) for every element of an accumulator.
template <class F>
void for_each_accumulator(const FragmentLayout& layout, const Slot* slots, F f) {
  const auto bytes = static_cast<std::uint32_t>(bits(layout.type) / 8);
  for (int t = 0; t < layout.tiles(); ++t) {
    const auto [line, at] = layout.place_of(t);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int odd = 0; odd < 2; ++odd) {
        const FragmentLayout::Place place{line + lane / 4, at + lane % 4 * 2 + odd};
        if (layout.spread())
          f(place, slots[2 * t + odd], lane, 0u, bytes);
        else
          f(place, slots[t], lane, static_cast<std::uint32_t>(odd) * bytes, bytes);
      }
    }
  }
}

}  // namespace

void mark_products(Warp& warp, const Fragments& all, UndefinedFactors factors) {
  add_lines(warp, all.a, all.a_slots, factors.rows);
  add_lines(warp, all.b, all.b_slots, factors.columns);
  const auto lane_bytes = static_cast<std::uint32_t>(all.d.lane_bytes());
  std::array<Origins, std::size_t{kMaxM} * kMaxN> sums{};
  const auto sum_at = [&](const FragmentLayout::Place& place) -> Origins& {
    return sums[static_cast<std::size_t>(place.line) * kMaxN + static_cast<std::size_t>(place.at)];
  };
  for_each_accumulator(
      all.c, all.c_slots, [&](const auto& place, Slot slot, int lane, auto first, auto bytes) {
        const Origins found = std::max({factors.rows[static_cast<std::size_t>(place.line)],
                                        factors.columns[static_cast<std::size_t>(place.at)],
                                        worst(warp, slot, lane, lane_bytes, first, bytes)});
        sum_at(place) = found == 0 ? found : static_cast<Origins>(found | UndefinedValues::kComputed);
      });
  for_each_accumulator(
      all.d, all.d_slots, [&](const auto& place, Slot slot, int lane, auto first, auto bytes) {
        std::fill_n(warp.undefined->at(slot, lane, lane_bytes) + first, bytes, sum_at(place));
      });
}

}  // namespace ak::emulator
