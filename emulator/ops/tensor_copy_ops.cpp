// SPDX-License-Identifier: Apache-2.0
// Copies of tensor boxes between shared and global memory (TMA), and reductions into tensors.
#include "emulator/ops/tensor_copy_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/check/async_checker.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/memory_counts.h"
#include "emulator/machine/shared_range.h"
#include "emulator/machine/tensor_copy.h"
#include "emulator/numbers/element_update.h"
#include "emulator/ops/copy_engine.h"
#include "emulator/ops/copy_operands.h"

namespace ak::emulator {
namespace {

// Op::aux. Op::immediate of a reduction: its number in kReductions.
enum : std::uint32_t { kStore = 1, kTensorMulticast = 2, kReduce = 4, kRankShift = 8 };
// Words of a load: shared address, map address, barrier address, coordinates, ranks; of a store no barrier.
constexpr std::uint32_t kBox = 0, kMap = 3, kTensorBarrier = 6;
constexpr std::uint32_t kTensorAlignment = 128;  // PTX ISA 9.0, "cp.async.bulk.tensor"

const std::byte* map_memory(const Warp& warp, std::uint64_t address) {
  const Launch& launch = *warp.launch;
  if ((address & kWindowMask) == kParameterWindow) {
    const std::uint64_t offset = address & ~kWindowMask;
    const bool inside = offset + sizeof(TensorMapDescriptor) <= launch.parameters.size();
    return inside ? launch.parameters.data() + offset : nullptr;
  }
  return launch.arena.host(address, sizeof(TensorMapDescriptor));
}

/// A kernel may have changed what the driver wrote.
bool is_possible(const TensorMapDescriptor& map) {
  bool possible = map.element <= TensorElement::tfloat32_ftz && map.swizzle <= TensorSwizzle::b128 &&
                  map.fill <= TensorFill::nan;
  for (std::uint32_t d = 0; d < map.rank; ++d) {
    possible = possible && map.box[d] >= 1 && map.box[d] <= 256;
    possible = possible && map.element_strides[d] >= 1 && map.element_strides[d] <= 8;
  }
  return possible;
}

std::optional<TensorMapDescriptor> map_of(Warp& warp, const Op& op, int lane, std::uint32_t rank) {
  const std::byte* memory = map_memory(warp, address_at(warp, op, kMap, lane));
  const auto map = memory == nullptr ? std::nullopt : tensor_map_descriptor(memory);
  std::string wrong;
  if (!map)
    wrong = "the address holds no tensor map";
  else if (!is_possible(*map))
    wrong = "the tensor map was overwritten";
  else if (map->rank != rank)
    wrong = fmt::format("a tensor map of rank {} in an instruction for rank {}", map->rank, rank);
  else if (map->interleave != TensorInterleave::none)
    wrong = "interleaved tensor maps are not covered by the CPU device";
  if (wrong.empty()) return map;
  stop_with(warp, op, lane, FaultKind::invalid_operand, wrong);
  return std::nullopt;
}

std::uint64_t fill_pattern(const TensorMapDescriptor& map) {
  if (map.fill == TensorFill::zero) return 0;
  return bytes_of(map.element) == 2   ? 0x7FFFu
         : bytes_of(map.element) == 4 ? 0x7FFFFFFFu
                                      : 0x7FFFFFFFFFFFFFFFull;
}

void load_row(Block& block, const Arena& arena, const TensorMapDescriptor& map, std::uint32_t to,
              const TensorRow& row) {
  const std::uint32_t size = bytes_of(map.element);
  const std::uint64_t fill = fill_pattern(map);
  const std::byte* from =
      row.inside != 0 ? arena.host(row.global, std::uint64_t{row.inside} * size) : nullptr;
  for (std::uint32_t i = 0; i < row.elements; ++i) {
    std::byte* at = block.shared + swizzled(map.swizzle, to + row.box_offset + i * size);
    const bool inside = from != nullptr && i >= row.skipped && i < row.skipped + row.inside;
    std::memcpy(at, inside ? static_cast<const void*>(from + (i - row.skipped) * size) : &fill, size);
  }
}

void store_row(const Block& block, const Arena& arena, const TensorMapDescriptor& map, std::uint32_t from,
               const TensorRow& row, ElementUpdate update) {
  const std::uint32_t size = bytes_of(map.element);
  std::byte* to = row.inside != 0 ? arena.host(row.global, std::uint64_t{row.inside} * size) : nullptr;
  if (to == nullptr) return;
  for (std::uint32_t i = 0; i < row.inside; ++i) {
    const std::byte* element =
        block.shared + swizzled(map.swizzle, from + row.box_offset + (row.skipped + i) * size);
    if (update != nullptr)
      update(to + i * size, element);
    else
      std::memcpy(to + i * size, element, size);
  }
}

bool rows_may_be_touched(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map,
                         const std::array<std::int32_t, 5>& coordinates, AccessKind kind) {
  bool fine = true;
  for_each_row(map, coordinates, [&](const TensorRow& row) {
    const std::uint64_t bytes = std::uint64_t{row.inside} * bytes_of(map.element);
    fine = fine && may_touch(warp, op, Space::global, row.global, lane, bytes, kind);
  });
  return fine;
}

void load_box(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map,
              const std::array<std::int32_t, 5>& coordinates) {
  const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(box_bytes(map), 0xFFFFFFFFu));
  const auto to = shared_range(warp, op, lane, address_at(warp, op, kBox, lane), bytes, kTensorAlignment,
                               AccessKind::async_write);
  if (!to || !rows_may_be_touched(warp, op, lane, map, coordinates, AccessKind::async_read)) return;
  std::optional<std::uint32_t> ranks;
  if ((op.aux & kTensorMulticast) != 0)
    ranks = number_at(warp, op, kTensorBarrier + kAddressWords + map.rank, lane);
  const auto barrier = shared_place(warp, address_at(warp, op, kTensorBarrier, lane), 8);
  const std::vector<Block*> blocks = receivers(warp, *to, ranks);
  if (!valid_barrier(warp, op, lane, barrier, barrier_blocks(barrier, blocks, ranks))) return;
  announce_writes(warp, op, lane, blocks, to->offset, bytes);
  for (Block* block : blocks) {
    add_async_work(warp, [warp = &warp, lane, block, map, coordinates, to = to->offset, at = barrier->offset,
                          bytes, own = ranks ? nullptr : barrier->block](Launch& launch) {
      for_each_row(map, coordinates,
                   [&](const TensorRow& row) { load_row(*block, launch.arena, map, to, row); });
      finish_copy(warp, block, to, bytes);
      signal_copy(warp, lane, own != nullptr ? own : block, at, bytes);
    });
  }
}

/// What elements of a tensor are to element_update(); b8 for those that nothing combines.
Type combined_type(TensorElement element, bool bitwise) {
  using enum TensorElement;
  switch (element) {
    case uint32:
      return bitwise ? Type::b32 : Type::u32;
    case int32:
      return bitwise ? Type::b32 : Type::s32;
    case uint64:
      return bitwise ? Type::b64 : Type::u64;
    case int64:
      return bitwise ? Type::b64 : Type::s64;
    case float16:
      return Type::f16;
    case bfloat16:
      return Type::bf16;
    case float32:
    case float32_ftz:
      return Type::f32;
    case float64:
      return Type::f64;
    default:
      return Type::b8;
  }
}

/// How a store combines what it brings with what is there: null where it replaces it. Nothing after a fault.
std::optional<ElementUpdate> update_by(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map) {
  if ((op.aux & kReduce) == 0) return nullptr;
  const std::string_view operation = kReductions[static_cast<std::size_t>(op.immediate)];
  const bool bitwise = operation == "and" || operation == "or" || operation == "xor";
  const ElementUpdate update = element_update(operation, combined_type(map.element, bitwise));
  if (update != nullptr) return update;
  stop_with(warp, op, lane, FaultKind::invalid_operand,
            fmt::format("the tensor map's elements have no reduction .{}", operation));
  return std::nullopt;
}

void store_box(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map,
               const std::array<std::int32_t, 5>& coordinates) {
  const auto update = update_by(warp, op, lane, map);
  if (!update) return;
  const auto from = shared_range(warp, op, lane, address_at(warp, op, kBox, lane), box_bytes(map),
                                 kTensorAlignment, AccessKind::async_read);
  const AccessKind kind = *update != nullptr ? AccessKind::atomic : AccessKind::write;
  if (!from || !rows_may_be_touched(warp, op, lane, map, coordinates, kind)) return;
  announce_read(warp, op, lane, *from, box_bytes(map));
  add_async_work(warp, [from = *from, map, coordinates, update = *update](Launch& launch) {
    for_each_row(map, coordinates, [&](const TensorRow& row) {
      store_row(*from.block, launch.arena, map, from.offset, row, update);
    });
  });
}

/// Traffic of the copy of a box: of global memory what lies inside the tensor.
void count_box(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map,
               const std::array<std::int32_t, 5>& coordinates) {
  if (!counts_traffic(warp)) return;
  CopyTraffic traffic;
  for_each_row(map, coordinates, [&](const TensorRow& row) {
    traffic.global(row.global, std::uint64_t{row.inside} * bytes_of(map.element));
  });
  const std::uint32_t ranks_word = kTensorBarrier + kAddressWords + map.rank;
  const bool multicast = (op.aux & kTensorMulticast) != 0;
  traffic.shared(box_bytes(map), multicast ? receiver_count(warp, number_at(warp, op, ranks_word, lane)) : 1);
  traffic.count(warp, op);
}

void tensor_copy(Warp& warp, const Op& op) {
  const std::uint32_t rank = op.aux >> kRankShift;
  const bool store = (op.aux & kStore) != 0;
  const std::uint32_t first = store ? kTensorBarrier : kTensorBarrier + kAddressWords;
  for_each_lane(warp.mask, [&](int lane) {
    const auto map = map_of(warp, op, lane, rank);
    if (!map) return;
    std::array<std::int32_t, 5> coordinates{};
    for (std::uint32_t d = 0; d < rank; ++d)
      coordinates[d] = static_cast<std::int32_t>(number_at(warp, op, first + d, lane));
    count_box(warp, op, lane, *map, coordinates);
    if (store)
      store_box(warp, op, lane, *map, coordinates);
    else
      load_box(warp, op, lane, *map, coordinates);
  });
}

/// [map, {c0, c1, ...}] as an address and its coordinates.
void append_map(Lowering& lowering, const Operand& operand, std::vector<Slot>& words,
                std::vector<Slot>& coordinates) {
  append_address(lowering, operand, words);
  if (operand.elements.size() != 2 || operand.elements[1].kind != OperandKind::list)
    Lowering::unsupported("these tensor coordinates");
  for (const Operand& coordinate : operand.elements[1].elements)
    coordinates.push_back(lowering.source(coordinate, Type::s32));
}

}  // namespace

Op lower_tensor_copy(Lowering& lowering) {
  lowering.accept_modifiers({"add",
                             "min",
                             "max",
                             "inc",
                             "dec",
                             "and",
                             "or",
                             "xor",
                             "reduce",
                             "async",
                             "bulk",
                             "tensor",
                             "1d",
                             "2d",
                             "3d",
                             "4d",
                             "5d",
                             "tile",
                             "shared::cluster",
                             "shared::cta",
                             "global",
                             "bulk_group",
                             "mbarrier::complete_tx::bytes",
                             "multicast::cluster",
                             "L2::cache_hint"});
  const bool store = lowering.has("bulk_group");
  Op op{.run = tensor_copy, .aux = store ? kStore : 0u};
  const auto reduction = reduction_of(lowering);
  if (reduction.has_value() != lowering.has("reduce") || (reduction && !store))
    Lowering::unsupported("this reduction into a tensor");
  if (reduction) op.aux |= kReduce;
  op.immediate = static_cast<std::int64_t>(reduction.value_or(0));
  std::vector<Slot> words, coordinates;
  append_address(lowering, lowering.operand(store ? 1 : 0), words);
  append_map(lowering, lowering.operand(store ? 0 : 1), words, coordinates);
  if (!store) append_address(lowering, lowering.operand(2), words);
  words.insert(words.end(), coordinates.begin(), coordinates.end());
  const std::string dimensions = fmt::format("{}d", coordinates.size());
  if (!lowering.has(dimensions)) Lowering::unsupported("a number of coordinates that differs from the rank");
  if (lowering.has("multicast::cluster")) {
    op.aux |= kTensorMulticast;
    words.push_back(lowering.source(lowering.operand(3), Type::b16));
  }
  op.aux |= static_cast<std::uint32_t>(coordinates.size()) << kRankShift;
  lowering.more(op, words);
  return op;
}

}  // namespace ak::emulator
