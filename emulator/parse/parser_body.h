// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "emulator/parse/parser_module.h"
#include "emulator/parse/parser_scopes.h"
#include "emulator/parse/parser_variables.h"

namespace ak::emulator {

/// Reads `.loc file line column, function_name label, inlined_at file line column`.
bool parse_location(ModuleState& state, Index& location);

/// Reads one function: its parameters are declared first, then the body is read. Branch labels may come
/// after their use, so names that nothing has declared yet are settled at the end.
class BodyParser {
 public:
  BodyParser(ModuleState& state, Function& function)
      : state_(state), tokens_(state.tokens), function_(function) {}

  /// Reads `.b32 %r<52>, a` after its `.reg`, up to the semicolon; only one name where not `many`, as in a
  /// list of parameters.
  bool parse_registers(bool many);
  bool declare_parameter(const DeclaredVariable& parameter);

  /// From behind the `{` to behind the matching `}`.
  bool parse();

 private:
  bool parse_statement();
  bool parse_directive();
  bool parse_variable_declaration(Space space, bool is_extern);
  bool parse_register_name(Type type, Index width);
  bool add_registers(std::string_view stem, std::string_view suffix, Type type, Index count);
  bool add_vector(std::string_view name, Type type, Index width);
  bool declare_label(std::string_view name, int line);
  bool parse_targets(std::string_view name, int line);

  bool parse_instruction();
  bool parse_guard(Instruction& instruction);
  bool parse_opcode(std::string_view opcode, Instruction& instruction);
  bool parse_operands(Instruction& instruction);

  bool parse_operand(Instruction& instruction, Operand& operand, int depth);
  bool parse_single_operand(Instruction& instruction, Operand& operand, int depth);
  bool parse_list(Instruction& instruction, char close, Operand& operand, int depth);
  bool parse_address(Instruction& instruction, Operand& operand, int depth);
  bool parse_integer(Operand& operand);
  bool parse_negation(Operand& operand);
  bool parse_name(Operand& operand, bool with_offset);
  bool parse_component(std::string_view& component);
  bool name_local(const Local& local, std::string_view component, Operand& operand);
  bool name_vector(const Local& local, std::string_view component, Operand& operand);
  bool name_special(std::string_view name, std::string_view component, Operand& operand);

  bool resolve();
  bool resolve_operand(Operand& operand, Index scope, int line);
  bool resolve_targets();

  /// An instruction that names what was not declared before it.
  struct Unresolved {
    Index instruction;
    Index scope;
  };
  struct UnresolvedTargets {
    Index scope;
    int line;
  };

  ModuleState& state_;
  TokenStream& tokens_;
  Function& function_;
  Scopes scopes_;
  std::vector<std::string> variable_names_;  ///< what a LocalKind::variable is called in the Function
  std::vector<Unresolved> unresolved_;
  std::vector<UnresolvedTargets> unresolved_targets_;  ///< one for each of Function::branch_targets
  Index location_ = kNone;
  bool has_unresolved_ = false;  ///< in the instruction being read
};

/// Whether `%name` is a special register, and one of which .x, .y, .z and .w can be taken.
struct SpecialName {
  bool known = false;
  bool is_vector = false;
};
[[nodiscard]] SpecialName special_name(std::string_view name);

}  // namespace ak::emulator
