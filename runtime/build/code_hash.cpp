// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/code_hash.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/text/hash.h"
#include "emulator/parse/lexer.h"

namespace ak::runtime {
namespace {

template <class T>
std::optional<T> read_at(std::string_view image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::string_view name_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

/// Line tables, and the tables whose contents move with them.
bool tells_of_source(std::string_view section) {
  return section.find("debug") != section.npos || section == ".strtab" || section == ".shstrtab" ||
         section == ".symtab" || section == ".note.nv.tkinfo";
}

/// Names and contents of the sections that matter; nothing when this is not an ELF file as it should be.
std::optional<std::string> code_of_elf(std::string_view image) {
  if (!image.starts_with(ELFMAG)) return std::nullopt;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  const auto section_at = [&](std::uint64_t i) {
    return read_at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto contents_of = [&](const Elf64_Shdr& section) -> std::string_view {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > image.size()) return {};
    return image.substr(section.sh_offset, section.sh_size);
  };
  const auto names = section_at(header->e_shstrndx);
  if (!names) return std::nullopt;
  std::string code;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = section_at(i);
    if (!section) return std::nullopt;
    const std::string_view name = name_at(contents_of(*names), section->sh_name);
    if (tells_of_source(name)) continue;
    code.append(name).append(1, '\0').append(std::to_string(section->sh_size)).append(contents_of(*section));
  }
  return code;
}

using emulator::Token;
using emulator::TokenKind;

/// What a hash needs of a token: programs have tens of thousands, and they are gone through several times.
struct Piece {
  explicit Piece(const Token& token)
      : text(token.text),
        kind(token.kind),
        glued(token.glued),
        mark(kind == TokenKind::punctuation && text.size() == 1 ? text.front() : '\0') {}

  std::string_view text;
  TokenKind kind;
  bool glued;
  char mark;  ///< of punctuation of one character
};

/// Tokens of PTX that make up its program: without source locations and debug sections. Where those end is read from
/// their grammar, not from lines, so that nothing hides behind them.
class ProgramTokens {
 public:
  /// @param tokens the last one is `end` or `bad`
  explicit ProgramTokens(std::span<const Token> tokens) : next_(tokens.data()) {}

  /// `end` when the text is over, `bad` for what is not PTX.
  const Token& next() {
    for (;;) {
      const Token& token = take();
      if (token.kind == TokenKind::location) continue;
      if (token.kind != TokenKind::dotted) return token;
      if (token.text == "file") {
        skip_file();
      } else if (token.text == "section") {
        skip_section();
      } else {
        return token;
      }
    }
  }

 private:
  [[nodiscard]] bool is_over() const {
    return next_->kind == TokenKind::end || next_->kind == TokenKind::bad;
  }
  const Token& take() { return is_over() ? *next_ : *next_++; }
  bool accept(TokenKind kind, std::string_view text = {}) {
    if (next_->kind != kind || (!text.empty() && next_->text != text)) return false;
    take();
    return true;
  }
  /// `.file 1 "k.cu", 1700000000, 345`
  void skip_file() {
    accept(TokenKind::integer);
    accept(TokenKind::string);
    while (accept(TokenKind::punctuation, ",")) accept(TokenKind::integer);
  }
  /// `.section .debug_str { ... }`
  void skip_section() {
    accept(TokenKind::dotted);
    if (!accept(TokenKind::punctuation, "{")) return;
    for (int depth = 1; depth > 0 && !is_over();) {  // next() says where it is over
      const char mark = Piece(take()).mark;
      depth += mark == '{' ? 1 : 0;
      depth -= mark == '}' ? 1 : 0;
    }
  }

  const Token* next_;
};

/// The name of the variable in global memory that the statement declares; empty for any other statement.
std::string_view global_variable(std::span<const Piece> statement) {
  if (statement.front().kind != TokenKind::dotted || statement.back().mark != ';') return {};
  bool global = false;
  std::string_view name;
  for (const Piece& token : statement) {
    if (token.mark == ',') return {};  // several in one statement
    if (token.mark == '=' || token.mark == ';' || token.mark == '[') break;
    global = global || (token.kind == TokenKind::dotted && token.text == "global");
    if (token.kind == TokenKind::word) name = token.text;
  }
  return global ? name : std::string_view();
}

bool is_header(const Piece& token) {
  return token.kind == TokenKind::dotted &&
         (token.text == "version" || token.text == "target" || token.text == "address_size");
}

/// Where the statement that begins at `first` ends. The braces of an initializer belong to its declaration; others
/// end a statement: bodies of functions, and what remains of vector operands declares nothing.
std::size_t end_of_statement(std::span<const Piece> tokens, std::size_t first) {
  // `.version 9.0`, `.target sm_90a` and `.address_size 64` end where the next directive begins.
  if (is_header(tokens[first])) {
    std::size_t end = first + 1;
    while (end < tokens.size() && tokens[end].kind != TokenKind::dotted) ++end;
    return end;
  }
  bool initializer = false;
  for (std::size_t i = first; i < tokens.size(); ++i) {
    const char mark = tokens[i].mark;
    initializer = initializer || mark == '=';
    if (mark == ';' || (!initializer && (mark == '{' || mark == '}'))) return i + 1;
  }
  return tokens.size();
}

/// Of a token's text with a blank, a dot or quotes, and the end of its statement.
constexpr std::size_t kMostAround = 4;

char* write(char* to, const Piece& token) {
  if (!token.glued) *to++ = ' ';
  if (token.kind == TokenKind::dotted) *to++ = '.';
  const bool quoted = token.kind == TokenKind::string;
  if (quoted) *to++ = '"';
  to = std::copy_n(token.text.data(), token.text.size(), to);
  if (quoted) *to++ = '"';
  return to;
}

/// How often each variable's name is in the program: of some, among the names of all registers and labels.
class Uses {
 public:
  void add_variable(std::string_view name) {
    counts_[name] = 0;
    first_letters_[static_cast<unsigned char>(name.front())] = true;
  }
  void count(std::span<const Piece> tokens) {
    if (counts_.empty()) return;
    for (const Piece& token : tokens) {
      if (token.kind != TokenKind::word || !first_letters_[static_cast<unsigned char>(token.text.front())])
        continue;
      if (const auto found = counts_.find(token.text); found != counts_.end()) ++found->second;
    }
  }
  [[nodiscard]] int of(std::string_view name) const { return counts_.at(name); }

 private:
  std::unordered_map<std::string_view, int> counts_;
  std::array<bool, 256> first_letters_{};
};

struct Statement {
  std::span<const Piece> tokens;
  std::string_view variable;  ///< that it declares in global memory
};

std::vector<Statement> statements_of(std::span<const Piece> tokens) {
  std::vector<Statement> statements;
  for (std::size_t first = 0, end = 0; first < tokens.size(); first = end) {
    end = end_of_statement(tokens, first);
    const auto statement = tokens.subspan(first, end - first);
    statements.push_back({statement, global_variable(statement)});
  }
  return statements;
}

/// Constants of the source, tunables among them, become variables even where nothing reads them.
std::string without_unused_variables(std::span<const Piece> tokens) {
  const std::vector<Statement> statements = statements_of(tokens);
  Uses uses;
  for (const Statement& statement : statements)
    if (!statement.variable.empty()) uses.add_variable(statement.variable);
  uses.count(tokens);
  std::size_t most = 0;
  for (const Piece& token : tokens) most += token.text.size() + kMostAround;
  std::string code(most, '\0');
  char* end = code.data();
  for (const auto& [words, variable] : statements) {
    if (!variable.empty() && uses.of(variable) == 1) continue;
    for (const Piece& token : words) end = write(end, token);
    *end++ = '\n';
  }
  code.resize(static_cast<std::size_t>(end - code.data()));
  return code;
}

/// The program that PTX says, however it is laid out; nothing for text that is not PTX.
std::optional<std::string> code_of_ptx(const emulator::TokenizedText& ptx) {
  if (ptx.text.find(".version") == ptx.text.npos || ptx.text.find(".target") == ptx.text.npos)
    return std::nullopt;
  ProgramTokens source(ptx.tokens);
  std::vector<Piece> tokens;
  tokens.reserve(ptx.tokens.size());
  for (const Token* token = &source.next(); token->kind != TokenKind::end; token = &source.next()) {
    if (token->kind == TokenKind::bad) return std::nullopt;
    tokens.emplace_back(*token);
  }
  return without_unused_variables(tokens);
}

}  // namespace

std::string code_hash(std::string_view image) {
  const auto code = code_of_elf(image);
  return code ? sha256_hex(*code) : code_hash(emulator::TokenizedText(image));
}

std::string code_hash(const emulator::TokenizedText& ptx) {
  const auto code = code_of_ptx(ptx);
  return sha256_hex(code ? *code : ptx.text);
}

}  // namespace ak::runtime
