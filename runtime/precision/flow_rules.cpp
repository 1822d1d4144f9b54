// SPDX-License-Identifier: Apache-2.0
// Which instruction does what.
#include "runtime/precision/flow_rules.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ak::runtime {
namespace flow {
namespace {

struct Rule {
  std::string_view opcode;
  void (*apply)(Step&);
};
// clang-format off
constexpr std::array kTable{
    Rule{"ld", load}, Rule{"ldu", load}, Rule{"st", store}, Rule{"ldmatrix", load_matrix},
    Rule{"stmatrix", store_matrix}, Rule{"cp", copy}, Rule{"call", call}, Rule{"atom", atomic}, Rule{"red", atomic},
    Rule{"mov", move}, Rule{"cvta", forget}, Rule{"selp", choose}, Rule{"slct", choose}, Rule{"shfl", choose},
    Rule{"movmatrix", choose}, Rule{"min", choose}, Rule{"max", choose}, Rule{"abs", choose},
    Rule{"copysign", choose}, Rule{"neg", negate}, Rule{"set", select_all},
    Rule{"and", combine_bits}, Rule{"or", combine_bits}, Rule{"xor", combine_bits}, Rule{"not", complement},
    Rule{"lop3", any_function}, Rule{"shl", shift_left}, Rule{"shr", shift_right}, Rule{"shf", shift_window},
    Rule{"prmt", permute}, Rule{"brev", disorder}, Rule{"szext", disorder}, Rule{"bfe", extract_field}, Rule{"bfi", insert_field}, Rule{"cvt", convert},
    Rule{"add", arithmetic}, Rule{"sub", arithmetic}, Rule{"mul", arithmetic}, Rule{"mad", arithmetic},
    Rule{"addc", arithmetic}, Rule{"subc", arithmetic}, Rule{"madc", arithmetic}, Rule{"mul24", arithmetic},
    Rule{"mad24", arithmetic}, Rule{"div", arithmetic}, Rule{"rem", arithmetic}, Rule{"fma", compute},
    Rule{"rcp", compute}, Rule{"sqrt", compute}, Rule{"rsqrt", compute}, Rule{"sin", compute}, Rule{"cos", compute},
    Rule{"lg2", compute}, Rule{"ex2", compute}, Rule{"tanh", compute}, Rule{"dp4a", multiply_matrices},
    Rule{"dp2a", multiply_matrices}, Rule{"mma", multiply_matrices}, Rule{"wgmma", multiply_matrices},
    Rule{"tcgen05", multiply_matrices},
};
// clang-format on

/// By opcode, since programs have thousands of them.
constexpr auto kRules = [] {
  auto rules = kTable;
  std::ranges::sort(rules, {}, &Rule::opcode);
  return rules;
}();

/// wmma: loads and stores of fragments, and their product.
void (*rule_of(const emulator::Instruction& instruction))(Step&) {
  if (instruction.opcode == "wmma")
    return instruction.has("load")    ? load_matrix
           : instruction.has("store") ? store_matrix
                                      : multiply_matrices;
  const std::string_view opcode = instruction.opcode;
  const auto found = std::ranges::lower_bound(kRules, opcode, {}, &Rule::opcode);
  return found != kRules.end() && found->opcode == opcode ? found->apply : nullptr;
}

/// What a load or a call gives, and whether shared memory has floats, changes with memory.
bool reads_memory(void (*rule)(Step&)) {
  return rule == load || rule == load_matrix || rule == call || rule == multiply_matrices;
}

}  // namespace
}  // namespace flow

FlowOperation operation_of(const emulator::Instruction& instruction) {
  FlowOperation operation{.apply = flow::rule_of(instruction), .types = {}};
  operation.reads_registers_only = !flow::reads_memory(operation.apply);
  for (const std::string_view modifier : instruction.modifiers) {
    if (const auto type = emulator::parse_type(modifier)) operation.types.push_back(*type);
  }
  return operation;
}

std::optional<NarrowedUse> apply_instruction(FlowState& state, const DataFormat& format) {
  const FlowOperation& operation = state.operation();
  flow::Step step{
      .state = state, .format = format, .instruction = state.instruction(), .types = operation.types};
  state.note_applied();
  if (operation.apply == nullptr || step.count() == 0) {
    if (operation.apply == nullptr && step.count() > 0) flow::forget(step);
    return std::nullopt;
  }
  operation.apply(step);
  return step.found;
}

}  // namespace ak::runtime
