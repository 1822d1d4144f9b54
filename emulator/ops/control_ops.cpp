// SPDX-License-Identifier: Apache-2.0
// Control flow, calls and what has no effect on results: nanosleep, clocks, hints to the scheduler.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "emulator/lower/lowering.h"
#include "emulator/machine/device_calls.h"
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

// ---- calls: arguments and results lie in the thread's local memory

struct Move {
  std::uint32_t from, to, bytes;
};

void move_local(Warp& warp, const Move& move) {
  const std::uint32_t stride = warp.launch->program.local_bytes;
  for_each_lane(warp.mask, [&](int lane) {
    const std::size_t base = static_cast<std::size_t>(lane) * stride;
    std::memmove(warp.local + base + move.to, warp.local + base + move.from, move.bytes);
    if (warp.local_written != nullptr)
      std::memmove(warp.local_written + base + move.to, warp.local_written + base + move.from, move.bytes);
  });
}

void move_all(Warp& warp, const Op& op) {
  const Slot* words = warp.launch->program.slots.data() + op.more;
  for (std::uint32_t i = 0; i + 2 < op.more_count; i += 3)
    move_local(warp, {words[i], words[i + 1], words[i + 2]});
}

void call(Warp& warp, const Op& op) {
  move_all(warp, op);
  warp.fragments[warp.fragment].returns.push_back(warp.pc);
  warp.pc = static_cast<Index>(op.immediate);
}

void finish(Warp& warp, const Op& op) { move_all(warp, op); }

void function_return(Warp& warp, const Op&) {
  auto& returns = warp.fragments[warp.fragment].returns;
  warp.pc = returns.back();
  returns.pop_back();
}

/// `call (results), name, (arguments)`, either list possibly missing.
struct CallOperands {
  std::string name;
  std::vector<Operand> results, arguments;
};

CallOperands read_call(const Lowering& lowering) {
  CallOperands call;
  bool named = false;
  for (const Operand& operand : lowering.instruction().operands) {
    if (operand.kind == OperandKind::symbol) {
      if (named) Lowering::unsupported("an indirect call");
      call.name = operand.name;
      named = true;
    } else if (operand.kind == OperandKind::list) {
      (named ? call.arguments : call.results) = operand.elements;
    } else {
      Lowering::unsupported("an indirect call");
    }
  }
  return call;
}

void record_moves(Lowering& lowering, Op& op, const std::vector<Operand>& operands,
                  const std::vector<CallTarget::Slice>& formals, bool to_callee) {
  if (operands.size() != formals.size()) Lowering::unsupported("a call with another number of arguments");
  std::vector<Slot> words;
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (operands[i].kind != OperandKind::symbol) Lowering::unsupported("an argument in a register");
    const CallTarget::Slice actual = lowering.local_slice(operands[i].name);
    if (actual.bytes != formals[i].bytes) Lowering::unsupported("an argument of another size");
    words.push_back(to_callee ? actual.offset : formals[i].offset);
    words.push_back(to_callee ? formals[i].offset : actual.offset);
    words.push_back(formals[i].bytes);
  }
  lowering.more(op, words);
}

std::optional<Op> lower_call(Lowering& lowering) {
  lowering.accept_modifiers({"uni"});
  if (lowering.instruction().guard) Lowering::unsupported("a guarded call");
  const CallOperands operands = read_call(lowering);
  const CallTarget& target = lowering.callee(operands.name);
  lowering.classify(InstructionClass::control);
  if (target.builtin) return device_call(lowering, operands.name, operands.results, operands.arguments);
  Op op{.run = call, .immediate = target.entry};
  record_moves(lowering, op, operands.arguments, target.parameters, true);
  return op;
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

// Clocks count warp instructions of the launch: they never run backwards and repeat from run to run.
template <class T, int Shift>
void read_clock(Warp& warp, const Op& op) {
  alignas(64) T values[kLanes];
  std::fill(std::begin(values), std::end(values), static_cast<T>(warp.launch->clock >> Shift));
  write_lanes(warp, destination<T>(warp, op.d), values);
  // A loop that waits for time to pass must not starve others.
  warp.yield = true;
  warp.leave = true;
}

std::optional<Op> lower_mov(Lowering& lowering) {
  if (lowering.operand_count() != 2 || lowering.operand(1).kind != OperandKind::special) return std::nullopt;
  const std::string& name = lowering.operand(1).name;
  Handler run = nullptr;
  if (name == "%clock" || name == "%globaltimer_lo") run = read_clock<std::uint32_t, 0>;
  if (name == "%clock_hi" || name == "%globaltimer_hi") run = read_clock<std::uint32_t, 32>;
  if (name == "%clock64" || name == "%globaltimer") run = read_clock<std::uint64_t, 0>;
  if (run == nullptr) return std::nullopt;
  lowering.classify(InstructionClass::other);
  const bool wide = name == "%clock64" || name == "%globaltimer";
  return Op{.run = run, .d = lowering.destination(lowering.operand(0), wide ? Type::b64 : Type::b32)};
}

void nothing(Warp&, const Op&) {}

// setmaxnreg moves registers between warps: results do not depend on it. griddepcontrol orders launches of a
// stream: launches here run one after the other. pmevent triggers a profiler.
std::optional<Op> lower_nothing(Lowering& lowering) {
  lowering.classify(InstructionClass::control);
  return Op{.run = nothing};
}

}  // namespace

Op join_op() { return {.run = join}; }
Op exit_op() { return {.run = exit_thread}; }
Op return_op() { return {.run = function_return}; }

Op finish_call(Lowering& lowering) {
  const CallOperands operands = read_call(lowering);
  const CallTarget& target = lowering.callee(operands.name);
  if (target.builtin) return {.run = nothing};
  Op op{.run = finish};
  record_moves(lowering, op, operands.results, target.returns, false);
  return op;
}

std::span<const Mnemonic> control_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {
      {"bra", lower_bra, 0},
      {"brx", lower_brx, 0},
      {"exit", lower_exit, 0},
      {"ret", lower_ret, 0},
      {"trap", lower_trap, 0},
      {"brkpt", lower_nothing, 0},
      {"call", lower_call, 0},
      {"nanosleep", lower_nanosleep, 0},
      {"mov", lower_mov},
      {"setmaxnreg", lower_nothing, 0},
      {"griddepcontrol", lower_nothing, 0},
      {"pmevent", lower_nothing, 0},
  };
  return kMnemonics;
}

}  // namespace ak::emulator
