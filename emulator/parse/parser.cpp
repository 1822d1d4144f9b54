// SPDX-License-Identifier: Apache-2.0
#include "emulator/parse/parser.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "emulator/parse/parser_functions.h"
#include "emulator/parse/parser_module.h"
#include "emulator/parse/parser_variables.h"

namespace ak::emulator {
namespace {

class ModuleParser {
 public:
  ModuleParser(const TokenizedText& text, bool with_locations)
      : state_(text.tokens, with_locations), tokens_(state_.tokens) {}

  Result<Module> parse() {
    bool good = parse_header();
    while (good && !tokens_.at_end()) good = parse_item();
    if (good && resolve_aliases()) check_initializers();
    if (tokens_.input_error()) return *tokens_.input_error();
    check_files();
    return std::move(state_.module);
  }

 private:
  bool parse_header() {
    if (!tokens_.accept(TokenKind::dotted, "version")) return tokens_.fail_expected(".version");
    if (!tokens_.at(TokenKind::real)) return tokens_.fail_expected("a version");
    state_.module.version = tokens_.take().text;
    if (!tokens_.accept(TokenKind::dotted, "target")) return tokens_.fail_expected(".target");
    std::string_view target;
    if (!tokens_.expect_word(target, "a target")) return false;
    state_.module.target = target;
    while (tokens_.accept(',')) {  // debug and the texture modes change nothing here
      if (!tokens_.expect_word(target, "a target option")) return false;
    }
    if (!tokens_.accept(TokenKind::dotted, "address_size")) return tokens_.fail_expected(".address_size");
    std::uint64_t size = 0;
    if (!tokens_.expect_integer(size, 64, "the address size")) return false;
    return size == 64 || tokens_.fail("only addresses of 64 bits are supported");
  }

  bool parse_item() {
    if (tokens_.accept(';')) return true;
    if (!tokens_.at(TokenKind::dotted)) return tokens_.fail_expected("a directive");
    bool is_extern = false;
    while (tokens_.at(TokenKind::dotted, "extern") || tokens_.at(TokenKind::dotted, "visible") ||
           tokens_.at(TokenKind::dotted, "weak") || tokens_.at(TokenKind::dotted, "common")) {
      is_extern |= tokens_.take().text == "extern";
    }
    const Token& directive = tokens_.take();
    const std::string_view word = directive.text;
    if (directive.kind != TokenKind::dotted) return tokens_.fail("expected a directive", directive.line);
    if (word == "func" || word == "entry") return parse_function(state_, word == "entry");
    const std::optional<Space> space = variable_space(word);
    if (space) return parse_variable_declaration(*space, is_extern);
    if (word == "file") return parse_file();
    if (word == "section") return skip_section();
    if (word == "alias") return parse_alias();
    if (word == "pragma") return tokens_.take().kind == TokenKind::string && tokens_.expect(';');
    return tokens_.fail(fmt::format("{} is not a directive of a module", in_quotes(word)), directive.line);
  }

  bool parse_variable_declaration(Space space, bool is_extern) {
    DeclaredVariable declared;
    declared.variable.is_extern = is_extern;
    return parse_variable(state_, space, declared) && add_variable(std::move(declared)) &&
           tokens_.expect(';');
  }

  /// A definition replaces its declaration.
  bool add_variable(DeclaredVariable declared) {
    std::vector<Variable>& variables = state_.module.variables;
    const auto next = static_cast<Index>(variables.size());
    const auto [entry, added] = state_.names.try_emplace(declared.name, Global{false, next});
    if (added) {
      variables.push_back(std::move(declared.variable));
      return true;
    }
    const bool both = !entry->second.is_function &&
                      (declared.variable.is_extern || variables[entry->second.index].is_extern);
    if (!both) return tokens_.fail(fmt::format("{} is defined twice", in_quotes(declared.name)));
    if (!declared.variable.is_extern) variables[entry->second.index] = std::move(declared.variable);
    return true;
  }

  /// `.file 1 "path", time, size`: the last two are optional.
  bool parse_file() {
    std::uint64_t number = 0;
    if (!tokens_.expect_integer(number, kMaxFileNumber, "a file's number")) return false;
    if (!tokens_.at(TokenKind::string)) return tokens_.fail_expected("a file's name");
    std::vector<std::string>& files = state_.module.files;
    if (files.size() <= number) files.resize(number + 1);
    files[number] = tokens_.take().text;
    std::uint64_t ignored = 0;
    while (tokens_.accept(',')) {
      constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
      if (!tokens_.expect_integer(ignored, kAny, "a file's time or size")) return false;
    }
    return !tokens_.failed();
  }

  bool skip_section() {
    while (!tokens_.at('{')) {
      if (tokens_.at_end()) return tokens_.fail_expected("'{'");
      tokens_.take();
    }
    while (!tokens_.at('}')) {
      if (tokens_.at_end()) return tokens_.fail_expected("'}'");
      tokens_.take();
    }
    return tokens_.accept('}') && !tokens_.failed();
  }

  struct Alias {
    std::string_view name, target;
    int line;
  };

  bool parse_alias() {
    Alias alias{{}, {}, tokens_.peek().line};
    if (!tokens_.expect_word(alias.name, "a function") || !tokens_.expect(',')) return false;
    if (!tokens_.expect_word(alias.target, "a function") || !tokens_.expect(';')) return false;
    aliases_.push_back(alias);
    return true;
  }

  /// An alias is a copy under its own name: its code is the same, which is all that a call can notice.
  bool resolve_aliases() {
    for (const Alias& alias : aliases_) {
      const auto name = state_.names.find(alias.name);
      const auto target = state_.names.find(alias.target);
      if (name == state_.names.end() || target == state_.names.end() || !name->second.is_function ||
          !target->second.is_function) {
        return tokens_.fail("an alias of an undeclared name", alias.line);
      }
      const Function& original = state_.module.functions[target->second.index];
      if (!state_.budgets.instructions.spend(original.instructions.size()) ||
          !state_.budgets.registers.spend(original.registers.size())) {
        return tokens_.fail("the module has too many instructions", alias.line);
      }
      Function copy = original;
      copy.name = alias.name;
      state_.module.functions[name->second.index] = std::move(copy);
    }
    return true;
  }

  bool check_initializers() {
    for (const SymbolUse& use : state_.initializer_symbols) {
      if (state_.names.contains(use.name)) continue;
      return tokens_.fail(fmt::format("undeclared name {}", in_quotes(use.name)), use.line);
    }
    return true;
  }

  /// `.file` follows the code that refers to it.
  void check_files() {
    for (SourceLocation& location : state_.module.locations) {
      if (location.file >= state_.module.files.size()) location.file = kNone;
    }
  }

  ModuleState state_;
  TokenStream& tokens_;
  std::vector<Alias> aliases_;
};

Result<Module> parse_any(const TokenizedText& text, bool with_locations) {
  if (text.text.size() > kMaxTextBytes)
    return InputError{fmt::format("the PTX is larger than {} MiB", kMaxTextBytes >> 20), 0};
  return ModuleParser(text, with_locations).parse();
}

}  // namespace

Result<Module> parse(std::string_view text) { return parse_any(TokenizedText(text), true); }

Result<Module> parse_code(const TokenizedText& text) { return parse_any(text, false); }

}  // namespace ak::emulator
