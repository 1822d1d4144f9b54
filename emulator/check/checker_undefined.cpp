// SPDX-License-Identifier: Apache-2.0
// Values that no one wrote: remembered when they are loaded, reported when they matter.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "emulator/check/checker_state.h"
#include "emulator/check/undefined_values.h"
#include "emulator/machine/lanes.h"

namespace ak::emulator {
namespace {

using Origin = UndefinedValues::Origin;

/// From the next instruction on the warp runs with its undefined values followed.
UndefinedValues& undefined_of(Warp& warp) {
  if (warp.undefined == nullptr) {
    warp.undefined = std::make_shared<UndefinedValues>(warp.launch->program);
    warp.leave = true;
  }
  return *warp.undefined;
}

bool inside(const std::byte* at, const std::byte* memory, std::uint64_t bytes) {
  const std::less<const std::byte*> below;
  return memory != nullptr && !below(at, memory) && below(at, memory + bytes);
}

/// States of the bytes at `at`: which of them have been written; null when no one keeps them.
std::uint8_t* states_at(Warp& warp, const std::byte* at, bool& global) {
  Launch& launch = *warp.launch;
  global = inside(at, launch.arena.base(), launch.arena.used());
  if (global)
    return launch.arena.initialized() == nullptr ? nullptr
                                                 : launch.arena.initialized() + (at - launch.arena.base());
  if (inside(at, warp.local, std::uint64_t{kLanes} * launch.program.local_bytes))
    return warp.local_written == nullptr ? nullptr : warp.local_written + (at - warp.local);
  for (Block* block : warp.block->cluster) {
    if (inside(at, block->shared, block->shared_bytes) && !block->shared_written.empty())
      return block->shared_written.data() + (at - block->shared);
  }
  return nullptr;
}

/// NVRTC copies the padding at a struct's end byte by byte.
bool stores_bytes(const Program& program, const Op& op) {
  const std::string& spelling = program.facts[program.index_of(op)].spelling;
  return spelling.ends_with(".u8") || spelling.ends_with(".b8") || spelling.ends_with(".s8");
}

}  // namespace

bool Checker::State::can_be_followed(const CheckedAccess& request) const {
  const Program& program = launch.program;
  return request.touch.op < program.flows.size() &&
         program.facts[request.touch.op].spelling.starts_with("ld");
}

Origin Checker::State::origin_of(const UndefinedOrigin& origin) {
  const auto known = std::find_if(origins.begin(), origins.end(), [&](const UndefinedOrigin& other) {
    return other.kind == origin.kind && other.touch.op == origin.touch.op;
  });
  if (known != origins.end()) {
    *known = origin;
    return static_cast<Origin>(known - origins.begin() + 1);
  }
  if (origins.size() == UndefinedValues::kMaxOrigins) return UndefinedValues::kMaxOrigins;
  origins.push_back(origin);
  return static_cast<Origin>(origins.size());
}

void Checker::State::read_unwritten(const CheckedAccess& request, const std::uint64_t* addresses,
                                    std::uint32_t lanes, const std::uint8_t* states, const Offsets& offsets) {
  const int first = std::countr_zero(lanes);
  if (!can_be_followed(request))
    return report(request, FaultKind::uninitialized_read, first, addresses[first], lanes);
  UndefinedOrigin origin{.kind = FaultKind::uninitialized_read,
                         .space = request.space,
                         .touch = request.touch,
                         .lanes = lanes,
                         .addresses = {}};
  std::array<std::uint32_t, kLanes> bytes{};
  for_each_lane(lanes, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    origin.addresses[i] = addresses[lane];
    for (std::uint32_t byte = 0; byte < request.touch.bytes; ++byte)
      bytes[i] |= static_cast<std::uint32_t>(states[offsets.at[lane] + byte] == 0) << byte;
  });
  undefined_of(request.warp).begin_load(origin_of(origin), bytes);
}

void Checker::undefined_used(Warp& warp, const Op& op, int lane, std::uint8_t origin, std::string_view how) {
  const UndefinedOrigin& from = state_->origins[(origin & UndefinedValues::kMaxOrigins) - 1u];
  const Program& program = warp.launch->program;
  const int line = place_of(program, program.index_of(op)).line;
  const int at = (from.lanes >> lane & 1u) != 0 ? lane : std::countr_zero(from.lanes);
  std::string detail = fmt::format("the value {}{}", how, line > 0 ? fmt::format(" in line {}", line) : "");
  const Op& source = program.code[from.touch.op];
  if (from.kind == FaultKind::inactive_lane) {
    warp.launch->fault(warp, source, from.kind, at,
                       fmt::format("lane {} has exited, or the mask does not name it; {}",
                                   from.addresses[static_cast<std::size_t>(at)], detail));
    return;
  }
  const CheckedAccess request{.warp = warp, .op = source, .space = from.space, .touch = from.touch};
  state_->report(request, from.kind, at, from.addresses[static_cast<std::size_t>(at)], 1u << at,
                 std::move(detail));
}

// What arithmetic has used matters once it is stored, and so does what is left in global memory, apart from padding:
// bytes that were only copied, one by one or next to others of the same store that are defined.
void Checker::undefined_stored(Warp& warp, const Op& op, int lane, std::byte* to,
                               std::span<const std::uint8_t> origins) {
  const auto undefined = static_cast<std::size_t>(
      std::count_if(origins.begin(), origins.end(), [](Origin origin) { return origin != 0; }));
  if (undefined == 0) return;
  bool global = false;
  std::uint8_t* const states = states_at(warp, to, global);
  const Origin most = *std::max_element(origins.begin(), origins.end());
  const bool computed = (most & UndefinedValues::kComputed) != 0;
  const bool whole = undefined == origins.size() && !stores_bytes(warp.launch->program, op);
  if (computed || (global && whole)) return undefined_used(warp, op, lane, most, "is stored");
  if (states == nullptr) return;
  for (std::size_t i = 0; i < origins.size(); ++i) states[i] = origins[i] == 0;
}

void Checker::shuffled(Warp& warp, const Op& op, const LaneSlots& to, const LaneSlots& from,
                       const std::int32_t* lanes, std::uint32_t inactive) {
  UndefinedValues& values = undefined_of(warp);
  UndefinedOrigin origin{.kind = FaultKind::inactive_lane,
                         .space = Space::none,
                         .touch = {.warp = warp.index, .op = warp.launch->program.index_of(op)},
                         .lanes = inactive,
                         .addresses = {}};
  for_each_lane(inactive, [&](int lane) {
    origin.addresses[static_cast<std::size_t>(lane)] = static_cast<std::uint64_t>(lanes[lane]);
  });
  const Origin number = inactive != 0 ? state_->origin_of(origin) : Origin{0};
  // All are read before any is written, since a result may lie where its source does.
  std::array<std::array<Origin, 4>, kLanes> states{};
  for_each_lane(warp.mask, [&](int lane) {
    auto& state = states[static_cast<std::size_t>(lane)];
    const Slot row = from[static_cast<std::size_t>(lanes[lane])];
    if ((inactive >> lane & 1u) != 0)
      state.fill(number);
    else if ((row & kConstantSlot) == 0)
      std::copy_n(values.at(row, lanes[lane], 4), 4, state.begin());
  });
  for_each_lane(warp.mask, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    std::copy(states[i].begin(), states[i].end(), values.at(to[i], lane, 4));
  });
}

}  // namespace ak::emulator
