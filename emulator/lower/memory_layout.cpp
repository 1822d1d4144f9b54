// SPDX-License-Identifier: Apache-2.0
#include "emulator/lower/memory_layout.h"

#include <algorithm>
#include <set>

#include "emulator/lower/lowering.h"
#include "emulator/machine/special_registers.h"

namespace ak::emulator {
namespace {

// What a thread has for recursive calls unless a program asks for more: cudaLimitStackSize (CUDA Runtime API,
// cudaDeviceGetLimit). A call takes at least the return address and a saved register of it, rounded to 16.
constexpr std::uint64_t kStackLimit = 1024, kMinFrameBytes = 16;

// Shared memory of a block is at most 227 KiB on any device and local memory 512 KiB per thread (CUDA C++
// Programming Guide, "Compute Capabilities"): more is not a program.
constexpr std::uint64_t kMaxShared = 1u << 20, kMaxLocal = 512u << 10, kMaxParameters = 32u << 10;

std::uint64_t place(std::uint64_t& end, const Variable& variable, std::uint64_t most) {
  const std::uint64_t alignment = std::max<std::uint32_t>(variable.alignment, 1);
  const std::uint64_t at = (end + alignment - 1) / alignment * alignment;
  if (variable.bytes > most || at > most - variable.bytes)
    Lowering::unsupported("the size of variable '" + variable.name + "'");
  end = at + variable.bytes;
  return at;
}

void collect_names(const Operand& operand, std::set<std::string>& names) {
  if (operand.kind == OperandKind::symbol || operand.kind == OperandKind::special) names.insert(operand.name);
  for (const Operand& element : operand.elements) collect_names(element, names);
}

Variable reserved_shared() {
  Variable variable;
  variable.name = "reserved shared memory";
  variable.space = Space::shared;
  variable.bytes = kReservedSharedBytes;
  return variable;
}

std::set<std::string> names_used(const std::vector<const Function*>& functions) {
  std::set<std::string> names;
  for (const Function* function : functions) {
    for (const Instruction& instruction : function->instructions) {
      for (const Operand& operand : instruction.operands) collect_names(operand, names);
    }
  }
  return names;
}

}  // namespace

MemoryLayout::MemoryLayout(const Module& module, const CallGraph& calls, const SymbolAddresses& globals,
                           Program& program) {
  const std::vector<const Function*>& functions = calls.functions;
  const std::set<std::string> used = names_used(functions);
  if (std::any_of(used.begin(), used.end(), names_reserved_shared)) {
    place_shared(reserved_shared(), program);
    program.reserved_shared_bytes = kReservedSharedBytes;
  }
  for (const auto& [name, address] : globals)
    shared_and_global_[name] = {.space = Space::global, .value = address, .bytes = 0};
  for (const Variable& variable : module.variables) {
    if (variable.space == Space::shared && used.contains(variable.name)) place_shared(variable, program);
  }
  place_parameters(*functions.front(), program);
  for (std::size_t i = 0; i < functions.size(); ++i) place_own(*functions[i], calls.cycles[i] != 0, program);
  program.static_shared_bytes = static_cast<std::uint32_t>(shared_bytes_);
  // The strictest alignment an extern array may ask for that programs rely on: 128-byte swizzled tiles of
  // tensor copies repeat every 1024 bytes.
  constexpr std::uint64_t kDynamicAlignment = 16;
  std::uint64_t alignment = kDynamicAlignment;
  for (const Variable& variable : module.variables) {
    if (variable.bytes == 0 && variable.space == Space::shared && used.contains(variable.name))
      alignment = std::max<std::uint64_t>(alignment, variable.alignment);
  }
  const std::uint64_t dynamic = (shared_bytes_ + alignment - 1) / alignment * alignment;
  program.dynamic_shared_offset = static_cast<std::uint32_t>(dynamic);
  for (const std::string& name : dynamic_shared_) {
    shared_and_global_[name].value = dynamic;
    program.shared_symbols[name] = static_cast<std::uint32_t>(dynamic);
  }
  place_stack(program);
}

void MemoryLayout::place_own(const Function& function, bool recursive, Program& program) {
  if (recursive) frames_.try_emplace(&function);
  const auto place = recursive ? &MemoryLayout::place_in_frame : &MemoryLayout::place_local;
  if (!function.entry) {
    for (const Variable& variable : function.parameters) (this->*place)(function, variable);
    for (const Variable& variable : function.returns) (this->*place)(function, variable);
  }
  for (const Variable& variable : function.variables) {
    if (variable.space == Space::shared) place_shared(variable, program);
    if (variable.space == Space::local) (this->*place)(function, variable);
    if (variable.space == Space::param) place_local(function, variable);
  }
}

// As many frames as a device's stack has room for: there arguments pass through registers.
void MemoryLayout::place_stack(Program& program) {
  constexpr std::uint64_t kAlignment = 16;
  const auto aligned = [](std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  program.stack_offset = static_cast<std::uint32_t>(aligned(local_bytes_));
  std::uint64_t stack = 0;
  for (auto& [function, frame] : frames_) {
    frame.bytes = std::max(aligned(frame.bytes), kMinFrameBytes);
    const std::uint64_t calls = kStackLimit / (kMinFrameBytes + aligned(frame.variables));
    stack = std::max(stack, std::max<std::uint64_t>(calls, 1) * frame.bytes);
  }
  if (program.stack_offset + stack > kMaxLocal) Lowering::unsupported("frames of this size");
  program.local_bytes = program.stack_offset + static_cast<std::uint32_t>(stack);
}

std::uint32_t MemoryLayout::frame_bytes(const Function& function) const {
  const auto found = frames_.find(&function);
  return found == frames_.end() ? 0 : static_cast<std::uint32_t>(found->second.bytes);
}

void MemoryLayout::place_shared(const Variable& variable, Program& program) {
  if (variable.bytes == 0) {
    dynamic_shared_.push_back(variable.name);
    shared_and_global_[variable.name] = {.space = Space::shared, .value = 0, .bytes = 0};
    return;
  }
  const std::uint64_t at = place(shared_bytes_, variable, kMaxShared);
  shared_and_global_[variable.name] = {
      .space = Space::shared, .value = at, .bytes = static_cast<std::uint32_t>(variable.bytes)};
  program.shared_symbols[variable.name] = static_cast<std::uint32_t>(at);
}

void MemoryLayout::place_parameters(const Function& entry, Program& program) {
  std::uint64_t end = 0;
  for (const Variable& parameter : entry.parameters) {
    const std::uint64_t at = place(end, parameter, kMaxParameters);
    const auto bytes = static_cast<std::uint32_t>(parameter.bytes);
    own_[&entry][parameter.name] = {.space = Space::param, .value = at, .bytes = bytes};
    program.parameters.push_back({.offset = static_cast<std::uint32_t>(at), .bytes = bytes});
  }
  program.parameter_bytes = static_cast<std::uint32_t>(end);
}

void MemoryLayout::place_local(const Function& function, const Variable& variable) {
  Variable aligned = variable;
  aligned.alignment = std::max<std::uint32_t>(variable.alignment, 8);  // parts are copied as words
  const std::uint64_t at = place(local_bytes_, aligned, kMaxLocal);
  own_[&function][variable.name] = {
      .space = Space::local, .value = at, .bytes = static_cast<std::uint32_t>(variable.bytes)};
}

void MemoryLayout::place_in_frame(const Function& function, const Variable& variable) {
  Variable aligned = variable;
  aligned.alignment = std::clamp<std::uint32_t>(variable.alignment, 8, 16);  // frames lie at multiples of 16
  Frame& frame = frames_[&function];
  const std::uint64_t at = place(frame.bytes, aligned, kMaxLocal);
  if (variable.space == Space::local) frame.variables += variable.bytes;
  own_[&function][variable.name] = {.space = Space::local,
                                    .value = at,
                                    .bytes = static_cast<std::uint32_t>(variable.bytes),
                                    .in_frame = true};
}

const Symbol* MemoryLayout::find(const Function& function, const std::string& name) const {
  if (const auto own = own_.find(&function); own != own_.end()) {
    if (const auto found = own->second.find(name); found != own->second.end()) return &found->second;
  }
  const auto found = shared_and_global_.find(name);
  return found == shared_and_global_.end() ? nullptr : &found->second;
}

}  // namespace ak::emulator
