// SPDX-License-Identifier: Apache-2.0
// From an address that went wrong to a finding that names the buffer and the threads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "emulator/check/checker_state.h"
#include "emulator/machine/call_chain.h"
#include "emulator/machine/symbol_names.h"

namespace ak::emulator {
namespace {

/// "softmax(float*)::tile" -> "tile"; names that are not mangled stay.
std::string plain_name(const std::string& symbol) {
  const std::optional<std::string> name = demangled(symbol);
  if (!name) return symbol;
  const std::string& full = *name;
  const std::size_t colons = full.rfind("::");
  return colons == std::string::npos ? full : full.substr(colons + 2);
}

/// Of a generic or global address below all memory.
std::string detail_of_small(std::uint64_t address, std::uint32_t shared_bytes) {
  if (address < kRegionGranule)
    return address != 0 && address < shared_bytes ? "a null pointer, or an offset in shared memory"
                                                  : "a null pointer";
  return address < shared_bytes ? "an offset in shared memory, which is not a generic address" : "";
}

/// A finding with the thread that ran into a conflict.
Finding met_by(const CheckedAccess& request, const Conflict& conflict) {
  Finding finding;
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, conflict.lane),
                   .thread_known = true,
                   .write = request.touch.writes,
                   .op = request.touch.op};
  finding.calls = calls_of(request.warp, conflict.lane);
  return finding;
}

bool is_shared(Space space) { return space == Space::shared || space == Space::shared_cluster; }

}  // namespace

std::array<std::uint32_t, 3> Checker::State::block_id(std::uint32_t linear) const {
  const auto& grid = launch.grid;
  return {linear % grid[0], linear / grid[0] % grid[1], linear / grid[0] / grid[1]};
}

NamedPlace Checker::State::name_shared(std::uint64_t offset, std::uint64_t shared_bytes) const {
  const Program& program = launch.program;
  const auto in = [&](const std::string& buffer, std::uint64_t first, std::uint64_t end) {
    return NamedPlace{buffer, static_cast<std::int64_t>(offset - first), end - std::min(first, end)};
  };
  if (launch.dynamic_shared_bytes > 0 && offset >= program.dynamic_shared_offset)
    return in("dynamic shared memory", program.dynamic_shared_offset, shared_bytes);
  const std::string* best = nullptr;
  std::uint64_t first = 0, end = program.static_shared_bytes;
  for (const auto& [symbol, at] : program.shared_symbols) {
    if (at > offset) end = std::min<std::uint64_t>(end, at);
    if (at > offset || (best != nullptr && at < first)) continue;
    best = &symbol;
    first = at;
  }
  if (best == nullptr) return in("shared memory", 0, shared_bytes);
  return in(fmt::format("shared '{}'", plain_name(*best)), first, end);
}

NamedPlace Checker::State::name(const CheckedAccess& request, std::uint64_t address) const {
  const auto whole = [&](std::string buffer, std::uint64_t bytes) {
    return NamedPlace{std::move(buffer), static_cast<std::int64_t>(address), bytes};
  };
  const Extent extent = launch.program.extent_of(request.touch.op);
  if (is_shared(request.space)) {
    const std::uint64_t offset = address & ((1ull << kClusterRankShift) - 1);
    const std::uint64_t end = request.warp.block->shared_bytes;
    // What was left is named, not what lies where the access went.
    if (extent.space != Space::shared || (offset >= extent.begin && offset < extent.end))
      return name_shared(offset, end);
    NamedPlace place = name_shared(extent.begin, end);
    place.byte_offset = static_cast<std::int64_t>(offset) - extent.begin;
    if (extent.end != kNoEnd) place.buffer_bytes = extent.end - extent.begin;
    return place;
  }
  if (request.space == Space::local && extent.space == Space::local)
    return {"local memory", static_cast<std::int64_t>(address) - extent.begin, extent.end - extent.begin};
  if (request.space == Space::local) return whole("local memory", launch.program.local_bytes);
  if (request.space == Space::param) return whole("the kernel's parameters", launch.parameters.size());
  const Region* region = launch.arena.find(address);
  if (region == nullptr) region = launch.arena.nearest(address);
  if (region == nullptr) return {};
  return {region->name, static_cast<std::int64_t>(address - region->address), region->bytes};
}

void Checker::State::place(const CheckedAccess& request, Finding& finding, std::uint64_t address) const {
  NamedPlace where = name(request, address);
  finding.buffer = std::move(where.buffer);
  finding.byte_offset = where.byte_offset;
  finding.buffer_bytes = where.buffer_bytes;
  finding.access_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.bytes(), ~0u));
  finding.address = address;
}

void Checker::State::add(const CheckedAccess& request, Finding finding, std::uint64_t address,
                         std::uint64_t times) {
  // A fault in a loop is counted often and described once.
  const auto& known = launch.findings.all();
  const bool again = std::any_of(known.begin(), known.end(), [&](const Finding& other) {
    return other.kind == finding.kind && other.first.op == finding.first.op;
  });
  if (!again) place(request, finding, address);
  launch.findings.add(std::move(finding), times);
  if (launch.findings.full()) launch.stop = true;
}

void Checker::State::report(const CheckedAccess& request, FaultKind kind, int lane, std::uint64_t address,
                            std::uint32_t lanes, std::string detail) {
  Finding finding;
  finding.kind = kind;
  finding.detail = std::move(detail);
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, lane),
                   .thread_known = true,
                   // An atomic reads before it writes.
                   .write = request.touch.writes && kind != FaultKind::uninitialized_read,
                   .op = request.touch.op};
  finding.calls = calls_of(request.warp, lane);
  if (kind == FaultKind::out_of_bounds && !is_shared(request.space)) {
    const Region* region = launch.arena.find(address);
    if (region != nullptr && !region->mapped) finding.detail = "this memory is not mapped";
    if (request.space == Space::global)
      finding.detail += detail_of_small(address, request.warp.block->shared_bytes);
  }
  add(request, std::move(finding), address, static_cast<std::uint64_t>(std::popcount(lanes)));
}

// Only of `st` is the value known to who executes it (memory_ops.cpp).
bool Checker::State::waits_for_values(const CheckedAccess& request, const Conflict& conflict) const {
  const auto& facts = launch.program.facts;
  return !conflict.with_reads && request.touch.writes && !request.touch.reads && !request.touch.copy &&
         request.range_bytes == 0 && request.touch.op < facts.size() &&
         facts[request.touch.op].spelling.starts_with("st.");
}

void Checker::State::add_pair(const CheckedAccess& request, const Conflict& conflict, Finding finding,
                              std::uint64_t address) {
  if (!waits_for_values(request, conflict))
    return add(request, std::move(finding), address,
               static_cast<std::uint64_t>(std::popcount(conflict.lanes)));
  place(request, finding, address);
  unsettled.push_back({.finding = std::move(finding), .lanes = conflict.lanes});
}

void Checker::State::report_race(const CheckedAccess& request, const Conflict& conflict, std::uint64_t base) {
  const ThreadRecord record{conflict.record};
  Finding finding = met_by(request, conflict);
  finding.kind = record.pending()           ? FaultKind::async_pending
                 : is_shared(request.space) ? FaultKind::shared_race
                                            : FaultKind::global_race;
  if (conflict.unfenced) finding.kind = FaultKind::missing_proxy_fence;
  Participant other{.block = request.warp.block->id,
                    .thread = {},
                    .thread_known = false,
                    .write = conflict.other_writes,
                    .op = record.op()};
  const bool itself = record.participant() == request.warp.index && record.lane() == conflict.lane;
  other.thread_known =
      record.participant() < request.warp.block->warps.size() && (!itself || record.pending());
  if (other.thread_known)
    other.thread = thread_of(request.warp.block->warps[record.participant()], record.lane());
  finding.other = other;
  add_pair(request, conflict, std::move(finding), base + conflict.at);
}

void Checker::State::report_conflict(const CheckedAccess& request, const Conflict& conflict,
                                     std::uint64_t base) {
  const BlockRecord record{conflict.record};
  Finding finding = met_by(request, conflict);
  finding.kind = request.touch.non_coherent ? FaultKind::non_coherent_read : FaultKind::global_conflict;
  finding.other = Participant{.block = block_id(record.block()),
                              .thread = {},
                              .thread_known = false,
                              .write = conflict.other_writes,
                              .op = record.op()};
  add_pair(request, conflict, std::move(finding), base + conflict.at);
}

bool Checker::has_unsettled_stores() const { return !state_->unsettled.empty(); }

void Checker::settle_stores(std::uint32_t same) {
  for (UnsettledStore& store : state_->unsettled) {
    const auto times = static_cast<std::uint64_t>(std::popcount(store.lanes));
    if ((store.lanes & ~same) != 0) {
      state_->launch.findings.add(std::move(store.finding), times);
      if (state_->launch.findings.full()) state_->launch.stop = true;
    } else {
      store.finding.detail = "both write the same value, so that the order does not matter";
      state_->launch.findings.note(std::move(store.finding), times);
    }
  }
  state_->unsettled.clear();
}

void Checker::stored_twice(Warp& warp, const Op& op, const std::byte* to, std::uint32_t bytes, int first,
                           int second) {
  const Block& block = *warp.block;
  Launch& launch = *warp.launch;
  const std::less<const std::byte*> below;
  const bool shared = !below(to, block.shared) && below(to, block.shared + block.shared_bytes);
  const bool global = !below(to, launch.arena.base()) && below(to, launch.arena.base() + launch.arena.used());
  if (!shared && !global) return;  // another block's shared memory
  const CheckedAccess request{
      .warp = warp,
      .op = op,
      .space = shared ? Space::shared : Space::global,
      .touch = {.warp = warp.index, .op = launch.program.index_of(op), .bytes = bytes, .writes = true}};
  Finding finding;
  finding.kind = shared ? FaultKind::shared_race : FaultKind::global_race;
  finding.first = {.block = block.id,
                   .thread = thread_of(warp, second),
                   .thread_known = true,
                   .write = true,
                   .op = request.touch.op};
  finding.calls = calls_of(warp, second);
  finding.other = finding.first;
  finding.other->thread = thread_of(warp, first);
  finding.detail = "they do so in one instruction, with different values: which one stays is not defined";
  const std::uint64_t address = shared ? static_cast<std::uint64_t>(to - block.shared)
                                       : kGlobalBase + static_cast<std::uint64_t>(to - launch.arena.base());
  state_->add(request, std::move(finding), address, 1);
}

}  // namespace ak::emulator
