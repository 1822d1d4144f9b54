// SPDX-License-Identifier: Apache-2.0
// Control flow and what has no effect on results: nanosleep, clocks, hints to the scheduler.
#include <algorithm>
#include <chrono>

#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

// ---- branches: the guard has left in warp.mask the lanes that take it

void bra(Warp& warp, const Op& op) {
  const auto target = static_cast<Index>(op.immediate);
  if (warp.mask == warp.lanes) {
    warp.pc = target;
    return;
  }
  ++warp.launch->counters.divergent_branches;
  if (warp.launch->counters.memory_traffic)
    ++warp.launch->counters.divergent[static_cast<std::size_t>(&op - warp.code)];
  diverge(warp, target, op.c);
}

// The branch back of a loop that only waits; Op::aux: which.
void bra_back(Warp& warp, const Op& op) {
  ++warp.launch->counters.rounds[op.aux];
  bra(warp, op);
}

std::optional<Op> lower_bra(Lowering& lowering) {
  lowering.accept_modifiers({"uni"});
  const Operand& target = lowering.operand(0);
  if (target.kind != OperandKind::label) Lowering::unsupported("a branch to no label");
  lowering.classify(InstructionClass::control);
  return Op{.run = bra, .c = lowering.reconvergence(), .immediate = lowering.branch_target(target.name)};
}

// Lanes split by their target one group after the other; Program::slots holds the targets.
void brx(Warp& warp, const Op& op) {
  const std::uint32_t* index = source<std::uint32_t>(warp, op.a);
  const Slot* targets = warp.launch->program.slots.data() + op.more;
  const std::uint32_t all = warp.mask;
  for_each_lane(all, [&](int lane) {
    if (index[lane] < op.more_count) return;
    warp.launch->fault(warp, op, FaultKind::invalid_operand, lane, "an index beyond the branch table");
    warp.launch->stop = true;
  });
  if (warp.launch->stop) return;
  std::uint32_t rest = all;
  while (rest != 0) {
    const std::uint32_t which = index[std::countr_zero(rest)];
    std::uint32_t same = 0;
    for_each_lane(rest, [&](int lane) { same |= static_cast<std::uint32_t>(index[lane] == which) << lane; });
    rest &= ~same;
    if (same == warp.lanes) {
      warp.pc = targets[which];
      return;
    }
    warp.mask = same;
    diverge(warp, targets[which], op.c);
  }
}

std::optional<Op> lower_brx(Lowering& lowering) {
  lowering.accept_modifiers({"idx", "uni"});
  if (lowering.instruction().guard) Lowering::unsupported("a guarded indirect branch");
  const std::vector<Index> targets = lowering.branch_table(lowering.operand(1).name);
  if (targets.empty()) Lowering::unsupported("an empty branch table");
  Op op{.run = brx, .a = lowering.source(lowering.operand(0), Type::u32), .c = lowering.reconvergence()};
  lowering.more(op, targets);
  lowering.classify(InstructionClass::control);
  return op;
}

void join(Warp& warp, const Op& op) { arrive_at_join(warp, static_cast<Index>(&op - warp.code)); }

// ---- ends

void exit_thread(Warp& warp, const Op&) { exit_lanes(warp); }

void trap(Warp& warp, const Op& op) {
  for_each_lane(warp.mask, [&](int lane) { warp.launch->fault(warp, op, FaultKind::trap, lane); });
  warp.launch->stop = true;
  exit_lanes(warp);
}

std::optional<Op> lower_exit(Lowering& lowering) {
  lowering.classify(InstructionClass::control);
  return Op{.run = exit_thread};
}
std::optional<Op> lower_ret(Lowering& lowering) {
  lowering.accept_modifiers({"uni"});
  lowering.classify(InstructionClass::control);
  if (lowering.in_entry()) return Op{.run = exit_thread};
  // All lanes meet at the epilogue before the function returns.
  return Op{.run = bra, .c = lowering.reconvergence(), .immediate = lowering.epilogue()};
}
std::optional<Op> lower_trap(Lowering& lowering) {
  lowering.classify(InstructionClass::control);
  return Op{.run = trap};
}

// ---- time and hints

void nanosleep(Warp& warp, const Op&) {
  warp.yield = true;
  warp.leave = true;
}
std::optional<Op> lower_nanosleep(Lowering& lowering) {
  static_cast<void>(lowering.source(lowering.operand(0), Type::u32));
  lowering.classify(InstructionClass::control);
  return Op{.run = nanosleep};
}

// Time passes with the warp instructions of the launch: it never runs backwards and repeats from run to run.
std::uint64_t cycles_of(const Launch& launch) { return launch.device.cycles(launch.clock); }
std::uint64_t nanoseconds_of(const Launch& launch) { return launch.device.timer_ns(launch.clock); }

template <class T, int Shift, std::uint64_t (*kTime)(const Launch&)>
void read_clock(Warp& warp, const Op& op) {
  alignas(64) T values[kLanes];
  std::fill(std::begin(values), std::end(values), static_cast<T>(kTime(*warp.launch) >> Shift));
  write_lanes(warp, destination<T>(warp, op.d), values);
  // A loop that waits for time to pass must not starve others.
  warp.yield = true;
  warp.leave = true;
}

/// A cluster is explicit when the kernel or its launch asks for one.
void read_explicit_cluster(Warp& warp, const Op& op) {
  const bool explicit_cluster =
      warp.block->cluster.size() > 1 || warp.launch->program.required_cluster[0] != 0;
  set_predicate(warp, op.d, explicit_cluster ? kAllLanes : 0);
}

struct Clock {
  std::string_view name;
  Handler run;
  Type type;
};

std::optional<Op> lower_mov(Lowering& lowering) {
  if (lowering.operand_count() != 2 || lowering.operand(1).kind != OperandKind::special) return std::nullopt;
  const std::string& name = lowering.operand(1).name;
  if (name == "%is_explicit_cluster") {
    lowering.classify(InstructionClass::other);
    return Op{.run = read_explicit_cluster, .d = lowering.predicate_destination(lowering.operand(0))};
  }
  static constexpr Clock kClocks[] = {
      {"%clock", read_clock<std::uint32_t, 0, cycles_of>, Type::b32},
      {"%clock_hi", read_clock<std::uint32_t, 32, cycles_of>, Type::b32},
      {"%clock64", read_clock<std::uint64_t, 0, cycles_of>, Type::b64},
      {"%globaltimer", read_clock<std::uint64_t, 0, nanoseconds_of>, Type::b64},
      {"%globaltimer_lo", read_clock<std::uint32_t, 0, nanoseconds_of>, Type::b32},
      {"%globaltimer_hi", read_clock<std::uint32_t, 32, nanoseconds_of>, Type::b32},
  };
  const auto clock = std::ranges::find(kClocks, name, &Clock::name);
  if (clock == std::end(kClocks)) return std::nullopt;
  lowering.classify(InstructionClass::other);
  return Op{.run = clock->run, .d = lowering.destination(lowering.operand(0), clock->type)};
}

void nothing(Warp&, const Op&) {}

// Launches here run one after the other; the checker judges as if they overlapped.
void wait_for_launch_before(Warp& warp, const Op&) { warp.block->waited = true; }

std::optional<Op> lower_griddepcontrol(Lowering& lowering) {
  lowering.accept_modifiers({"wait", "launch_dependents"});
  lowering.classify(InstructionClass::control);
  return Op{.run = lowering.has("wait") ? wait_for_launch_before : nothing};
}

// setmaxnreg moves registers between warps: results do not depend on it. pmevent triggers a profiler.
std::optional<Op> lower_nothing(Lowering& lowering) {
  lowering.classify(InstructionClass::control);
  return Op{.run = nothing};
}

}  // namespace

Op join_op() { return {.run = join}; }
void count_rounds(Op& branch, Index loop) {
  branch.run = bra_back;
  branch.aux = loop;
}
Op exit_op() { return {.run = exit_thread}; }

std::span<const Mnemonic> control_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"bra", lower_bra, 0},
      {"brx", lower_brx, 0},
      {"exit", lower_exit, 0},
      {"ret", lower_ret, 0},
      {"trap", lower_trap, 0},
      {"brkpt", lower_trap, 0},  // without a debugger
      {"nanosleep", lower_nanosleep, 0},
      {"mov", lower_mov},
      {"setmaxnreg", lower_nothing, 0},
      {"griddepcontrol", lower_griddepcontrol, 0},
      {"pmevent", lower_nothing, 0},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
