// SPDX-License-Identifier: Apache-2.0
// Calls of functions, by name and through pointers, and returns from them.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/lower/call_graph.h"
#include "emulator/machine/device_calls.h"
#include "emulator/machine/lanes.h"
#include "emulator/machine/warp_sync.h"

namespace ak::emulator {
namespace {

// Op of a call: c is the calling function; of a direct one b the function called, of an indirect one a the pointers.
// Program::slots has offset and bytes of every argument and then of every result, aux is the number of arguments.

struct CallSlices {
  const Slot* words;
  [[nodiscard]] LocalSlice operator[](std::size_t i) const { return {words[2 * i], words[2 * i + 1]}; }
};
CallSlices slices_of(const Warp& warp, const Op& call) {
  return {warp.launch->program.slots.data() + call.more};
}

/// Of structures the holes are never written, and yet copied when a function passes them on: bytes next to
/// written ones, in the same word of eight, count as written.
void fill_holes(std::uint8_t* written, std::uint32_t bytes) {
  constexpr std::uint32_t kWord = 8;  // arguments lie at multiples of it
  for (std::uint32_t at = 0; at < bytes; at += kWord) {
    std::uint8_t* const end = written + std::min(at + kWord, bytes);
    if (std::find(written + at, end, std::uint8_t{1}) != end) std::fill(written + at, end, std::uint8_t{1});
  }
}

void move_local(Warp& warp, int lane, std::uint64_t from, std::uint64_t to, std::uint32_t bytes) {
  const std::size_t base = static_cast<std::size_t>(lane) * warp.launch->program.local_bytes;
  std::memmove(warp.local + base + to, warp.local + base + from, bytes);
  if (warp.local_written == nullptr) return;
  std::memmove(warp.local_written + base + to, warp.local_written + base + from, bytes);
  if (bytes > sizeof(std::uint64_t)) fill_holes(warp.local_written + base + to, bytes);
}

// ---- frames of recursive functions

/// The rows and predicates that `function` has in a warp.
struct Kept {
  const std::byte* rows;
  std::size_t row_bytes, predicate_bytes;
};
Kept kept_of(const Warp& warp, const CalledFunction& function) {
  std::size_t bytes = 0;
  for (const std::uint32_t each : function.row_bytes) bytes += each;
  return {warp.registers + function.rows, bytes, function.predicate_count * sizeof(std::uint32_t)};
}

/// Copies of its rows, of the row with its frames, and of its predicates.
std::shared_ptr<const std::vector<std::byte>> save_rows(const Warp& warp, const CalledFunction& function) {
  const Kept kept = kept_of(warp, function);
  auto saved =
      std::make_shared<std::vector<std::byte>>(kept.row_bytes + kWideRowBytes + kept.predicate_bytes);
  std::memcpy(saved->data(), kept.rows, kept.row_bytes);
  std::memcpy(saved->data() + kept.row_bytes, warp.registers + function.frame, kWideRowBytes);
  std::memcpy(saved->data() + kept.row_bytes + kWideRowBytes, warp.predicates + function.predicates,
              kept.predicate_bytes);
  return saved;
}

/// The lanes in warp.mask of all rows of `bytes` bytes, each with lanes of L.
template <class L>
const std::byte* restore_lanes(Warp& warp, Slot slot, std::uint32_t bytes, const std::byte* saved) {
  for (std::uint32_t at = 0; at < bytes; at += kLanes * sizeof(L), saved += kLanes * sizeof(L)) {
    for_each_lane(warp.mask, [&](int lane) {
      const std::size_t place = static_cast<std::size_t>(lane) * sizeof(L);
      std::memcpy(warp.registers + slot + at + place, saved + place, sizeof(L));
    });
  }
  return saved;
}

void set_frame_addresses(Warp& warp, const CalledFunction& function) {
  const auto* frames = source<std::uint64_t>(warp, function.frame);
  for (const FrameAddress& row : function.addresses) {
    for_each_lane(warp.mask, [&](int lane) {
      const std::uint64_t address = frames[lane] + row.offset;
      if (row.wide)
        destination<std::uint64_t>(warp, row.slot)[lane] = address;
      else
        destination<std::uint32_t>(warp, row.slot)[lane] = static_cast<std::uint32_t>(address);
    });
  }
}

void restore_rows(Warp& warp, const CalledFunction& function, const std::vector<std::byte>& saved) {
  struct Wide {
    std::uint64_t low, high;
  };
  const auto& bytes = function.row_bytes;
  const std::byte* at = restore_lanes<std::uint32_t>(warp, function.rows, bytes[0], saved.data());
  at = restore_lanes<std::uint64_t>(warp, function.rows + bytes[0], bytes[1], at);
  at = restore_lanes<Wide>(warp, function.rows + bytes[0] + bytes[1], bytes[2], at);
  at = restore_lanes<std::uint64_t>(warp, function.frame, kWideRowBytes, at);
  for (std::uint32_t i = 0; i < function.predicate_count; ++i, at += sizeof(std::uint32_t)) {
    std::uint32_t predicates = 0;
    std::memcpy(&predicates, at, sizeof predicates);
    set_predicate(warp, function.predicates + i, predicates);
  }
  set_frame_addresses(warp, function);
}

/// Puts a frame on the stack of every lane in warp.mask. False, with a fault: there is no room.
bool push_frames(Warp& warp, const Op& op, const CalledFunction& callee) {
  const Program& program = warp.launch->program;
  auto* top = destination<std::uint64_t>(warp, program.stack_top);
  const std::uint64_t room = program.local_bytes - program.stack_offset;
  for_each_lane(warp.mask, [&](int lane) {
    if (top[lane] + callee.frame_bytes <= room) return;
    warp.launch->fault(warp, op, FaultKind::stack_overflow, lane,
                       fmt::format("{} nested calls do not fit a thread's stack of 1024 bytes",
                                   warp.fragments[warp.fragment].returns.size() + 1));
    warp.launch->stop = true;
  });
  if (warp.launch->stop) return false;
  for_each_lane(warp.mask, [&](int lane) {
    const std::uint64_t frame = program.stack_offset + top[lane];
    const std::size_t base = static_cast<std::size_t>(lane) * program.local_bytes + frame;
    if (warp.local_written != nullptr) std::memset(warp.local_written + base, 0, callee.frame_bytes);
    destination<std::uint64_t>(warp, callee.frame)[lane] = frame;
    top[lane] += callee.frame_bytes;
  });
  set_frame_addresses(warp, callee);
  return true;
}

std::uint64_t frame_of(const Warp& warp, const CalledFunction& function, int lane) {
  return function.cycle == 0 ? 0 : source<std::uint64_t>(warp, function.frame)[lane];
}

// ---- calls and returns

/// The lanes in warp.mask, which are those of `fragment`, begin to execute `callee`.
void enter(Warp& warp, const Op& op, const CalledFunction& callee, Fragment& fragment) {
  const CalledFunction& caller = warp.launch->program.functions[op.c];
  ReturnPoint point{.pc = static_cast<Index>(&op - warp.code) + 1, .saved = nullptr};
  if (callee.cycle != 0) {
    if (callee.cycle == caller.cycle) point.saved = save_rows(warp, caller);
    if (!push_frames(warp, op, callee)) return;
  }
  const CallSlices actual = slices_of(warp, op);
  for_each_lane(warp.mask, [&](int lane) {
    const std::uint64_t frame = frame_of(warp, callee, lane);
    for (std::size_t i = 0; i < callee.parameters.size(); ++i)
      move_local(warp, lane, actual[i].offset, frame + callee.parameters[i].offset, actual[i].bytes);
  });
  fragment.returns.push_back(std::move(point));
}

/// The lanes in warp.mask call `callee`; the others of the fragment wait behind the call.
void call_by_some(Warp& warp, const Op& op, const CalledFunction& callee) {
  if (warp.mask == warp.lanes) {
    warp.pc = callee.entry;
    enter(warp, op, callee, warp.fragments[warp.fragment]);
  } else {
    enter(warp, op, callee, diverge(warp, callee.entry, static_cast<Index>(&op - warp.code) + 1));
  }
}

void call(Warp& warp, const Op& op) { call_by_some(warp, op, warp.launch->program.functions[op.b]); }

bool fits(const CallSlices& actual, const Op& op, const CalledFunction& callee) {
  if (callee.parameters.size() != op.aux ||
      callee.parameters.size() + callee.returns.size() != op.more_count / 2)
    return false;
  for (std::size_t i = 0; i < op.more_count / 2; ++i) {
    const LocalSlice& formal = i < op.aux ? callee.parameters[i] : callee.returns[i - op.aux];
    if (formal.bytes != actual[i].bytes) return false;
  }
  return true;
}

/// The function a pointer names, or a fault.
const CalledFunction* pointed_at(Warp& warp, const Op& op, std::uint64_t address, int lane) {
  const Program& program = warp.launch->program;
  const auto found =
      std::find_if(program.functions.begin() + 1, program.functions.end(),
                   [&](const CalledFunction& function) { return function.address == address; });
  std::string wrong;
  if (const auto missing = program.missing.find(address); missing != program.missing.end())
    wrong = fmt::format("the CPU device does not cover a function that calls '{}'", missing->second);
  else if (found == program.functions.end())
    wrong = fmt::format(
        "a call through a pointer with the value 0x{:x}, where no function of this signature is", address);
  else if (!fits(slices_of(warp, op), op, *found))
    wrong = fmt::format("a call of '{}' through a pointer to functions with other parameters", found->name);
  if (wrong.empty()) return &*found;
  warp.launch->fault(warp, op, FaultKind::invalid_operand, lane, wrong);
  warp.launch->stop = true;
  return nullptr;
}

// Lanes part by the function they call, one group after the other.
void call_indirect(Warp& warp, const Op& op) {
  const auto* pointers = source<std::uint64_t>(warp, op.a);
  std::uint32_t rest = warp.mask;
  while (rest != 0 && !warp.launch->stop) {
    const int first = std::countr_zero(rest);
    const CalledFunction* callee = pointed_at(warp, op, pointers[first], first);
    if (callee == nullptr) return;
    std::uint32_t same = 0;
    for_each_lane(rest, [&](int lane) {
      same |= static_cast<std::uint32_t>(pointers[lane] == pointers[first]) << lane;
    });
    rest &= ~same;
    warp.mask = same;
    call_by_some(warp, op, *callee);
  }
}

// Op: b is the function that ends.
void function_return(Warp& warp, const Op& op) {
  const Program& program = warp.launch->program;
  const CalledFunction& callee = program.functions[op.b];
  auto& returns = warp.fragments[warp.fragment].returns;
  const ReturnPoint point = std::move(returns.back());
  returns.pop_back();
  const Op& call = warp.code[point.pc - 1];
  const CallSlices actual = slices_of(warp, call);
  const std::size_t arguments = callee.parameters.size();
  for_each_lane(warp.mask, [&](int lane) {
    const std::uint64_t frame = frame_of(warp, callee, lane);
    for (std::size_t i = 0; i < callee.returns.size(); ++i)
      move_local(warp, lane, frame + callee.returns[i].offset, actual[arguments + i].offset,
                 callee.returns[i].bytes);
  });
  if (callee.cycle != 0) {
    auto* top = destination<std::uint64_t>(warp, program.stack_top);
    for_each_lane(warp.mask, [&](int lane) { top[lane] -= callee.frame_bytes; });
  }
  if (point.saved != nullptr) restore_rows(warp, program.functions[call.c], *point.saved);
  warp.pc = point.pc;
}

// ---- lowering

/// `call (results), target, (arguments), prototype`, either list and the prototype possibly missing.
struct CallOperands {
  const Operand* target = nullptr;
  std::vector<Operand> results, arguments;
};

CallOperands read_call(const Lowering& lowering) {
  CallOperands call;
  for (const Operand& operand : lowering.instruction().operands) {
    const bool names = operand.kind == OperandKind::symbol || operand.kind == OperandKind::reg;
    if (names && call.target == nullptr)
      call.target = &operand;
    else if (operand.kind == OperandKind::list)
      (call.target != nullptr ? call.arguments : call.results) = operand.elements;
    else if (operand.kind != OperandKind::label || call.target == nullptr)
      Lowering::unsupported("this form of a call");
  }
  if (call.target == nullptr) Lowering::unsupported("a call of nothing");
  return call;
}

void append_slices(const Lowering& lowering, const std::vector<Operand>& operands, std::vector<Slot>& words) {
  for (const Operand& operand : operands) {
    if (operand.kind != OperandKind::symbol) Lowering::unsupported("an argument in a register");
    const LocalSlice actual = lowering.local_slice(operand.name);
    words.insert(words.end(), {actual.offset, actual.bytes});
  }
}

void expect_sizes(const std::vector<Slot>& words, std::size_t first, const std::vector<LocalSlice>& formals) {
  for (std::size_t i = 0; i < formals.size(); ++i) {
    if (words[2 * (first + i) + 1] != formals[i].bytes) Lowering::unsupported("an argument of another size");
  }
}

std::optional<Op> lower_call(Lowering& lowering) {
  lowering.accept_modifiers({"uni"});
  const CallOperands operands = read_call(lowering);
  const std::string& name = operands.target->name;
  lowering.classify(InstructionClass::control);
  const bool indirect = operands.target->kind == OperandKind::reg;
  if (!indirect && is_provided_function(name))
    return device_call(lowering, name, operands.results, operands.arguments);
  Op op{.run = indirect ? call_indirect : call,
        .c = lowering.caller(),
        .aux = static_cast<std::uint32_t>(operands.arguments.size())};
  std::vector<Slot> words;
  append_slices(lowering, operands.arguments, words);
  append_slices(lowering, operands.results, words);
  lowering.more(op, words);
  if (indirect) {
    op.a = lowering.source(*operands.target, Type::u64);
    return op;
  }
  op.b = lowering.callee(name);
  const CalledFunction& callee = lowering.function(op.b);
  if (operands.arguments.size() != callee.parameters.size() ||
      operands.results.size() != callee.returns.size())
    Lowering::unsupported("a call with another number of arguments");
  expect_sizes(words, 0, callee.parameters);
  expect_sizes(words, callee.parameters.size(), callee.returns);
  return op;
}

}  // namespace

Op return_op(Index function) { return {.run = function_return, .b = function}; }

std::span<const Mnemonic> call_mnemonics() {
  static constexpr Mnemonic kMnemonics[] = {{"call", lower_call, 0}};
  return kMnemonics;
}

}  // namespace ak::emulator
