// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "emulator/parse/ast.h"
#include "runtime/precision/float_parts.h"
#include "runtime/precision/precision_flow.h"

namespace ak::runtime {

namespace flow {
struct Step;
}

/// What an instruction does, looked up once.
struct FlowOperation {
  void (*apply)(flow::Step&) = nullptr;  ///< null: nothing is known of it
  bool reads_registers_only = true;      ///< and no memory
  std::vector<emulator::Type> types;     ///< among the modifiers, in their order
};
[[nodiscard]] FlowOperation operation_of(const emulator::Instruction& instruction);

/// What registers and memory of a module may hold: grows until an analysis of all instructions adds nothing.
class FlowState {
 public:
  explicit FlowState(const emulator::Module& module);

  /// The function and instruction that are looked at from here on.
  void at(std::uint32_t function, std::uint32_t instruction);
  [[nodiscard]] const emulator::Function& function() const { return module_.functions[function_]; }
  [[nodiscard]] const emulator::Instruction& instruction() const { return function().instructions[place_]; }
  [[nodiscard]] const FlowOperation& operation() const { return *operations_[function_][place_]; }
  [[nodiscard]] const emulator::Module& module() const { return module_; }
  /// Whether the instruction would do and find what it did when it was applied last.
  [[nodiscard]] bool is_settled() const;
  void note_applied() { applied_at_[function_][place_] = ++now_; }
  [[nodiscard]] bool changed() const { return changed_; }
  void begin_round() { changed_ = false; }

  [[nodiscard]] Word read(const emulator::Operand& operand) const;
  [[nodiscard]] const Word& word_of_register(const emulator::Operand& operand) const {
    return registers_[function_][operand.index];
  }
  void write(const emulator::Operand& operand, Word word);
  /// A float that begins here, with all its bits. @param element tells results of one instruction apart.
  [[nodiscard]] FloatPart fresh(bool wide, std::uint32_t element = 0) const;

  /// The cell of a state space, of generic addresses (all of them), or of a parameter by its name.
  [[nodiscard]] Word load(emulator::Space space, const emulator::Operand& address) const;
  void store(emulator::Space space, const emulator::Operand& address, const Word& word);
  [[nodiscard]] bool shared_holds_floats() const;
  /// Arguments and results of a call by name, or of every function where it goes through a register.
  void pass_call();

 private:
  [[nodiscard]] const FlowOperation* known_operation(const emulator::Instruction& instruction);
  void pass(std::uint32_t callee, const std::vector<emulator::Operand>& arguments,
            const std::vector<emulator::Operand>& results);
  [[nodiscard]] bool changed_since(std::uint32_t moment, const emulator::Operand& operand) const;
  void join_into(Word& into, const Word& from) { changed_ |= join(into, from); }
  [[nodiscard]] Word cell(emulator::Space space) const;

  const emulator::Module& module_;
  std::uint32_t function_ = 0, place_ = 0;
  std::vector<std::uint32_t> first_origin_;  ///< by function
  std::unordered_map<const void*, FlowOperation>
      known_operations_;                                       ///< by the list of modifiers or the opcode
  std::vector<std::vector<const FlowOperation*>> operations_;  ///< by function, as what follows
  std::vector<std::vector<Word>> registers_;
  // By counting instructions that were applied; 0: never.
  std::uint32_t now_ = 0;
  std::vector<std::vector<std::uint32_t>> changed_at_;  ///< registers
  std::vector<std::vector<std::uint32_t>> applied_at_;  ///< instructions
  std::map<emulator::Space, Word> cells_;
  std::map<std::pair<std::uint32_t, std::string>, Word, std::less<>> parameters_;
  bool changed_ = false;
};

/// Applies the current instruction to the state; finds arithmetic with narrowed data. @return what was found.
[[nodiscard]] std::optional<NarrowedUse> apply_instruction(FlowState& state, const DataFormat& format);

}  // namespace ak::runtime
