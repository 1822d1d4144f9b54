// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix (PTX ISA 9.0, 9.7.14.5.15 to 9.7.14.5.17).
#include "emulator/matrices/matrix_row_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/check/undefined_values.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_access.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

// ---- rows: each lane has the address of one, 16 bytes of shared memory

constexpr int kRowLength = 16;
/// By lane: bytes of memory, or for each of them where a value that no one wrote came from.
template <class Byte>
using Rows = Byte[kLanes][kRowLength];
/// A register of all lanes.
template <class Byte>
using Image = Byte[kLanes][4];

/// How 16 elements lie in a row of memory.
enum class Packing : std::uint8_t { bytes, six_bits, four_bits };

/// Elements of 6 and 4 bits become bytes; behind them a row is padding.
void unpack(Packing packing, const std::byte* row, std::byte* to) {
  if (packing == Packing::bytes) {
    std::memcpy(to, row, kRowLength);
    return;
  }
  const int bits = packing == Packing::six_bits ? 6 : 4;
  for (int i = 0; i < kRowLength; ++i) {
    const int at = i * bits;
    std::uint16_t pair = 0;
    std::memcpy(&pair, row + at / 8, at / 8 + 1 < kRowLength ? 2 : 1);
    to[i] = static_cast<std::byte>(pair >> (at % 8) & ((1 << bits) - 1));
  }
}

using Origin = UndefinedValues::Origin;
void unpack(Packing packing, const Origin* row, Origin* to) {
  const int bits = packing == Packing::bytes ? 8 : packing == Packing::six_bits ? 6 : 4;
  for (int i = 0; i < kRowLength; ++i) to[i] = std::max(row[i * bits / 8], row[(i * bits + bits - 1) / 8]);
}

// ---- how rows become registers. A register holds 8 rows of a matrix, 4 lanes after the other, as
// fragment_layout.h says.

enum class Arrangement : std::uint8_t {
  plain,             ///< 8 rows as they are
  transposed_pairs,  ///< 8 x 8 elements of 16 bits, transposed
  transposed_bytes,  ///< 16 x 16 bytes, transposed: of two registers the first has columns 0 to 7
  transposed_halves,  ///< 8 rows of 16 bytes that are the columns of a register with two rows by two columns a lane
};

/// Where byte `i` of a lane of register `which` lies.
struct RowPlace {
  int row = 0, at = 0;
};
template <Arrangement kArrangement>
constexpr RowPlace row_place(int which, int lane, int i) {
  const int line = lane / 4, part = lane % 4;
  if constexpr (kArrangement == Arrangement::plain) return {8 * which + line, 4 * part + i};
  if constexpr (kArrangement == Arrangement::transposed_pairs)
    return {8 * which + 2 * part + i / 2, 2 * line + i % 2};
  if constexpr (kArrangement == Arrangement::transposed_bytes)
    return {16 * (which / 2) + 4 * part + i, line + 8 * (which % 2)};
  return {8 * which + 2 * part + i % 2, line + 8 * (i / 2)};
}

/// Moves register `which` from the rows or to them.
template <Arrangement kArrangement, bool kToRows, class Byte>
void arrange(int which, Rows<Byte>& rows, Image<Byte>& image) {
  constexpr int kUnit = kArrangement == Arrangement::plain              ? 4
                        : kArrangement == Arrangement::transposed_pairs ? 2
                                                                        : 1;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < 4; i += kUnit) {
      const RowPlace place = row_place<kArrangement>(which, lane, i);
      Byte *const in_row = &rows[place.row][place.at], *const in_register = &image[lane][i];
      std::memcpy(kToRows ? in_row : in_register, kToRows ? in_register : in_row, kUnit);
    }
  }
}

template <bool kToRows, class Byte>
void arrange(Arrangement arrangement, int which, Rows<Byte>& rows, Image<Byte>& image) {
  using enum Arrangement;
  switch (arrangement) {
    case plain:
      return arrange<plain, kToRows>(which, rows, image);
    case transposed_pairs:
      return arrange<transposed_pairs, kToRows>(which, rows, image);
    case transposed_bytes:
      return arrange<transposed_bytes, kToRows>(which, rows, image);
    case transposed_halves:
      return arrange<transposed_halves, kToRows>(which, rows, image);
  }
}

// ---- handlers. Op::c has the form.

struct RowForm {
  Arrangement arrangement = Arrangement::plain;
  Packing packing = Packing::bytes;
  std::uint8_t rows = 0;  ///< lanes whose addresses count
  std::uint8_t unused = 0;
};
static_assert(sizeof(RowForm) == sizeof(Slot));
RowForm row_form(const Op& op) { return std::bit_cast<RowForm>(op.c); }

/// Resolves the rows' addresses; they must be in shared memory. Returns the rows that may be touched.
std::uint32_t resolve_rows(Warp& warp, const Op& op, AccessKind kind, Purpose purpose, Access& access) {
  const std::uint32_t executing = warp.mask;
  warp.mask &= kAllLanes >> (kLanes - row_form(op).rows);
  std::uint32_t rows = 0;
  if (warp.mask != 0) {
    resolve(warp, op, {.bytes = kRowLength, .kind = kind, .purpose = purpose}, access);
    for_each_lane(access.mask & ~access.shared, [&](int lane) {
      report_fault(warp, op, FaultKind::wrong_space, lane, access.addresses[lane], kRowLength);
    });
    rows = access.mask & access.shared;
  }
  warp.mask = executing;
  return rows;
}

/// Registers that hold bytes which no one wrote; those of padding are in none.
void load_undefined(Warp& warp, const Op& op) {
  const UndefinedValues::Loaded loaded = warp.undefined->take_load();
  if (loaded.origin == 0) return;
  const RowForm form = row_form(op);
  Rows<Origin> rows = {};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Origin row[kRowLength];
    for (int i = 0; i < kRowLength; ++i)
      row[i] = (loaded.bytes[lane] >> i & 1u) != 0 ? loaded.origin : Origin{0};
    unpack(form.packing, row, rows[lane]);
  }
  for (std::uint32_t i = 0; i < op.more_count; ++i) {
    Image<Origin> image;
    arrange<false>(form.arrangement, static_cast<int>(i), rows, image);
    for_each_lane(warp.mask, [&](int lane) {
      std::copy_n(image[lane], 4, warp.undefined->at(warp.launch->program.slots[op.more + i], lane, 4));
    });
  }
}

void ldmatrix(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const RowForm form = row_form(op);
  alignas(64) Rows<std::byte> rows = {};
  Access access;
  for_each_lane(resolve_rows(warp, op, AccessKind::read, Purpose::load, access),
                [&](int lane) { unpack(form.packing, access.at(lane), rows[lane]); });
  for (std::uint32_t i = 0; i < op.more_count; ++i) {
    alignas(64) Image<std::byte> image;
    arrange<false>(form.arrangement, static_cast<int>(i), rows, image);
    std::uint32_t* to = destination<std::uint32_t>(warp, warp.launch->program.slots[op.more + i]);
    write_lanes(warp, to, reinterpret_cast<const std::uint32_t*>(image));
  }
  if (warp.undefined != nullptr) [[unlikely]]
    load_undefined(warp, op);
}

void stmatrix(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  alignas(64) Rows<std::byte> rows;
  for (std::uint32_t i = 0; i < op.more_count; ++i) {
    alignas(64) Image<std::byte> image;
    std::memcpy(image, source<std::uint32_t>(warp, warp.launch->program.slots[op.more + i]), sizeof image);
    arrange<true>(row_form(op).arrangement, static_cast<int>(i), rows, image);
  }
  Access access;
  for_each_lane(resolve_rows(warp, op, AccessKind::write, Purpose::store, access),
                [&](int lane) { std::memcpy(access.at(lane), rows[lane], kRowLength); });
}

void movmatrix(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  alignas(64) Rows<std::byte> rows = {};
  alignas(64) Image<std::byte> from, turned;
  std::memcpy(from, source<std::uint32_t>(warp, op.a), sizeof from);
  arrange<true>(Arrangement::plain, 0, rows, from);
  arrange<false>(Arrangement::transposed_pairs, 0, rows, turned);
  write_lanes(warp, destination<std::uint32_t>(warp, op.d), reinterpret_cast<const std::uint32_t*>(turned));
}

// ---- which forms there are

struct Entry {
  std::string_view shape;
  std::string_view elements;  ///< .b16, .b8, or the format in memory of elements that become bytes
  bool transposed;
  RowForm of_one;  ///< matrix
  int registers_of_one;
  int most;  ///< matrices
};
constexpr Entry kLoads[] = {
    {"m8n8", "b16", false, {Arrangement::plain, Packing::bytes, 8}, 1, 4},
    {"m8n8", "b16", true, {Arrangement::transposed_pairs, Packing::bytes, 8}, 1, 4},
    {"m8n16", "b6x16_p32", false, {Arrangement::plain, Packing::six_bits, 8}, 1, 4},
    {"m8n16", "b4x16_p64", false, {Arrangement::plain, Packing::four_bits, 8}, 1, 4},
    {"m16n16", "b8", true, {Arrangement::transposed_bytes, Packing::bytes, 16}, 2, 2},
    {"m16n16", "b6x16_p32", true, {Arrangement::transposed_bytes, Packing::six_bits, 16}, 2, 2},
    {"m16n16", "b4x16_p64", true, {Arrangement::transposed_bytes, Packing::four_bits, 16}, 2, 2},
};
constexpr Entry kStores[] = {
    {"m8n8", "b16", false, {Arrangement::plain, Packing::bytes, 8}, 1, 4},
    {"m8n8", "b16", true, {Arrangement::transposed_pairs, Packing::bytes, 8}, 1, 4},
    {"m16n8", "b8", true, {Arrangement::transposed_halves, Packing::bytes, 8}, 1, 4},
};

int count_of_matrices(const Lowering& lowering) {
  return lowering.has("x4") ? 4 : lowering.has("x2") ? 2 : 1;
}

const Entry& entry_of(const Lowering& lowering, std::span<const Entry> entries) {
  const auto found = std::ranges::find_if(entries, [&](const Entry& entry) {
    const bool becomes_bytes = entry.elements.size() > 3;
    return lowering.has(entry.shape) && lowering.has(entry.elements) &&
           entry.transposed == lowering.has("trans") && becomes_bytes == lowering.has("b8x16") &&
           count_of_matrices(lowering) <= entry.most;
  });
  if (found == entries.end()) Lowering::unsupported("this shape or type");
  return *found;
}

Op matrix_rows(Lowering& lowering, Handler run, std::span<const Entry> entries, bool load) {
  lowering.accept_modifiers({"sync", "aligned", "m8n8", "m8n16", "m16n8", "m16n16", "x1", "x2", "x4", "trans",
                             "shared", "shared::cta", "b8x16", "b6x16_p32", "b4x16_p64"});
  const Entry& entry = entry_of(lowering, entries);
  const int count = count_of_matrices(lowering);
  RowForm form = entry.of_one;
  form.rows = static_cast<std::uint8_t>(form.rows * count);
  Op op{.run = run, .c = std::bit_cast<Slot>(form)};
  lower_address(lowering, lowering.operand(load ? 1 : 0), op);
  const Operand& list = lowering.operand(load ? 0 : 1);
  const std::vector<Slot> slots =
      load ? lowering.destinations(list, Type::b32) : lowering.sources(list, Type::b32);
  if (slots.size() != static_cast<std::size_t>(count) * static_cast<std::size_t>(entry.registers_of_one))
    Lowering::unsupported(fmt::format("{} registers", slots.size()));
  lowering.more(op, slots);
  lowering.classify(load ? InstructionClass::shared_load : InstructionClass::shared_store);
  return op;
}

}  // namespace

std::optional<Op> lower_ldmatrix(Lowering& lowering) { return matrix_rows(lowering, ldmatrix, kLoads, true); }
std::optional<Op> lower_stmatrix(Lowering& lowering) {
  return matrix_rows(lowering, stmatrix, kStores, false);
}

std::optional<Op> lower_movmatrix(Lowering& lowering) {
  lowering.accept_modifiers({"sync", "aligned", "m8n8", "trans"});
  if (!lowering.has("m8n8") || !lowering.has("trans") || lowering.type() != Type::b16)
    Lowering::unsupported("this shape or type");
  Op op{.run = movmatrix,
        .d = lowering.destination(lowering.operand(0), Type::b32),
        .a = lowering.source(lowering.operand(1), Type::b32)};
  lowering.classify(InstructionClass::warp);
  return op;
}

}  // namespace ak::emulator
