// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "emulator/parse/parser_body.h"

namespace ak::emulator {
namespace {

using Extents = std::array<std::uint32_t, 3>;

/// Directives of a function that say how to compile it, or what nothing here depends on.
constexpr std::array<std::string_view, 6> kIgnoredWithNumber = {
    "minnctapersm", "maxnctapersm", "maxnreg", "maxclusterrank", "abi_preserve", "abi_preserve_control"};
constexpr std::array<std::string_view, 3> kIgnoredAlone = {"noreturn", "explicitcluster",
                                                           "blocksareclusters"};

class FunctionParser {
 public:
  FunctionParser(ModuleState& state, bool is_entry) : state_(state), tokens_(state.tokens) {
    function_.words = state_.words.words();
    function_.entry = is_entry;
  }

  bool parse() {
    if (!state_.budgets.functions.spend(1)) return tokens_.fail("the module has too many functions");
    if (!function_.entry && tokens_.accept('(') && !parse_parameters(function_.returns)) return false;
    const int line = tokens_.peek().line;
    if (!tokens_.expect_word(name_, "a function's name")) return false;
    function_.name = name_;
    if (tokens_.accept('(') && !parse_parameters(function_.parameters)) return false;
    while (tokens_.at(TokenKind::dotted)) {
      if (!parse_directive()) return false;
    }
    function_.is_extern = tokens_.at(';');
    Index index = 0;
    if (!reserve(line, index)) return false;
    if (tokens_.accept(';')) return store_declaration(index);
    if (!tokens_.expect('{') || !body_.parse()) return false;
    state_.module.functions[index] = std::move(function_);
    return true;
  }

 private:
  bool parse_parameters(std::vector<Variable>& parameters) {
    if (tokens_.accept(')')) return true;
    do {
      DeclaredVariable declared;
      if (tokens_.accept(TokenKind::dotted, "reg")) {
        if (!parse_register(declared.variable)) return false;
      } else if (!tokens_.accept(TokenKind::dotted, "param")) {
        return tokens_.fail_expected("a parameter");
      } else if (!parse_parameter(state_, declared) || !body_.declare_parameter(declared)) {
        return false;
      }
      parameters.push_back(std::move(declared.variable));
    } while (tokens_.accept(','));
    return tokens_.expect(')');
  }

  bool parse_register(Variable& variable) {
    if (!state_.budgets.variables.spend(1)) return tokens_.fail("too many variables");
    if (!body_.parse_registers(false)) return false;
    if (function_.registers.empty()) return tokens_.fail("a parameter is an empty range of registers");
    const Register& added = function_.registers.back();
    variable.name = added.name();
    variable.space = Space::reg;
    variable.type = added.type;
    variable.bytes = static_cast<std::uint64_t>(bytes(added.type));
    variable.alignment = static_cast<std::uint32_t>(variable.bytes);
    return true;
  }

  bool parse_directive() {
    const std::string_view word = tokens_.take().text;
    if (word == "maxntid") return parse_extents(function_.maximum_threads);
    if (word == "reqntid") return parse_extents(function_.required_threads);
    if (word == "reqnctapercluster") return parse_extents(function_.required_cluster);
    if (word == "attribute") return skip_attribute(tokens_);
    if (word == "pragma") return tokens_.take().kind == TokenKind::string && tokens_.expect(';');
    if (std::ranges::find(kIgnoredAlone, word) != kIgnoredAlone.end()) return true;
    std::uint64_t ignored = 0;
    if (std::ranges::find(kIgnoredWithNumber, word) != kIgnoredWithNumber.end()) {
      return tokens_.expect_integer(ignored, std::numeric_limits<std::uint32_t>::max(), "a number");
    }
    return tokens_.fail(fmt::format("{} is not a directive of a function", in_quotes(word)));
  }

  /// One to three numbers; those not given are 1.
  bool parse_extents(Extents& extents) {
    extents = {1, 1, 1};
    for (std::uint32_t& extent : extents) {
      std::uint64_t value = 0;
      if (!tokens_.expect_integer(value, std::numeric_limits<std::int32_t>::max(), "a number")) return false;
      extent = static_cast<std::uint32_t>(value);
      if (!tokens_.accept(',')) return true;
    }
    return tokens_.fail("more than three dimensions");
  }

  /// The function's place in the module, so that its own body may name it.
  bool reserve(int line, Index& index) {
    std::vector<Function>& functions = state_.module.functions;
    const auto next = static_cast<Index>(functions.size());
    const auto [entry, added] = state_.names.try_emplace(name_, Global{true, next});
    index = entry->second.index;
    if (added) {
      Function& declaration = functions.emplace_back();
      declaration.name = name_;
      declaration.is_extern = true;
      return true;
    }
    const bool defined_twice =
        !entry->second.is_function || (!function_.is_extern && !functions[index].is_extern);
    return !defined_twice || tokens_.fail(fmt::format("{} is defined twice", in_quotes(name_)), line);
  }

  bool store_declaration(Index index) {
    Function& known = state_.module.functions[index];
    if (known.is_extern) known = std::move(function_);
    return !tokens_.failed();
  }

  ModuleState& state_;
  TokenStream& tokens_;
  Function function_;
  std::string_view name_;
  BodyParser body_{state_, function_};
};

}  // namespace

bool parse_function(ModuleState& state, bool is_entry) { return FunctionParser(state, is_entry).parse(); }

}  // namespace ak::emulator
