// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk: copies of whole ranges and of tensor boxes by the copy engine (TMA).
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/check/async_checker.h"
#include "emulator/check/checker.h"
#include "emulator/lower/lowering.h"
#include "emulator/machine/async_copies.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/mbarrier.h"
#include "emulator/machine/memory_counts.h"
#include "emulator/machine/shared_range.h"
#include "emulator/machine/tensor_copy.h"

namespace ak::emulator {
namespace {

// Program::slots of an op: the copy's addresses, each as base, its width in bits and offset, then numbers.
struct AddressWords {
  static constexpr std::uint32_t kCount = 3;
};

void append(std::vector<Slot>& words, const Address& address) {
  if (address.offset != static_cast<std::int32_t>(address.offset))
    Lowering::unsupported("an offset of this size");
  words.push_back(address.base);
  words.push_back(static_cast<Slot>(address.base_bits));
  words.push_back(static_cast<Slot>(static_cast<std::int32_t>(address.offset)));
}

std::uint64_t address_at(const Warp& warp, const Op& op, std::uint32_t word, int lane) {
  const Slot* words = warp.launch->program.slots.data() + op.more + word;
  const auto offset =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(words[2])));
  if (words[1] == 64) return source<std::uint64_t>(warp, words[0])[lane] + offset;
  return (source<std::uint32_t>(warp, words[0])[lane] + offset) & 0xFFFFFFFFu;
}

std::uint32_t number_at(const Warp& warp, const Op& op, std::uint32_t word, int lane) {
  return source<std::uint32_t>(warp, warp.launch->program.slots[op.more + word])[lane];
}

bool may_touch(Warp& warp, const Op& op, Space space, std::uint64_t address, int lane, std::uint64_t bytes,
               AccessKind kind) {
  Checker* checker = warp.launch->checker;
  return checker == nullptr || bytes == 0 ||
         checker->access_range(warp, op, space, address, lane, bytes, kind);
}

/// The blocks a copy goes to: by the bits of `ranks` (multicast), else only the one of `place`.
std::vector<Block*> receivers(const Warp& warp, const SharedPlace& place,
                              std::optional<std::uint32_t> ranks) {
  if (!ranks) return {place.block};
  std::vector<Block*> blocks;
  for (Block* block : warp.block->cluster) {
    if ((*ranks >> block->cluster_rank & 1u) != 0) blocks.push_back(block);
  }
  return blocks;
}

std::uint64_t receiver_count(const Warp& warp, std::uint32_t ranks) {
  const auto blocks = static_cast<int>(std::min<std::size_t>(warp.block->cluster.size(), 16));
  return static_cast<std::uint64_t>(std::popcount(ranks & ((1u << blocks) - 1)));
}

void finish(Warp* warp, Block* block, std::uint32_t offset, std::uint32_t bytes) {
  Checker* const checker = warp->launch->checker;
  if (checker != nullptr && block == warp->block)
    checker->async_completed(*warp, offset, bytes, -1);
  else if (checker != nullptr)
    checker->async().copy_arrived(*block, offset, bytes);
  if (!block->shared_written.empty())
    std::fill_n(block->shared_written.begin() + offset, bytes, std::uint8_t{1});
}

/// Completes `bytes` on the mbarrier at `offset` of `block`; the copy's data are visible to who acquires it.
void signal(Warp* warp, Block* block, std::uint32_t offset, std::uint32_t bytes) {
  if (warp->launch->checker != nullptr) warp->launch->checker->released(*warp, *block, offset);
  complete_bytes({block, offset}, bytes);
}

/// The blocks in which a copy arrives: with multicast each that receives it.
std::vector<Block*> barrier_blocks(const std::optional<SharedPlace>& barrier,
                                   const std::vector<Block*>& receiving, std::optional<std::uint32_t> ranks) {
  if (ranks) return receiving;
  return barrier ? std::vector<Block*>{barrier->block} : std::vector<Block*>{};
}

/// The mbarrier that a copy arrives at, in each block that receives it.
bool valid_barrier(Warp& warp, const Op& op, int lane, const std::optional<SharedPlace>& barrier,
                   const std::vector<Block*>& blocks) {
  const auto is_valid = [&](Block* block) { return load_mbarrier({block, barrier->offset}).has_value(); };
  if (barrier && barrier->offset % 8 == 0 && std::all_of(blocks.begin(), blocks.end(), is_valid)) {
    if (warp.launch->checker == nullptr) return true;
    for (Block* block : blocks)
      warp.launch->checker->async().mbarrier_used(warp, op, lane, {block, barrier->offset}, true);
    return true;
  }
  stop_with(warp, op, lane, FaultKind::uninitialized_read, "the mbarrier of this copy was not initialised");
  return false;
}

/// The checker learns what a copy will write, in each block that receives it.
void announce_writes(Warp& warp, const Op& op, int lane, const std::vector<Block*>& blocks,
                     std::uint32_t offset, std::uint32_t bytes) {
  if (warp.launch->checker == nullptr) return;
  for (Block* block : blocks)
    warp.launch->checker->async().copy_writes(warp, op, lane, *block, offset, bytes);
}

/// The checker learns what a copy from shared memory will read until its group is waited for.
void announce_read(Warp& warp, const Op& op, int lane, const SharedPlace& from, std::uint64_t bytes) {
  if (warp.launch->checker != nullptr && from.block == warp.block)
    warp.launch->checker->async().begin_read(warp, op, lane, chunks_of(from.offset, bytes));
}

// ---- plain ranges

enum class Direction : std::uint32_t { global_to_shared, shared_to_global, shared_to_shared };
enum : std::uint32_t { kDirection = 3, kMulticast = 4 };
constexpr std::uint32_t kDestination = 0, kSource = 3, kSize = 6, kBarrier = 7, kRanks = 10;
constexpr std::uint32_t kBulkAlignment = 16;  // PTX ISA 9.0, "cp.async.bulk"

void copy_to_shared(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  const bool from_shared = static_cast<Direction>(op.aux & kDirection) == Direction::shared_to_shared;
  const std::uint64_t from = address_at(warp, op, kSource, lane);
  const auto to = shared_range(warp, op, lane, address_at(warp, op, kDestination, lane), bytes,
                               kBulkAlignment, AccessKind::async_write);
  if (!to) return;
  std::optional<std::uint32_t> ranks;
  if ((op.aux & kMulticast) != 0) ranks = number_at(warp, op, kRanks, lane);
  const auto barrier = shared_place(warp, address_at(warp, op, kBarrier, lane), 8);
  const std::vector<Block*> blocks = receivers(warp, *to, ranks);
  if (!valid_barrier(warp, op, lane, barrier, barrier_blocks(barrier, blocks, ranks))) return;
  std::byte* source_memory = nullptr;
  if (from_shared) {
    const auto place = shared_range(warp, op, lane, from, bytes, kBulkAlignment, AccessKind::async_read);
    if (!place) return;
    source_memory = place->host();
  } else {
    if (!may_touch(warp, op, Space::global, from, lane, bytes, AccessKind::async_read)) return;
    source_memory = warp.launch->arena.host(from, bytes);
    if (source_memory == nullptr || from % kBulkAlignment != 0)
      return stop_with(warp, op, lane,
                       source_memory == nullptr ? FaultKind::out_of_bounds : FaultKind::misaligned,
                       fmt::format("a bulk copy of {} bytes from global address 0x{:x}", bytes, from));
  }
  announce_writes(warp, op, lane, blocks, to->offset, bytes);
  for (Block* block : blocks) {
    add_async_work(warp, [warp = &warp, block, to = to->offset, at = barrier->offset, source_memory, bytes,
                          own = ranks ? nullptr : barrier->block](Launch&) {
      std::memcpy(block->shared + to, source_memory, bytes);
      finish(warp, block, to, bytes);
      signal(warp, own != nullptr ? own : block, at, bytes);
    });
  }
}

void copy_to_global(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  const std::uint64_t to = address_at(warp, op, kDestination, lane);
  const auto from = shared_range(warp, op, lane, address_at(warp, op, kSource, lane), bytes, kBulkAlignment,
                                 AccessKind::async_read);
  if (!from || !may_touch(warp, op, Space::global, to, lane, bytes, AccessKind::write)) return;
  std::byte* memory = warp.launch->arena.host(to, bytes);
  if (memory == nullptr || to % kBulkAlignment != 0)
    return stop_with(warp, op, lane, memory == nullptr ? FaultKind::out_of_bounds : FaultKind::misaligned,
                     fmt::format("a bulk copy of {} bytes to global address 0x{:x}", bytes, to));
  announce_read(warp, op, lane, *from, bytes);
  add_async_work(warp, [memory, from = *from, bytes](Launch&) { std::memcpy(memory, from.host(), bytes); });
}

/// Traffic of the copy of one lane.
void count_range(Warp& warp, const Op& op, int lane, std::uint32_t bytes) {
  if (!counts_traffic(warp)) return;
  const auto direction = static_cast<Direction>(op.aux & kDirection);
  CopyTraffic traffic;
  if (direction == Direction::global_to_shared)
    traffic.global(address_at(warp, op, kSource, lane), bytes);
  else if (direction == Direction::shared_to_global)
    traffic.global(address_at(warp, op, kDestination, lane), bytes);
  else
    traffic.shared(bytes, 1);
  const bool multicast = (op.aux & kMulticast) != 0;
  traffic.shared(bytes, multicast ? receiver_count(warp, number_at(warp, op, kRanks, lane)) : 1);
  traffic.count(warp, op);
}

void bulk_copy(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) {
    const std::uint32_t bytes = number_at(warp, op, kSize, lane);
    if (bytes % kBulkAlignment != 0)
      return stop_with(warp, op, lane, FaultKind::misaligned,
                       fmt::format("a bulk copy of {} bytes, which is not a multiple of 16", bytes));
    count_range(warp, op, lane, bytes);
    if (static_cast<Direction>(op.aux & kDirection) == Direction::shared_to_global)
      copy_to_global(warp, op, lane, bytes);
    else
      copy_to_shared(warp, op, lane, bytes);
  });
}

Op lower_bulk(Lowering& lowering) {
  lowering.accept_modifiers({"async", "bulk", "shared::cluster", "shared::cta", "global", "bulk_group",
                             "mbarrier::complete_tx::bytes", "multicast::cluster", "L2::cache_hint"});
  const bool to_global = lowering.has("bulk_group");
  const bool from_global = !to_global && lowering.has("global");
  const Direction direction = to_global     ? Direction::shared_to_global
                              : from_global ? Direction::global_to_shared
                                            : Direction::shared_to_shared;
  Op op{.run = bulk_copy, .aux = static_cast<std::uint32_t>(direction)};
  std::vector<Slot> words;
  append(words, lowering.address(lowering.operand(0)));
  append(words, lowering.address(lowering.operand(1)));
  words.push_back(lowering.source(lowering.operand(2), Type::u32));
  if (!to_global) append(words, lowering.address(lowering.operand(3)));
  if (lowering.has("multicast::cluster")) {
    op.aux |= kMulticast;
    words.push_back(lowering.source(lowering.operand(4), Type::b16));
  }
  lowering.more(op, words);
  return op;
}

// ---- tensor boxes

enum : std::uint32_t { kStore = 1, kTensorMulticast = 2, kRankShift = 8 };
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
               const TensorRow& row) {
  const std::uint32_t size = bytes_of(map.element);
  std::byte* to = row.inside != 0 ? arena.host(row.global, std::uint64_t{row.inside} * size) : nullptr;
  if (to == nullptr) return;
  for (std::uint32_t i = 0; i < row.inside; ++i)
    std::memcpy(to + i * size,
                block.shared + swizzled(map.swizzle, from + row.box_offset + (row.skipped + i) * size), size);
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
    ranks = number_at(warp, op, kTensorBarrier + AddressWords::kCount + map.rank, lane);
  const auto barrier = shared_place(warp, address_at(warp, op, kTensorBarrier, lane), 8);
  const std::vector<Block*> blocks = receivers(warp, *to, ranks);
  if (!valid_barrier(warp, op, lane, barrier, barrier_blocks(barrier, blocks, ranks))) return;
  announce_writes(warp, op, lane, blocks, to->offset, bytes);
  for (Block* block : blocks) {
    add_async_work(warp, [warp = &warp, block, map, coordinates, to = to->offset, at = barrier->offset, bytes,
                          own = ranks ? nullptr : barrier->block](Launch& launch) {
      for_each_row(map, coordinates,
                   [&](const TensorRow& row) { load_row(*block, launch.arena, map, to, row); });
      finish(warp, block, to, bytes);
      signal(warp, own != nullptr ? own : block, at, bytes);
    });
  }
}

void store_box(Warp& warp, const Op& op, int lane, const TensorMapDescriptor& map,
               const std::array<std::int32_t, 5>& coordinates) {
  const auto from = shared_range(warp, op, lane, address_at(warp, op, kBox, lane), box_bytes(map),
                                 kTensorAlignment, AccessKind::async_read);
  if (!from || !rows_may_be_touched(warp, op, lane, map, coordinates, AccessKind::write)) return;
  announce_read(warp, op, lane, *from, box_bytes(map));
  add_async_work(warp, [from = *from, map, coordinates](Launch& launch) {
    for_each_row(map, coordinates,
                 [&](const TensorRow& row) { store_row(*from.block, launch.arena, map, from.offset, row); });
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
  const std::uint32_t ranks_word = kTensorBarrier + AddressWords::kCount + map.rank;
  const bool multicast = (op.aux & kTensorMulticast) != 0;
  traffic.shared(box_bytes(map), multicast ? receiver_count(warp, number_at(warp, op, ranks_word, lane)) : 1);
  traffic.count(warp, op);
}

void tensor_copy(Warp& warp, const Op& op) {
  const std::uint32_t rank = op.aux >> kRankShift;
  const bool store = (op.aux & kStore) != 0;
  const std::uint32_t first = store ? kTensorBarrier : kTensorBarrier + AddressWords::kCount;
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
  append(words, lowering.address(operand));
  if (operand.elements.size() != 2 || operand.elements[1].kind != OperandKind::list)
    Lowering::unsupported("these tensor coordinates");
  for (const Operand& coordinate : operand.elements[1].elements)
    coordinates.push_back(lowering.source(coordinate, Type::s32));
}

Op lower_tensor(Lowering& lowering) {
  lowering.accept_modifiers({"async", "bulk", "tensor", "1d", "2d", "3d", "4d", "5d", "tile",
                             "shared::cluster", "shared::cta", "global", "bulk_group",
                             "mbarrier::complete_tx::bytes", "multicast::cluster", "L2::cache_hint"});
  const bool store = lowering.has("bulk_group");
  Op op{.run = tensor_copy, .aux = store ? kStore : 0u};
  std::vector<Slot> words, coordinates;
  append(words, lowering.address(lowering.operand(store ? 1 : 0)));
  append_map(lowering, lowering.operand(store ? 0 : 1), words, coordinates);
  if (!store) append(words, lowering.address(lowering.operand(2)));
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

// ---- groups of copies from shared memory

// Copies are performed all at once. immediate: groups whose sources the checker takes as still being read.
void wait_groups(Warp& warp, const Op& op) {
  while (perform_oldest_work(*warp.block, *warp.launch)) {
  }
  if (warp.launch->checker == nullptr) return;
  for_each_lane(warp.mask, [&](int lane) {
    warp.launch->checker->async().wait(warp, lane, static_cast<std::size_t>(op.immediate));
  });
}
void commit_groups(Warp& warp, const Op&) {
  if (warp.launch->checker == nullptr) return;
  for_each_lane(warp.mask, [&](int lane) { warp.launch->checker->async().commit(warp, lane); });
}
void nothing(Warp&, const Op&) {}

std::optional<Op> lower_copy(Lowering& lowering) {
  if (!lowering.has("bulk") || lowering.has("reduce")) return std::nullopt;
  lowering.classify(InstructionClass::async_copy);
  if (lowering.has("wait_group"))
    return Op{.run = wait_groups, .immediate = static_cast<std::int64_t>(lowering.operand(0).bits)};
  if (lowering.has("commit_group")) return Op{.run = commit_groups};
  if (lowering.has("prefetch")) return Op{.run = nothing};
  return lowering.has("tensor") ? lower_tensor(lowering) : lower_bulk(lowering);
}

}  // namespace

std::span<const Mnemonic> bulk_copy_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"cp", lower_copy, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator
