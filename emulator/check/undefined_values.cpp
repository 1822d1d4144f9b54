// SPDX-License-Identifier: Apache-2.0
#include "emulator/check/undefined_values.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/check/checker.h"
#include "emulator/machine/lanes.h"

namespace ak::emulator {
namespace {

using Role = FlowOperand::Role;

std::uint32_t lane_bytes_of(std::uint32_t value_bytes) { return std::max(4u, value_bytes); }

/// A byte of an operand's value.
std::uint8_t value_byte(const Warp& warp, const FlowOperand& operand, int lane, std::uint32_t byte) {
  const std::byte* rows = (operand.slot & kConstantSlot) != 0 ? warp.constants : warp.registers;
  return static_cast<std::uint8_t>(
      rows[(operand.slot & ~kConstantSlot) + static_cast<std::uint32_t>(lane) * lane_bytes_of(operand.bytes) +
           byte]);
}

}  // namespace

/// The operands of one instruction.
struct UndefinedValues::Sources {
  std::span<const FlowOperand> all;

  template <class F>
  void each(Role role, F f) const {
    for (const FlowOperand& operand : all) {
      if (operand.role == role) f(operand);
    }
  }
  [[nodiscard]] const FlowOperand* nth(Role role, std::size_t n) const {
    for (const FlowOperand& operand : all) {
      if (operand.role == role && n-- == 0) return &operand;
    }
    return nullptr;
  }
  [[nodiscard]] std::uint32_t bytes(Role role) const {
    std::uint32_t sum = 0;
    each(role, [&](const FlowOperand& operand) { sum += operand.bytes; });
    return sum;
  }
  [[nodiscard]] bool has(Role role) const { return nth(role, 0) != nullptr; }
};

UndefinedValues::UndefinedValues(const Program& program)
    : registers_(program.register_bytes), predicates_(program.predicate_count) {}

UndefinedValues::Origin* UndefinedValues::at(Slot slot, int lane, std::uint32_t register_bytes) {
  return registers_.data() + slot + static_cast<std::uint32_t>(lane) * lane_bytes_of(register_bytes);
}

UndefinedValues::Origin UndefinedValues::state_of(const FlowOperand& operand, int lane,
                                                  std::uint32_t byte) const {
  if ((operand.slot & kConstantSlot) != 0 || byte >= operand.bytes) return 0;
  return registers_[operand.slot + static_cast<std::uint32_t>(lane) * lane_bytes_of(operand.bytes) + byte];
}

UndefinedValues::Origin UndefinedValues::any_of(const FlowOperand& operand, int lane) const {
  Origin found = 0;
  for (std::uint32_t byte = 0; byte < operand.bytes; ++byte)
    found = std::max(found, state_of(operand, lane, byte));
  return found;
}

// ---- what results depend on

/// Of byte `byte` of the results, counted through all of them; `whole` if that depends on all sources.
UndefinedValues::Origin UndefinedValues::result_of(const Warp& warp, const Sources& sources, FlowKind kind,
                                                   int lane, std::uint32_t byte, Origin whole) const {
  const FlowOperand *a = sources.nth(Role::read, 0), *b = sources.nth(Role::read, 1);
  const bool same_bytes = sources.bytes(Role::read) == sources.bytes(Role::written);
  if (kind == FlowKind::by_handler || kind == FlowKind::nothing_written) return 0;
  if (kind == FlowKind::copy && same_bytes) {
    for (const FlowOperand& operand : sources.all) {
      if (operand.role != Role::read) continue;
      if (byte < operand.bytes) return state_of(operand, lane, byte);
      byte -= operand.bytes;
    }
  }
  if ((kind == FlowKind::resize || kind == FlowKind::resize_signed) && a != nullptr) {
    if (byte < a->bytes) return state_of(*a, lane, byte);
    return kind == FlowKind::resize ? Origin{0} : state_of(*a, lane, a->bytes - 1u);
  }
  if ((kind == FlowKind::bits_and || kind == FlowKind::bits_or) && b != nullptr) {
    const std::uint8_t decisive = kind == FlowKind::bits_and ? 0x00 : 0xFF;
    const Origin of_a = state_of(*a, lane, byte), of_b = state_of(*b, lane, byte);
    const bool a_decides = of_a == 0 && value_byte(warp, *a, lane, byte) == decisive;
    const bool b_decides = of_b == 0 && value_byte(warp, *b, lane, byte) == decisive;
    return a_decides || b_decides ? Origin{0} : std::max(of_a, of_b);
  }
  if (kind == FlowKind::bitwise) {
    Origin found = 0;
    sources.each(Role::read, [&](const FlowOperand& o) { found = std::max(found, state_of(o, lane, byte)); });
    return found;
  }
  const FlowOperand* condition = sources.nth(Role::predicate_read, 0);
  if (kind == FlowKind::choose && condition != nullptr && b != nullptr) {
    const Predicate& decides = predicates_[condition->slot & ~kNegated];
    if ((decides.lanes >> lane & 1u) != 0) return decides.origin | kComputed;
    const bool first = (predicate(warp, condition->slot) >> lane & 1u) != 0;
    return state_of(first ? *a : *b, lane, byte);
  }
  return whole;
}

/// Of a result that depends on all of its sources: in one lane, or in all of them.
UndefinedValues::Origin UndefinedValues::of_all(const Sources& sources, std::uint32_t lanes) const {
  Origin found = 0;
  for_each_lane(lanes, [&](int from) {
    sources.each(Role::read, [&](const FlowOperand& o) { found = std::max(found, any_of(o, from)); });
  });
  sources.each(Role::predicate_read, [&](const FlowOperand& operand) {
    const Predicate& read = predicates_[operand.slot & ~kNegated];
    if ((read.lanes & lanes) != 0) found = std::max(found, read.origin);
  });
  return found == 0 ? found : static_cast<Origin>(found | kComputed);
}

/// Lanes whose predicate results are undefined.
std::uint32_t UndefinedValues::undefined_predicates(const Warp& warp, const Sources& sources,
                                                    FlowKind kind) const {
  std::uint32_t undefined = 0, decided = 0;
  sources.each(Role::predicate_read, [&](const FlowOperand& operand) {
    const std::uint32_t unknown = predicates_[operand.slot & ~kNegated].lanes;
    const std::uint32_t value = predicate(warp, operand.slot);
    undefined |= unknown;
    if (kind == FlowKind::bits_and) decided |= ~unknown & ~value;
    if (kind == FlowKind::bits_or) decided |= ~unknown & value;
  });
  for_each_lane(warp.mask, [&](int lane) {
    sources.each(Role::read, [&](const FlowOperand& operand) {
      if (any_of(operand, lane) != 0) undefined |= 1u << lane;
    });
  });
  if (kind == FlowKind::across && (undefined & warp.mask) != 0) undefined = warp.mask;
  return undefined & ~decided & warp.mask;
}

// ---- what matters

void UndefinedValues::check_uses(Warp& warp, const Op& op, const Sources& sources) const {
  const FlowKind kind = warp.launch->program.flows[warp.launch->program.index_of(op)].kind;
  const bool acts =
      kind == FlowKind::nothing_written ||
      (kind != FlowKind::by_handler && !sources.has(Role::written) && !sources.has(Role::predicate_written));
  for_each_lane(warp.mask, [&](int lane) {
    for (const FlowOperand& operand : sources.all) {
      const bool address = operand.role == Role::address;
      if (!address && !(acts && operand.role == Role::read)) continue;
      const Origin origin = any_of(operand, lane);
      if (origin == 0) continue;
      warp.launch->checker->undefined_used(warp, op, lane, origin,
                                           address ? "is used as an address" : "is used");
      return;
    }
  });
}

void UndefinedValues::write(Warp& warp, const Sources& sources, FlowKind kind) {
  const std::uint32_t undefined = undefined_predicates(warp, sources, kind);
  std::vector<Origin> results(std::size_t{kLanes} * sources.bytes(Role::written));
  Origin any = 0;
  const auto total = static_cast<std::size_t>(sources.bytes(Role::written));
  const bool across = kind == FlowKind::across;
  const Origin of_warp = across ? of_all(sources, warp.mask) : Origin{0};
  for_each_lane(warp.mask, [&](int lane) {
    const Origin whole = across ? of_warp : of_all(sources, 1u << lane);
    for (std::uint32_t byte = 0; byte < total; ++byte)
      results[static_cast<std::size_t>(lane) * total + byte] =
          result_of(warp, sources, kind, lane, byte, whole);
    sources.each(Role::read, [&](const FlowOperand& o) { any = std::max(any, any_of(o, lane)); });
  });
  sources.each(Role::predicate_read, [&](const FlowOperand& operand) {
    any = std::max(any, predicates_[operand.slot & ~kNegated].origin);
  });
  std::size_t first = 0;
  // The executor still needs the state of sources, which may lie where its results go.
  const bool by_executor = kind == FlowKind::by_executor;
  sources.each(Role::written, [&](const FlowOperand& operand) {
    if (by_executor) return;
    for_each_lane(warp.mask, [&](int lane) {
      Origin* const to = at(operand.slot, lane, operand.bytes);
      std::fill_n(to, lane_bytes_of(operand.bytes), Origin{0});
      const Origin* const from = results.data() + static_cast<std::size_t>(lane) * total + first;
      std::copy(from, from + operand.bytes, to);
    });
    first += operand.bytes;
  });
  sources.each(Role::predicate_written, [&](const FlowOperand& operand) {
    Predicate& to = predicates_[operand.slot & ~kNegated];
    to.lanes = (to.lanes & ~warp.mask) | (by_executor || kind == FlowKind::by_handler ? 0 : undefined);
    if (undefined != 0) to.origin = static_cast<Origin>(any & ~kComputed);
  });
}

void UndefinedValues::follow(Warp& warp, const Op& op) {
  const Program& program = warp.launch->program;
  if (op.guard != kTrue) {
    Predicate& guard = predicates_[op.guard & ~kNegated];
    if (const std::uint32_t lanes = guard.lanes & warp.lanes; lanes != 0) {
      warp.launch->checker->undefined_used(warp, op, std::countr_zero(lanes), guard.origin,
                                           "decides a branch");
      guard.lanes &= ~lanes;  // said once
    }
  }
  if (warp.mask == 0) return;
  const ValueFlow& flow = program.flows[program.index_of(op)];
  if (flow.count == 0) return;
  const Sources sources{std::span(program.flow_operands).subspan(flow.first, flow.count)};
  check_uses(warp, op, sources);
  write(warp, sources, flow.kind);
}

// ---- loads

void UndefinedValues::begin_load(Origin origin, const std::array<std::uint32_t, kLanes>& bytes) {
  loading_.origin = origin;  // generic addresses may be looked at one state space after the other
  for (std::size_t lane = 0; lane < bytes.size(); ++lane) loading_.bytes[lane] |= bytes[lane];
}

void UndefinedValues::end_load(std::span<const Slot> slots, std::uint32_t memory_bytes,
                               std::uint32_t register_bytes, bool sign_extends) {
  const Loaded loaded = take_load();
  if (loaded.origin == 0) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint32_t bytes = loaded.bytes[static_cast<std::size_t>(lane)];
    for (std::size_t j = 0; bytes != 0 && j < slots.size(); ++j) {
      Origin* const to = at(slots[j], lane, register_bytes);
      for (std::uint32_t byte = 0; byte < memory_bytes; ++byte, bytes >>= 1) {
        if ((bytes & 1u) != 0) to[byte] = loaded.origin;
      }
      if (sign_extends) std::fill(to + memory_bytes, to + register_bytes, to[memory_bytes - 1]);
    }
  }
}

UndefinedValues::Loaded UndefinedValues::take_load() { return std::exchange(loading_, {}); }

}  // namespace ak::emulator
