// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "emulator/parse/parser_body.h"
#include "emulator/parse/parser_constants.h"

namespace ak::emulator {
namespace {

/// A list in an address in a list is the deepest PTX has.
constexpr int kMaxDepth = 4;

constexpr std::string_view kComponents = "xyzw";
constexpr std::string_view kColours = "rgba";  // the same components by their other names

/// The index of "x" ... "w" or "r" ... "a"; npos for anything else.
std::size_t component_index(std::string_view component) {
  if (component.size() != 1) return std::string_view::npos;
  const std::size_t index = kComponents.find(component[0]);
  return index != std::string_view::npos ? index : kColours.find(component[0]);
}

/// Whether it selects bytes or halves of a register, as operands of video instructions do: "b3", "h10".
bool names_parts(std::string_view component) {
  constexpr std::size_t kMaxLetters = 5;  // .b3210
  return component.size() >= 2 && component.size() <= kMaxLetters &&
         (component[0] == 'b' || component[0] == 'h') &&
         component.find_first_not_of("01234567", 1) == std::string_view::npos;
}

/// A name that was not declared before it is kept as a label of this index until the function ends.
constexpr Index kUnresolved = 0;

}  // namespace

bool BodyParser::parse_operand(Instruction& instruction, Operand& operand, int depth) {
  if (depth > kMaxDepth) return tokens_.fail("an operand is nested too deeply");
  if (!state_.budgets.pieces.spend(1)) return tokens_.fail("the module is too large");
  if (!parse_single_operand(instruction, operand, depth)) return false;
  if (!tokens_.accept('|')) return !tokens_.failed();
  Operand pair;
  pair.kind = OperandKind::pair;
  pair.elements.reserve(2);
  pair.elements.push_back(std::move(operand));
  const bool parsed = parse_operand(instruction, pair.elements.emplace_back(), depth + 1);
  operand = std::move(pair);
  return parsed;
}

bool BodyParser::parse_single_operand(Instruction& instruction, Operand& operand, int depth) {
  const Token& token = tokens_.peek();
  if (token.kind == TokenKind::word && token.text != "WARP_SZ") return parse_name(operand, true);
  if (token.kind == TokenKind::dotted) return parse_name(operand, true);
  if (tokens_.accept('[')) return parse_address(instruction, operand, depth);
  if (tokens_.accept('{')) return parse_list(instruction, '}', operand, depth);
  if (tokens_.at('(') && instruction.opcode == "call") {
    tokens_.take();
    return parse_list(instruction, ')', operand, depth);
  }
  if (at_real(tokens_)) {
    operand.kind = OperandKind::real;
    return parse_real(tokens_, operand.type, operand.bits);
  }
  if ((tokens_.at('!') || tokens_.at('-')) && tokens_.peek_second().kind == TokenKind::word) {
    return parse_negation(operand);
  }
  return at_constant(tokens_) ? parse_integer(operand) : tokens_.fail_expected("an operand");
}

bool BodyParser::parse_integer(Operand& operand) {
  Constant value;
  operand.kind = OperandKind::integer;
  if (!parse_constant(tokens_, value)) return false;
  operand.bits = value.bits;
  return true;
}

bool BodyParser::parse_negation(Operand& operand) {
  if (tokens_.peek_second().text == "WARP_SZ") return parse_integer(operand);
  tokens_.take();
  if (!parse_name(operand, false)) return false;
  if (operand.kind != OperandKind::reg) return tokens_.fail("only a register can be negated");
  operand.negated = true;
  return true;
}

bool BodyParser::parse_list(Instruction& instruction, char close, Operand& operand, int depth) {
  operand.kind = OperandKind::list;
  if (tokens_.accept(close)) return true;
  do {
    if (!parse_operand(instruction, operand.elements.emplace_back(), depth + 1)) return false;
  } while (tokens_.accept(','));
  return tokens_.expect(close);
}

/// `[base + offset, coordinates ...]` and the `.unified` that may be behind it.
bool BodyParser::parse_address(Instruction& instruction, Operand& operand, int depth) {
  operand.kind = OperandKind::address;
  Operand& base = operand.elements.emplace_back();
  if (at_constant(tokens_)) {
    if (!parse_integer(base)) return false;
  } else {
    if (!parse_name(base, false)) return false;
    if (base.kind != OperandKind::reg && base.kind != OperandKind::symbol) {
      return tokens_.fail("an address begins with neither a register nor a variable");
    }
    Constant offset;
    const bool has_offset = tokens_.at('-') || tokens_.accept('+');
    if (has_offset && !parse_constant(tokens_, offset)) return false;
    operand.offset = static_cast<std::int64_t>(offset.bits);
  }
  while (tokens_.accept(',')) {
    if (!parse_operand(instruction, operand.elements.emplace_back(), depth + 1)) return false;
  }
  if (!tokens_.expect(']')) return false;
  if (tokens_.accept(TokenKind::dotted, "unified")) {
    std::vector<std::string_view> modifiers(instruction.modifiers.begin(), instruction.modifiers.end());
    modifiers.push_back(state_.words.keep("unified"));
    instruction.modifiers = state_.words.keep(std::move(modifiers));
  }
  return !tokens_.failed();
}

/// The `.x` or `.b3` that follows a name without a blank; empty where there is none.
bool BodyParser::parse_component(std::string_view& component) {
  if (!tokens_.at(TokenKind::dotted) || !tokens_.peek().glued) return true;
  component = tokens_.take().text;
  return component_index(component) != std::string_view::npos || names_parts(component) ||
         tokens_.fail(
             fmt::format("{} is not a component of a register that is supported", in_quotes(component)));
}

/// A name of whatever kind. Without `with_offset` it is the base of an address, which no label can be.
bool BodyParser::parse_name(Operand& operand, bool with_offset) {
  const Token& token = tokens_.take();
  if (token.kind == TokenKind::word && token.text == "_") return true;
  const bool is_label = token.kind == TokenKind::dotted;
  if (!is_label && token.kind != TokenKind::word) return tokens_.fail("expected a name", token.line);
  std::string_view component;
  if (!parse_component(component)) return false;
  const std::optional<Local> local = is_label ? std::nullopt : scopes_.find(token.text);
  if (local && local->kind < LocalKind::label) {
    if (!name_local(*local, component, operand)) return false;
  } else if (token.text.starts_with('%')) {
    return name_special(token.text, component, operand);
  } else {
    if (!component.empty()) return tokens_.fail(fmt::format("undeclared register {}", in_quotes(token.text)));
    const bool declared = !with_offset && state_.names.contains(token.text);
    if (!with_offset && !declared)
      return tokens_.fail(fmt::format("undeclared name {}", in_quotes(token.text)));
    operand.kind = declared ? OperandKind::symbol : OperandKind::label;
    operand.index = declared ? kNone : kUnresolved;
    operand.name = is_label ? "." : "";
    operand.name += token.text;
    has_unresolved_ |= !declared;
  }
  if (with_offset && operand.kind != OperandKind::reg && (tokens_.at('+') || tokens_.at('-'))) {
    Constant offset;
    if (!parse_constant(tokens_, offset)) return false;
    operand.offset = static_cast<std::int64_t>(offset.bits);
  }
  return !tokens_.failed();
}

bool BodyParser::name_local(const Local& local, std::string_view component, Operand& operand) {
  if (local.kind == LocalKind::vector_reg) return name_vector(local, component, operand);
  const bool is_register = local.kind == LocalKind::reg;
  if (!component.empty() && !(is_register && names_parts(component)))
    return tokens_.fail("a component of something that is not a vector");
  operand.kind = is_register ? OperandKind::reg : OperandKind::symbol;
  if (is_register) {
    operand.index = local.index;
    if (!component.empty()) operand.name = component;
  } else {
    operand.name = variable_names_[local.index];
  }
  return true;
}

bool BodyParser::name_vector(const Local& local, std::string_view component, Operand& operand) {
  if (!component.empty()) {
    const std::size_t index = component_index(component);
    if (index >= local.width) return tokens_.fail("a component that the vector does not have");
    operand.kind = OperandKind::reg;
    operand.index = local.index + static_cast<Index>(index);
    return true;
  }
  if (!state_.budgets.pieces.spend(local.width)) return tokens_.fail("the module is too large");
  operand.kind = OperandKind::list;
  for (Index element = 0; element < local.width; ++element) {
    Operand& part = operand.elements.emplace_back();
    part.kind = OperandKind::reg;
    part.index = local.index + element;
  }
  return true;
}

bool BodyParser::name_special(std::string_view name, std::string_view component, Operand& operand) {
  const SpecialName special = special_name(name);
  if (!special.known) return tokens_.fail(fmt::format("undeclared register {}", in_quotes(name)));
  if (!component.empty() && (!special.is_vector || component_index(component) == std::string_view::npos))
    return tokens_.fail("a component of something that is not a vector");
  operand.kind = OperandKind::special;
  operand.name = name;
  if (!component.empty()) operand.name.append(".").append(component);
  return true;
}

bool BodyParser::resolve_operand(Operand& operand, Index scope, int line) {
  for (Operand& element : operand.elements) {
    if (!resolve_operand(element, scope, line)) return false;
  }
  if (operand.kind != OperandKind::label || operand.index != kUnresolved) return true;
  operand.index = kNone;
  const std::optional<Local> local = scopes_.find(operand.name, scope);
  if (local && local->kind >= LocalKind::label) {
    if (operand.offset != 0) return tokens_.fail("an offset from a label", line);
    operand.name = local->kind == LocalKind::label ? function_.labels[local->index].name
                                                   : function_.branch_targets[local->index].name;
    return true;
  }
  if (!state_.names.contains(operand.name)) {
    return tokens_.fail(fmt::format("undeclared name {}", in_quotes(operand.name)), line);
  }
  operand.kind = OperandKind::symbol;
  return true;
}

}  // namespace ak::emulator
