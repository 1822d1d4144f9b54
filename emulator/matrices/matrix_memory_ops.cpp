// SPDX-License-Identifier: Apache-2.0
// wmma.load and wmma.store.
#include "emulator/matrices/matrix_memory_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/memory_access.h"
#include "emulator/machine/warp_sync.h"
#include "emulator/matrices/matrix_form.h"

namespace ak::emulator {
namespace {

/// Memory side of a fragment: `lines` of `line_bytes`, adjacent here.
struct Lines {
  int count = 0, bytes = 0;
  alignas(64) std::byte memory[2048];
  [[nodiscard]] std::byte* at(int line) { return memory + line * bytes; }
};

// Op::aux of both, alongside the address's.
constexpr std::uint32_t kAlongLines = 1u << kFreeAuxBits;  ///< lines in memory are those of the fragment
constexpr int kRoleShift = kFreeAuxBits + 1, kSizeShift = kFreeAuxBits + 3, kTypeShift = kFreeAuxBits + 8;
constexpr std::uint32_t kRoleMask = 3, kSizeMask = 7;  ///< size: log2 of the bits of an element

FragmentLayout fragment_layout(const Op& op) {
  return {static_cast<Role>(op.aux >> kRoleShift & kRoleMask), static_cast<Type>(op.aux >> kTypeShift),
          static_cast<int>(op.c >> 16), static_cast<int>(op.c & 0xFFFFu)};
}

/// Touches all of the lines, 32 pieces at a time: f(host memory or null, place in `lines`, bytes).
template <class F>
void for_each_piece(Warp& warp, const Op& op, const AccessRequest& kind, Lines& lines, F f) {
  constexpr int kMaxPieceBytes = 16;
  const int piece = std::min(kMaxPieceBytes, lines.bytes), per_line = lines.bytes / piece;
  const int first = std::countr_zero(warp.mask), pieces = lines.count * per_line;
  alignas(64) std::uint64_t bases[kLanes];
  compute_addresses(warp, op.a, (op.aux & kWideBase) != 0, op.immediate, bases);
  const std::uint64_t step =
      std::uint64_t{source<std::uint32_t>(warp, op.b)[first]} << (op.aux >> kSizeShift & kSizeMask) >> 3;
  const std::uint32_t executing = warp.mask;
  for (int start = 0; start < pieces; start += kLanes) {
    Access access;
    const int count = std::min(kLanes, pieces - start);
    for (int i = 0; i < count; ++i) {
      const auto line = static_cast<std::uint64_t>((start + i) / per_line);
      const auto part = static_cast<std::uint64_t>((start + i) % per_line);
      access.addresses[i] = bases[first] + line * step + part * static_cast<std::uint64_t>(piece);
    }
    warp.mask = kAllLanes >> (kLanes - count);
    resolve(warp, op, static_cast<Space>(op.aux & kSpaceMask),
            {.bytes = static_cast<std::uint32_t>(piece), .kind = kind.kind, .purpose = kind.purpose}, access);
    warp.mask = executing;
    for (int i = 0; i < count; ++i) {
      std::byte* host = (access.mask >> i & 1u) != 0 ? access.at(i) : nullptr;
      f(host, lines.memory + (start + i) * piece, static_cast<std::size_t>(piece));
    }
  }
}

constexpr int kMaxMatrixRegisters = 8, kMaxRegisterBytes = 8 * kLanes;
using RegisterImages = std::byte[kMaxMatrixRegisters][kMaxRegisterBytes];

/// f(byte of the element in the images, in the lines, its size) for every element.
template <class F>
void for_each_element(const FragmentLayout& layout, bool along, RegisterImages& images, Lines& lines, F f) {
  const int width = layout.tile_length(), size = bits(layout.type) / 8;
  for (int t = 0; t < layout.tiles(); ++t) {
    const auto [line, at] = layout.place_of(t);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < width; ++j) {
        std::byte* image = layout.spread() ? images[2 * t + j % 2] + (i * 4 + j / 2) * layout.lane_bytes()
                                           : images[t] + (i * width + j) * size;
        std::byte* place =
            along ? lines.at(line + i) + (at + j) * size : lines.at(at + j) + (line + i) * size;
        f(image, place, static_cast<std::size_t>(size));
      }
    }
  }
}

Lines lines_of(const FragmentLayout& layout, bool along) {
  const int size = bits(layout.type) / 8;
  Lines lines;
  lines.count = along ? layout.lines : layout.length;
  lines.bytes = (along ? layout.length : layout.lines) * size;
  return lines;
}

void wmma_load(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const FragmentLayout layout = fragment_layout(op);
  const bool along = (op.aux & kAlongLines) != 0;
  Lines lines = lines_of(layout, along);
  for_each_piece(warp, op, {.kind = AccessKind::read, .purpose = Purpose::load}, lines,
                 [](const std::byte* host, std::byte* place, std::size_t size) {
                   if (host != nullptr)
                     std::memcpy(place, host, size);
                   else
                     std::memset(place, 0, size);
                 });
  alignas(64) RegisterImages images;
  for_each_element(
      layout, along, images, lines,
      [](std::byte* image, const std::byte* place, std::size_t size) { std::memcpy(image, place, size); });
  const auto registers = static_cast<std::uint32_t>(layout.registers());
  for (std::uint32_t i = 0; i < op.more_count; ++i) {
    const Slot slot = warp.launch->program.slots[op.more + i];
    const std::byte* image = images[i % registers];
    if (layout.lane_bytes() == 8)
      write_lanes(warp, destination<std::uint64_t>(warp, slot),
                  reinterpret_cast<const std::uint64_t*>(image));
    else
      write_lanes(warp, destination<std::uint32_t>(warp, slot),
                  reinterpret_cast<const std::uint32_t*>(image));
  }
}

void wmma_store(Warp& warp, const Op& op) {
  if (!await_lanes(warp, op, kAllLanes)) return;
  const FragmentLayout layout = fragment_layout(op);
  const bool along = (op.aux & kAlongLines) != 0;
  Lines lines = lines_of(layout, along);
  alignas(64) RegisterImages images;
  for (std::uint32_t i = 0; i < op.more_count; ++i) {
    const Slot slot = warp.launch->program.slots[op.more + i];
    std::memcpy(images[i], register_bytes(warp, slot),
                static_cast<std::size_t>(kLanes) * static_cast<std::size_t>(layout.lane_bytes()));
  }
  for_each_element(
      layout, along, images, lines,
      [](const std::byte* image, std::byte* place, std::size_t size) { std::memcpy(place, image, size); });
  for_each_piece(warp, op, {.kind = AccessKind::write, .purpose = Purpose::store}, lines,
                 [](std::byte* host, const std::byte* place, std::size_t size) {
                   if (host != nullptr) std::memcpy(host, place, size);
                 });
}

struct WmmaShapes {
  std::vector<MatrixShape> shapes;
  std::vector<Type> types;  ///< of A and B
};
const std::vector<WmmaShapes>& wmma_shapes() {
  static const std::vector<WmmaShapes> all = {
      {{{16, 16, 16}, {32, 8, 16}, {8, 32, 16}}, {Type::f16, Type::bf16, Type::s8, Type::u8}},
      {{{16, 16, 8}}, {Type::tf32}},
      {{{8, 8, 4}}, {Type::f64}},
      {{{8, 8, 32}}, {Type::s4, Type::u4}},
      {{{8, 8, 128}}, {Type::b1}},
  };
  return all;
}

/// The type of A and B with which `accumulator` goes, among those of one entry of wmma_shapes().
bool goes_with(Type accumulator, Type element) {
  switch (element) {
    case Type::f16:
      return accumulator == Type::f16 || accumulator == Type::f32;
    case Type::bf16:
    case Type::tf32:
      return accumulator == Type::f32;
    case Type::f64:
      return accumulator == Type::f64;
    default:
      return accumulator == Type::s32;
  }
}

bool is_accumulator_shape(const MatrixShape& shape, Type accumulator) {
  for (const WmmaShapes& entry : wmma_shapes()) {
    for (const Type element : entry.types) {
      if (is_wmma_shape(shape, element) && goes_with(accumulator, element)) return true;
    }
  }
  return false;
}

FragmentLayout wmma_layout(const Lowering& lowering, const MatrixShape& shape, Role role) {
  const Type type = lowering.type();
  const bool exists =
      role == Role::accumulator ? is_accumulator_shape(shape, type) : is_wmma_shape(shape, type);
  if (!exists) Lowering::unsupported(fmt::format("this shape of {}", to_string(type)));
  if (role == Role::accumulator) return accumulator_layout(shape, type);
  const MatrixForm form{shape, type, type};
  return role == Role::a ? layout_of_a(form) : layout_of_b(form);
}

/// Elements of less than a byte lie along the lines only: they move as words.
FragmentLayout in_words(FragmentLayout layout, bool along) {
  if (bits(layout.type) >= 8) return layout;
  if (!along) Lowering::unsupported("elements of less than a byte in this layout");
  layout.length = layout.length * bits(layout.type) / 32;
  layout.type = Type::b32;
  return layout;
}

Op wmma_transfer(Lowering& lowering, Role role, bool load) {
  const NamedShape shape = shape_of(lowering);
  lowering.accept_modifiers({"load", "store", "a", "b", "c", "d", "sync", "aligned", "row", "col", shape.name,
                             "global", "shared", "shared::cta"});
  const bool along = lowering.has(role == Role::b ? "col" : "row");
  if (lowering.has("row") == lowering.has("col")) Lowering::unsupported("this layout");
  const FragmentLayout elements = wmma_layout(lowering, shape.shape, role);
  const FragmentLayout layout = in_words(elements, along);
  Op op{.run = load ? wmma_load : wmma_store};
  lower_address(lowering, lowering.operand(load ? 1 : 0), op);
  op.aux |= (along ? kAlongLines : 0) | static_cast<std::uint32_t>(role) << kRoleShift |
            static_cast<std::uint32_t>(std::countr_zero(static_cast<unsigned>(bits(elements.type))))
                << kSizeShift |
            static_cast<std::uint32_t>(layout.type) << kTypeShift;
  op.c = static_cast<std::uint32_t>(layout.lines) << 16 | static_cast<std::uint32_t>(layout.length);
  const int default_stride = along ? elements.length : elements.lines;
  op.b = lowering.operand_count() > 2 ? lowering.source(lowering.operand(2), Type::u32)
                                      : lowering.constant(static_cast<std::uint64_t>(default_stride), 4);
  const Operand& list = lowering.operand(load ? 0 : 1);
  const std::vector<Slot> slots = load ? lowering.destinations(list, register_type(layout))
                                       : lowering.sources(list, register_type(layout));
  const bool repeated = load && role != Role::accumulator && layout.type == Type::f16;
  if (slots.size() != static_cast<std::size_t>(repeated ? kMaxMatrixRegisters : layout.registers()))
    Lowering::unsupported(fmt::format("a fragment of {} registers", slots.size()));
  lowering.more(op, slots);
  return op;
}

void classify_transfer(Lowering& lowering, bool load) {
  using enum InstructionClass;
  if (lowering.has("global")) return lowering.classify(load ? global_load : global_store);
  const bool shared = lowering.has("shared") || lowering.has("shared::cta");
  if (shared) return lowering.classify(load ? shared_load : shared_store);
  lowering.classify(load ? generic_load : generic_store);
}

}  // namespace

bool is_wmma_shape(const MatrixShape& shape, Type element) {
  for (const WmmaShapes& entry : wmma_shapes()) {
    const bool type = std::find(entry.types.begin(), entry.types.end(), element) != entry.types.end();
    if (type && std::find(entry.shapes.begin(), entry.shapes.end(), shape) != entry.shapes.end()) return true;
  }
  return false;
}

std::optional<Op> lower_wmma_load(Lowering& lowering) {
  const Role role = lowering.has("a") ? Role::a : lowering.has("b") ? Role::b : Role::accumulator;
  if (role == Role::accumulator && !lowering.has("c")) Lowering::unsupported("this matrix");
  classify_transfer(lowering, true);
  return wmma_transfer(lowering, role, true);
}

std::optional<Op> lower_wmma_store(Lowering& lowering) {
  if (!lowering.has("d")) Lowering::unsupported("this matrix");
  classify_transfer(lowering, false);
  return wmma_transfer(lowering, Role::accumulator, false);
}

}  // namespace ak::emulator
