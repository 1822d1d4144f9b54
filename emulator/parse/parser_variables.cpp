// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "emulator/parse/parser_constants.h"

namespace ak::emulator {
namespace {

/// PTX has arrays of arrays; no one writes more than a few levels, and an initializer recurses once a level.
constexpr std::size_t kMaxDimensions = 8;

struct NamedSpace {
  std::string_view name;
  Space space;
};

constexpr std::array kVariableSpaces = {NamedSpace{"global", Space::global},
                                        NamedSpace{"const", Space::constant},
                                        NamedSpace{"shared", Space::shared},
                                        NamedSpace{"local", Space::local}, NamedSpace{"param", Space::param}};

bool parse_alignment(TokenStream& tokens, std::uint32_t& alignment) {
  std::uint64_t value = 0;
  if (!tokens.expect_integer(value, kMaxAlignment, "an alignment")) return false;
  if (!std::has_single_bit(value)) return tokens.fail("an alignment is not a power of two");
  alignment = static_cast<std::uint32_t>(value);
  return true;
}

bool parse_dimensions(TokenStream& tokens, Shape& shape) {
  while (tokens.accept('[')) {
    if (shape.lengths.size() == kMaxDimensions) return tokens.fail("an array has too many dimensions");
    Constant length;
    if (!tokens.at(']')) {
      if (!parse_constant(tokens, length)) return false;
      if (length.bits > kMaxVariableBytes) return tokens.fail("an array is too long");
      if (length.bits == 0 && !shape.lengths.empty()) return tokens.fail("an array of empty arrays");
    } else if (!shape.lengths.empty()) {
      return tokens.fail("only the first dimension of an array may be left open");
    }
    shape.lengths.push_back(length.bits);
    if (!tokens.expect(']')) return false;
  }
  return !tokens.failed();
}

bool compute_bytes(TokenStream& tokens, const Shape& shape, std::uint64_t& bytes) {
  bytes = shape.element_bytes;
  for (const std::uint64_t length : shape.lengths) {
    if (length != 0 && bytes > kMaxVariableBytes / length) return tokens.fail("a variable is too large");
    bytes *= length;
  }
  return true;
}

/// `.v4 .f32` and what else may be before a name.
class DeclarationParser {
 public:
  DeclarationParser(ModuleState& state, DeclaredVariable& declared)
      : tokens_(state.tokens), variable_(declared.variable), name_(declared.name) {}

  bool parse(bool is_parameter, Shape& shape) {
    while (tokens_.at(TokenKind::dotted)) {
      if (!parse_attribute(is_parameter)) return false;
    }
    if (!has_type_) return tokens_.fail_expected("a type");
    if (!tokens_.expect_word(name_, "a name") || !parse_dimensions(tokens_, shape)) return false;
    variable_.name = name_;
    shape.element_bytes = static_cast<std::uint64_t>(emulator::bytes(variable_.type));
    if (width_ > 1) shape.lengths.push_back(width_);
    const auto natural = static_cast<std::uint32_t>(shape.element_bytes * width_);
    // .align of a .ptr parameter applies to what it points to.
    variable_.alignment = variable_.pointer_alignment || alignment_ == 0 ? natural : alignment_;
    return compute_bytes(tokens_, shape, variable_.bytes);
  }

 private:
  bool parse_attribute(bool is_parameter) {
    const std::string_view word = tokens_.take().text;
    if (word == "align") return parse_alignment(tokens_, alignment_);
    if (word == "attribute") return skip_attribute(tokens_);
    if (word == "v2" || word == "v4" || word == "v8") {
      width_ = static_cast<std::uint32_t>(word[1] - '0');
      return true;
    }
    if (is_parameter && word == "ptr") return variable_.pointer_alignment = true;
    if (is_parameter && variable_.pointer_alignment && variable_space(word)) return true;
    const std::optional<Type> type = parse_type(word);
    if (!type || *type == Type::pred || bits(*type) < 8) {
      return tokens_.fail(fmt::format("{} is not a type of a variable", in_quotes(word)));
    }
    variable_.type = *type;
    return has_type_ = true;
  }

  TokenStream& tokens_;
  Variable& variable_;
  std::string_view& name_;
  std::uint32_t alignment_ = 0;
  std::uint32_t width_ = 1;
  bool has_type_ = false;
};

}  // namespace

std::optional<Space> variable_space(std::string_view directive) {
  const auto found = std::ranges::find(kVariableSpaces, directive, &NamedSpace::name);
  if (found == kVariableSpaces.end()) return std::nullopt;
  return found->space;
}

bool skip_attribute(TokenStream& tokens) {
  if (!tokens.expect('(')) return false;
  for (int depth = 1; depth > 0;) {
    if (tokens.at_end()) return tokens.fail_expected("')'");
    depth += tokens.at('(') ? 1 : 0;
    depth -= tokens.at(')') ? 1 : 0;
    tokens.take();
  }
  return !tokens.failed();
}

bool parse_parameter(ModuleState& state, DeclaredVariable& declared) {
  declared.variable.space = Space::param;
  Shape shape;
  if (!state.budgets.variables.spend(1)) return state.tokens.fail("too many variables");
  return DeclarationParser(state, declared).parse(true, shape);
}

bool parse_variable(ModuleState& state, Space space, DeclaredVariable& declared) {
  declared.variable.space = space;
  Shape shape;
  if (!state.budgets.variables.spend(1)) return state.tokens.fail("too many variables");
  if (!DeclarationParser(state, declared).parse(false, shape)) return false;
  return !state.tokens.accept('=') || parse_initializer(state, shape, declared.variable);
}

}  // namespace ak::emulator
