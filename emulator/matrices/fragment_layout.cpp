// SPDX-License-Identifier: Apache-2.0
#include "emulator/matrices/fragment_layout.h"

#include "emulator/numbers/rounding.h"

namespace ak::emulator {
namespace {

constexpr int kLanesPerLine = 4;

/// Cell: what a lane holds of an accumulator with two registers a tile.
template <class Cell, class T>
void read_spread(const Warp& warp, const Slot* slots, const FragmentLayout& layout, T* to) {
  for (int t = 0; t < layout.tiles(); ++t) {
    const Cell* even = source<Cell>(warp, slots[2 * t]);
    const Cell* odd = source<Cell>(warp, slots[2 * t + 1]);
    const auto [line, at] = layout.place_of(t);
    for (int i = 0; i < 8; ++i) {
      T* row = to + (line + i) * layout.length + at;
      for (int j = 0; j < kLanesPerLine; ++j) {
        row[2 * j] = even[i * kLanesPerLine + j];
        row[2 * j + 1] = odd[i * kLanesPerLine + j];
      }
    }
  }
}

float result(float, double sum) { return canonical(static_cast<float>(sum)); }
double result(double, double sum) { return sum; }
std::int32_t result(std::int32_t, std::int32_t sum) { return sum; }

template <class Cell, class T>
void write_spread(Warp& warp, const Slot* slots, const FragmentLayout& layout, const T* from) {
  alignas(64) Cell even[kLanes], odd[kLanes];
  for (int t = 0; t < layout.tiles(); ++t) {
    const auto [line, at] = layout.place_of(t);
    for (int i = 0; i < 8; ++i) {
      const T* row = from + (line + i) * layout.length + at;
      for (int j = 0; j < kLanesPerLine; ++j) {
        even[i * kLanesPerLine + j] = result(Cell{}, row[2 * j]);
        odd[i * kLanesPerLine + j] = result(Cell{}, row[2 * j + 1]);
      }
    }
    write_lanes(warp, destination<Cell>(warp, slots[2 * t]), even);
    write_lanes(warp, destination<Cell>(warp, slots[2 * t + 1]), odd);
  }
}

void write_halves(Warp& warp, const Slot* slots, const FragmentLayout& layout, const double* from) {
  alignas(64) std::uint32_t pairs[kLanes];
  for (int t = 0; t < layout.tiles(); ++t) {
    const auto [line, at] = layout.place_of(t);
    for (int i = 0; i < 8; ++i) {
      const double* row = from + (line + i) * layout.length + at;
      for (int j = 0; j < kLanesPerLine; ++j)
        pairs[i * kLanesPerLine + j] = encode<kF16>(row[2 * j]) | encode<kF16>(row[2 * j + 1]) << 16;
    }
    write_lanes(warp, destination<std::uint32_t>(warp, slots[t]), pairs);
  }
}

}  // namespace

void read_accumulators(const Warp& warp, const Slot* slots, const FragmentLayout& layout, double* to) {
  if (layout.type == Type::f32) return read_spread<float>(warp, slots, layout, to);
  if (layout.type == Type::f64) return read_spread<double>(warp, slots, layout, to);
  read_rows(warp, slots, layout, float_decoder(layout.type), to);
}

void read_accumulators(const Warp& warp, const Slot* slots, const FragmentLayout& layout, std::int32_t* to) {
  read_spread<std::int32_t>(warp, slots, layout, to);
}

void write_accumulators(Warp& warp, const Slot* slots, const FragmentLayout& layout, const double* from) {
  if (layout.type == Type::f32) return write_spread<float>(warp, slots, layout, from);
  if (layout.type == Type::f64) return write_spread<double>(warp, slots, layout, from);
  write_halves(warp, slots, layout, from);
}

void write_accumulators(Warp& warp, const Slot* slots, const FragmentLayout& layout,
                        const std::int32_t* from) {
  write_spread<std::int32_t>(warp, slots, layout, from);
}

}  // namespace ak::emulator
