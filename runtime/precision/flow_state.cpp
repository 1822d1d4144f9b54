// SPDX-License-Identifier: Apache-2.0
#include "runtime/precision/flow_state.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <ranges>

namespace ak::runtime {
namespace {

using emulator::Operand;
using emulator::OperandKind;
using emulator::Space;

// Results of one instruction that can be distinguished: ld.v8 has the most.
constexpr std::uint32_t kElements = 16;
// Origins below are memory cells, by state space.
constexpr std::uint32_t kFirstInstruction = 64;

/// Whether a part is worth remembering: all kernels of a module share a cell, and read there what others left.
/// What integer arithmetic gave is an output of some function; integers meet as factors in shared memory alone; and
/// floats are kept whole or by halves.
bool is_remembered(const FloatPart& part, Space space) {
  if (part.kind == PartKind::opaque) return space != Space::global;
  if (part.kind == PartKind::integer)
    return space == Space::shared || std::popcount(part.kept) <= kMaxIntegerBits;
  return part.kind == PartKind::rounded || part.at % 16 == 0;
}

/// As memory gives it back: parts are of the cell, and where two short floats share a word it may hold others.
Word as_stored(Word word, Space space) {
  std::erase_if(word.parts, [&](const FloatPart& part) { return !is_remembered(part, space); });
  bool low = false, high = false;
  for (const FloatPart& part : word.parts) (part.at < 0 ? low : high) = true;
  for (FloatPart& part : word.parts) {
    part.packed |=
        (low && high) || part.at < 0 || (part.kind == PartKind::rounded && part.kept == low_bits(16));
    part.origin = static_cast<std::uint32_t>(space);
  }
  return word;
}

}  // namespace

FlowState::FlowState(const emulator::Module& module) : module_(module) {
  std::uint32_t next = kFirstInstruction;
  for (const emulator::Function& function : module.functions) {
    first_origin_.push_back(next);
    next += static_cast<std::uint32_t>(function.instructions.size()) * kElements;
    registers_.emplace_back(function.registers.size());
    changed_at_.emplace_back(function.registers.size());
    applied_at_.emplace_back(function.instructions.size());
    auto& operations = operations_.emplace_back();
    for (const emulator::Instruction& instruction : function.instructions)
      operations.push_back(known_operation(instruction));
  }
}

/// Instructions that are spelt alike share their words.
const FlowOperation* FlowState::known_operation(const emulator::Instruction& instruction) {
  const void* const spelling = instruction.modifiers.empty()
                                   ? static_cast<const void*>(instruction.opcode.data())
                                   : instruction.modifiers.data();
  const auto [entry, added] = known_operations_.try_emplace(spelling);
  if (added) entry->second = operation_of(instruction);
  return &entry->second;
}

bool FlowState::changed_since(std::uint32_t moment, const Operand& operand) const {
  if (operand.kind == OperandKind::reg) return changed_at_[function_][operand.index] >= moment;
  return std::ranges::any_of(operand.elements,
                             [&](const Operand& element) { return changed_since(moment, element); });
}

bool FlowState::is_settled() const {
  const std::uint32_t applied = applied_at_[function_][place_];
  if (applied == 0 || !operation().reads_registers_only) return false;
  // The first operand is what an instruction writes, or where to.
  return std::ranges::none_of(instruction().operands | std::views::drop(1),
                              [&](const Operand& operand) { return changed_since(applied, operand); });
}

void FlowState::at(std::uint32_t function, std::uint32_t instruction) {
  function_ = function;
  place_ = instruction;
}

Word FlowState::read(const Operand& operand) const {
  switch (operand.kind) {
    case OperandKind::reg:
      return word_of_register(operand);
    case OperandKind::integer:
    case OperandKind::real:
      return Word::number(operand.bits);
    case OperandKind::list:
    case OperandKind::pair:
      // Elements one behind the other only matter to mov, which reads them itself.
      if (!operand.elements.empty()) return read(operand.elements.front());
      return Word::unknown();
    case OperandKind::special:
      return {Known::launch, 0, {}};
    default:
      return Word::unknown();
  }
}

void FlowState::write(const Operand& operand, Word word) {
  if (operand.kind == OperandKind::reg) {
    word.constant = sign_extended(word.constant, emulator::bits(function().registers[operand.index].type));
    if (join(registers_[function_][operand.index], word)) {
      changed_ = true;
      changed_at_[function_][operand.index] = now_;
    }
  }
  if (operand.kind == OperandKind::pair && !operand.elements.empty())
    write(operand.elements.front(), std::move(word));
}

FloatPart FlowState::fresh(bool wide, std::uint32_t element) const {
  return {.origin = first_origin_[function_] + place_ * kElements + std::min(element, kElements - 1),
          .at = 0,
          .kept = low_bits(wide ? 64 : 32),
          .wide = wide};
}

Word FlowState::cell(Space space) const {
  const auto found = cells_.find(space);
  return found != cells_.end() ? found->second : Word{};
}

Word FlowState::load(Space space, const Operand& address) const {
  if (space == Space::param) {
    const auto found = address.elements.empty()
                           ? parameters_.end()
                           : parameters_.find(std::pair(function_, address.elements.front().name));
    return found != parameters_.end() ? found->second
           : function().entry         ? Word{Known::launch, 0, {}}
                                      : Word{};
  }
  if (space != Space::none) return cell(space == Space::shared_cluster ? Space::shared : space);
  Word any = Word::unknown();
  for (const Space each : {Space::shared, Space::local, Space::global}) join(any, cell(each));
  return any;
}

void FlowState::store(Space space, const Operand& address, const Word& word) {
  if (space == Space::param) {
    if (!address.elements.empty()) join_into(parameters_[{function_, address.elements.front().name}], word);
    return;
  }
  if (space == Space::shared_cluster) space = Space::shared;
  for (const Space each : {Space::shared, Space::local, Space::global}) {
    if (space == each || space == Space::none) join_into(cells_[each], as_stored(word, each));
  }
}

bool FlowState::shared_holds_floats() const { return !cell(Space::shared).parts.empty(); }

void FlowState::pass_call() {
  std::vector<Operand> results, arguments;
  std::string name;
  bool named = false;
  for (const Operand& operand : instruction().operands) {
    if (operand.kind == OperandKind::list) {
      (named ? arguments : results) = operand.elements;
    } else if (!named) {
      named = true;
      if (operand.kind == OperandKind::symbol) name = operand.name;
    }
  }
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
    const emulator::Function& callee = module_.functions[i];
    if (name.empty() ? !callee.entry : callee.name == name) pass(i, arguments, results);
  }
}

void FlowState::pass(std::uint32_t callee, const std::vector<Operand>& arguments,
                     const std::vector<Operand>& results) {
  const emulator::Function& target = module_.functions[callee];
  for (std::size_t i = 0; i < std::min(arguments.size(), target.parameters.size()); ++i)
    join_into(parameters_[{callee, target.parameters[i].name}],
              arguments[i].kind == OperandKind::symbol ? parameters_[{function_, arguments[i].name}]
                                                       : read(arguments[i]));
  for (std::size_t i = 0; i < std::min(results.size(), target.returns.size()); ++i) {
    const Word back = parameters_[{callee, target.returns[i].name}];
    if (results[i].kind == OperandKind::symbol)
      join_into(parameters_[{function_, results[i].name}], back);
    else
      write(results[i], back);
  }
}

}  // namespace ak::runtime
