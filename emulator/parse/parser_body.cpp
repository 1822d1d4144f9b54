// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_body.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace ak::emulator {
namespace {

/// Inline assembly in a call sequence makes two or three; each level is one step of every look-up.
constexpr int kMaxScopeDepth = 64;

}  // namespace

bool BodyParser::parse() {
  while (!tokens_.failed()) {
    if (tokens_.at('}') && scopes_.depth() == 0) return tokens_.accept('}') && resolve();
    if (!parse_statement()) return false;
  }
  return false;
}

bool BodyParser::parse_statement() {
  if (tokens_.at(TokenKind::word)) {
    // The only place where two tokens decide: `name:` or an opcode.
    if (tokens_.peek_second().text != ":") return parse_instruction();
    const Token& label = tokens_.take();
    tokens_.take();
    return declare_label(label.text, label.line);
  }
  if (tokens_.at('@')) return parse_instruction();
  if (tokens_.at(TokenKind::location)) return parse_location(state_, location_);
  if (tokens_.at(TokenKind::dotted)) return parse_directive();
  if (tokens_.accept(';')) return !tokens_.failed();
  if (tokens_.accept('{')) {
    if (scopes_.depth() == kMaxScopeDepth) return tokens_.fail("blocks are nested too deeply");
    scopes_.open();
    return !tokens_.failed();
  }
  if (tokens_.accept('}')) {
    scopes_.close();
    return !tokens_.failed();
  }
  return tokens_.fail_expected("an instruction or '}'");
}

bool BodyParser::parse_directive() {
  const Token& directive = tokens_.take();
  const std::string_view word = directive.text;
  if (word == "reg") return parse_registers(true) && tokens_.expect(';');
  const bool is_extern = word == "extern" && tokens_.at(TokenKind::dotted);
  const std::optional<Space> space = variable_space(is_extern ? tokens_.take().text : word);
  if (space) return parse_variable_declaration(*space, is_extern);
  if (word == "pragma") return tokens_.take().kind == TokenKind::string && tokens_.expect(';');
  if (tokens_.accept(':')) {
    // The view of the dot and the name: they are next to each other in the text.
    return declare_label({word.data() - 1, word.size() + 1}, directive.line);
  }
  return tokens_.fail(fmt::format("{} is not a directive of a function's body", in_quotes(word)),
                      directive.line);
}

bool BodyParser::parse_variable_declaration(Space space, bool is_extern) {
  DeclaredVariable declared;
  declared.variable.is_extern = is_extern;
  if (!parse_variable(state_, space, declared)) return false;
  const auto index = static_cast<Index>(variable_names_.size());
  if (!scopes_.declare(declared.name, {LocalKind::variable, index, 1})) {
    return tokens_.fail(fmt::format("{} is declared twice", in_quotes(declared.name)));
  }
  declared.variable.name += scopes_.suffix_for(declared.name, state_.names.contains(declared.name));
  variable_names_.push_back(declared.variable.name);
  function_.variables.push_back(std::move(declared.variable));
  return tokens_.expect(';');
}

bool BodyParser::declare_parameter(const DeclaredVariable& parameter) {
  const auto index = static_cast<Index>(variable_names_.size());
  variable_names_.push_back(parameter.variable.name);
  if (parameter.name == "_") return true;
  (void)scopes_.suffix_for(parameter.name, false);
  return scopes_.declare(parameter.name, {LocalKind::variable, index, 1}) ||
         tokens_.fail(fmt::format("{} is declared twice", in_quotes(parameter.name)));
}

bool BodyParser::parse_registers(bool many) {
  Index width = 1;
  if (tokens_.at(TokenKind::dotted, "v2") || tokens_.at(TokenKind::dotted, "v4")) {
    width = static_cast<Index>(tokens_.take().text[1] - '0');
  }
  if (!tokens_.at(TokenKind::dotted)) return tokens_.fail_expected("a type");
  const std::optional<Type> type = parse_type(tokens_.peek().text);
  if (!type) return tokens_.fail_expected("a type");
  tokens_.take();
  do {
    if (!parse_register_name(*type, width)) return false;
  } while (many && tokens_.accept(','));
  return !tokens_.failed();
}

bool BodyParser::parse_register_name(Type type, Index width) {
  std::string_view name;
  if (!tokens_.expect_word(name, "a register")) return false;
  const auto first = static_cast<Index>(function_.registers.size());
  bool is_new = false;
  if (tokens_.accept('<')) {
    std::uint64_t count = 0;
    if (width != 1) return tokens_.fail("a range of vector registers is not supported");
    if (!tokens_.expect_integer(count, kMaxRegisters, "the number of registers") || !tokens_.expect('>')) {
      return false;
    }
    is_new = scopes_.declare_range(name, first, static_cast<Index>(count));
    if (!add_registers(name, scopes_.suffix_for_range(name, static_cast<Index>(count)), type,
                       static_cast<Index>(count))) {
      return false;
    }
  } else {
    is_new = scopes_.declare(name, {width == 1 ? LocalKind::reg : LocalKind::vector_reg, first, width});
    if (!add_vector(name, type, width)) return false;
  }
  return is_new || tokens_.fail(fmt::format("{} is declared twice", in_quotes(name)));
}

bool BodyParser::add_registers(std::string_view stem, std::string_view suffix, Type type, Index count) {
  if (!state_.budgets.registers.spend(count)) return tokens_.fail("the module has too many registers");
  const std::string_view kept = state_.words.keep(stem), kept_suffix = state_.words.keep(suffix);
  for (Index number = 0; number < count; ++number)
    function_.registers.push_back({kept, number, type, kept_suffix});
  return true;
}

bool BodyParser::add_vector(std::string_view name, Type type, Index width) {
  if (!state_.budgets.registers.spend(width)) return tokens_.fail("the module has too many registers");
  const std::string unique = std::string(name) + scopes_.suffix_for(name, false);
  constexpr std::array<std::string_view, 4> kEndings = {".x", ".y", ".z", ".w"};
  for (Index element = 0; element < width; ++element) {
    const std::string whole = width == 1 ? unique : unique + std::string(kEndings[element]);
    function_.registers.push_back({state_.words.keep(whole), kNone, type, {}});
  }
  return true;
}

bool BodyParser::declare_label(std::string_view name, int line) {
  if (!state_.budgets.labels.spend(1)) return tokens_.fail("the module has too many labels");
  for (const std::string_view kind : {"branchtargets", "calltargets", "callprototype"}) {
    if (tokens_.at(TokenKind::dotted, kind)) return parse_targets(name, line);
  }
  const auto index = static_cast<Index>(function_.labels.size());
  if (!scopes_.declare(name, {LocalKind::label, index, 1})) {
    return tokens_.fail(fmt::format("{} is declared twice", in_quotes(name)), line);
  }
  function_.labels.push_back({std::string(name) + scopes_.suffix_for(name, false),
                              static_cast<Index>(function_.instructions.size())});
  return !tokens_.failed();
}

/// The signature of a prototype is not kept: a call says what it passes.
bool BodyParser::parse_targets(std::string_view name, int line) {
  const bool is_prototype = tokens_.take().text == "callprototype";
  const auto index = static_cast<Index>(function_.branch_targets.size());
  if (!scopes_.declare(name, {LocalKind::targets, index, 1})) {
    return tokens_.fail(fmt::format("{} is declared twice", in_quotes(name)), line);
  }
  BranchTargets& targets = function_.branch_targets.emplace_back();
  targets.name = std::string(name) + scopes_.suffix_for(name, false);
  unresolved_targets_.push_back({scopes_.current(), line});
  if (is_prototype) {
    while (!tokens_.at(';') && !tokens_.at_end()) tokens_.take();
    return tokens_.expect(';');
  }
  do {
    const Token& label = tokens_.take();
    if (label.kind != TokenKind::word && label.kind != TokenKind::dotted)
      return tokens_.fail_expected("a label");
    if (!state_.budgets.pieces.spend(1)) return tokens_.fail("the module is too large");
    targets.labels.emplace_back(label.kind == TokenKind::dotted ? "." : "").append(label.text);
  } while (tokens_.accept(','));
  return tokens_.expect(';');
}

bool BodyParser::resolve() {
  for (const Unresolved& unresolved : unresolved_) {
    Instruction& instruction = function_.instructions[unresolved.instruction];
    for (Operand& operand : instruction.operands) {
      if (!resolve_operand(operand, unresolved.scope, instruction.ptx_line)) return false;
    }
  }
  return resolve_targets();
}

bool BodyParser::resolve_targets() {
  for (std::size_t i = 0; i < function_.branch_targets.size(); ++i) {
    for (std::string& label : function_.branch_targets[i].labels) {
      const std::optional<Local> local = scopes_.find(label, unresolved_targets_[i].scope);
      if (local && local->kind == LocalKind::label) {
        label = function_.labels[local->index].name;
      } else if (!state_.names.contains(label)) {
        return tokens_.fail(fmt::format("undeclared name {}", in_quotes(label)), unresolved_targets_[i].line);
      }
    }
  }
  return true;
}

}  // namespace ak::emulator
