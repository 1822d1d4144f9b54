// SPDX-License-Identifier: Apache-2.0
// From an address that went wrong to a finding that names the buffer and the threads.
#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emulator/check/checker_state.h"

namespace ak::emulator {
namespace {

/// "softmax(float*)::tile" -> "tile"; names that are not mangled stay.
std::string plain_name(const std::string& symbol) {
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status));
  if (status != 0 || text == nullptr) return symbol;
  const std::string full = text.get();
  const std::size_t colons = full.rfind("::");
  return colons == std::string::npos ? full : full.substr(colons + 2);
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
  if (is_shared(request.space))
    return name_shared(address & ((1ull << kClusterRankShift) - 1), request.warp.block->shared_bytes);
  if (request.space == Space::local) return whole("local memory", launch.program.local_bytes);
  if (request.space == Space::param) return whole("the kernel's parameters", launch.parameters.size());
  const Region* region = launch.arena.find(address);
  if (region == nullptr) region = launch.arena.nearest(address);
  if (region == nullptr) return {};
  return {region->name, static_cast<std::int64_t>(address - region->address), region->bytes};
}

void Checker::State::add(const CheckedAccess& request, Finding finding, std::uint64_t address,
                         std::uint64_t times) {
  // A fault in a loop is counted often and described once.
  const auto& known = launch.findings.all();
  const bool again = std::any_of(known.begin(), known.end(), [&](const Finding& other) {
    return other.kind == finding.kind && other.first.op == finding.first.op;
  });
  if (!again) {
    NamedPlace place = name(request, address);
    finding.buffer = std::move(place.buffer);
    finding.byte_offset = place.byte_offset;
    finding.buffer_bytes = place.buffer_bytes;
    finding.access_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.bytes(), ~0u));
    finding.address = address;
  }
  launch.findings.add(std::move(finding), times);
  if (launch.findings.full()) launch.stop = true;
}

void Checker::State::report(const CheckedAccess& request, FaultKind kind, int lane, std::uint64_t address,
                            std::uint32_t lanes) {
  Finding finding;
  finding.kind = kind;
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, lane),
                   .thread_known = true,
                   // An atomic reads before it writes.
                   .write = request.touch.writes && kind != FaultKind::uninitialized_read,
                   .op = request.touch.op};
  if (kind == FaultKind::out_of_bounds && !is_shared(request.space)) {
    const Region* region = launch.arena.find(address);
    if (region != nullptr && !region->mapped) finding.detail = "this memory is not mapped";
    if (request.space == Space::global && address < kRegionGranule) finding.detail = "a null pointer";
  }
  add(request, std::move(finding), address, static_cast<std::uint64_t>(std::popcount(lanes)));
}

void Checker::State::report_conflict(const CheckedAccess& request, const Conflict& conflict,
                                     std::uint64_t base) {
  Finding finding;
  finding.first = {.block = request.warp.block->id,
                   .thread = thread_of(request.warp, conflict.lane),
                   .thread_known = true,
                   .write = request.touch.writes,
                   .op = request.touch.op};
  Participant other{
      .block = request.warp.block->id, .thread = {}, .thread_known = false, .write = conflict.other_writes};
  if (is_shared(request.space)) {
    const ThreadRecord record{conflict.record};
    finding.kind = record.pending() ? FaultKind::async_pending : FaultKind::shared_race;
    other.op = record.op();
    const bool itself = record.participant() == request.warp.index && record.lane() == conflict.lane;
    other.thread_known =
        record.participant() < request.warp.block->warps.size() && (!itself || record.pending());
    if (other.thread_known)
      other.thread = thread_of(request.warp.block->warps[record.participant()], record.lane());
  } else {
    const BlockRecord record{conflict.record};
    finding.kind = FaultKind::global_conflict;
    other.op = record.op();
    other.block = block_id(record.block());
  }
  finding.other = other;
  add(request, std::move(finding), base + conflict.at,
      static_cast<std::uint64_t>(std::popcount(conflict.lanes)));
}

}  // namespace ak::emulator
