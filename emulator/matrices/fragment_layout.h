// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/machine/lanes.h"
#include "emulator/numbers/matrix_multiply.h"

namespace ak::emulator {

// Where the elements of a matrix lie that a warp holds in registers.
//
// All of mma's fragments follow one rule (PTX ISA 9.0, 9.7.14.5 "Matrix multiply-accumulate operation using
// mma"): a register of all 32 lanes, 4 lanes after the other, is 8 packed lines of 16 bytes (32 of f64). The
// lines are rows of A and of C, columns of B. So its 128 bytes, as they are in the register file, are a
// tile of 8 lines. An accumulator of 4 or 8 bytes has two registers a tile, one with the even columns and one
// with the odd ones. Tiles of A and C follow each other down the rows first, those of B along k first. The
// layouts of wmma are not defined; here they are the same.

/// What a matrix is to a multiplication, and so how its tiles are ordered.
enum class Role : std::uint8_t { a, b, accumulator };

/// A matrix held by a warp: `lines` x `length` elements, lines being what registers hold 8 of.
struct FragmentLayout {
  Role role = Role::a;
  Type type = Type::f16;
  int lines = 0, length = 0;

  /// Bytes of a lane in one register.
  [[nodiscard]] constexpr int lane_bytes() const { return type == Type::f64 ? 8 : 4; }
  /// Elements of a line in one tile.
  [[nodiscard]] int tile_length() const { return spread() ? 8 : 4 * 8 * lane_bytes() / bits(type); }
  /// Two registers a tile.
  [[nodiscard]] constexpr bool spread() const {
    return role == Role::accumulator && (type == Type::f32 || type == Type::f64 || type == Type::s32);
  }
  [[nodiscard]] int tiles() const { return lines / 8 * (length / tile_length()); }
  [[nodiscard]] int registers() const { return spread() ? 2 * tiles() : tiles(); }
  struct Place {
    int line = 0, at = 0;
  };
  /// First element of a tile.
  [[nodiscard]] Place place_of(int tile) const {
    const int along = length / tile_length(), down = lines / 8;
    if (role == Role::b) return {tile / along * 8, tile % along * tile_length()};
    return {tile % down * 8, tile / down * tile_length()};
  }
};

/// The bytes of a register of all lanes.
[[nodiscard]] inline const std::byte* register_bytes(const Warp& warp, Slot slot) {
  return reinterpret_cast<const std::byte*>(source<std::uint32_t>(warp, slot));
}

constexpr int kMaxTileElements = 8 * 32;  ///< of 4 bits; bits are moved as words

/// Rows of A as numbers: m x k.
template <class T>
void read_rows(const Warp& warp, const Slot* slots, const FragmentLayout& layout, Decoder<T> decode, T* to) {
  alignas(64) T tile[kMaxTileElements];
  const int width = layout.tile_length();
  for (int t = 0; t < layout.tiles(); ++t) {
    decode(register_bytes(warp, slots[t]), 8 * width, tile);
    const auto [line, at] = layout.place_of(t);
    for (int i = 0; i < 8; ++i) {
      T* row = to + (line + i) * layout.length + at;
      for (int j = 0; j < width; ++j) row[j] = tile[i * width + j];
    }
  }
}

/// Columns of B as numbers, turned into rows: k x n.
template <class T>
void read_columns(const Warp& warp, const Slot* slots, const FragmentLayout& layout, Decoder<T> decode,
                  T* to) {
  alignas(64) T tile[kMaxTileElements];
  const int width = layout.tile_length(), n = layout.lines;
  for (int t = 0; t < layout.tiles(); ++t) {
    decode(register_bytes(warp, slots[t]), 8 * width, tile);
    const auto [line, at] = layout.place_of(t);
    for (int j = 0; j < width; ++j) {
      T* row = to + (at + j) * n + line;
      for (int i = 0; i < 8; ++i) row[i] = tile[i * width + j];
    }
  }
}

/// Accumulators as numbers: m x n. f16, f32 and f64 as double, s32 as it is.
void read_accumulators(const Warp& warp, const Slot* slots, const FragmentLayout& layout, double* to);
void read_accumulators(const Warp& warp, const Slot* slots, const FragmentLayout& layout, std::int32_t* to);
/// Rounds m x n numbers to the accumulators' type and writes them to the lanes in warp.mask.
void write_accumulators(Warp& warp, const Slot* slots, const FragmentLayout& layout, const double* from);
void write_accumulators(Warp& warp, const Slot* slots, const FragmentLayout& layout,
                        const std::int32_t* from);

}  // namespace ak::emulator
