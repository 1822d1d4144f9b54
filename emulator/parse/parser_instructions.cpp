// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "emulator/parse/parser_body.h"

namespace ak::emulator {
namespace {

constexpr std::size_t kMaxModifiers = 32;  // tcgen05.mma, the longest, has about a dozen

/// `.L__BB0_1`: the compiler's own label, not a modifier (none begins with an L and an underscore).
bool is_label(std::string_view dotted) { return dotted.starts_with("L_"); }

}  // namespace

std::string_view WordKeeper::keep(std::string_view word) {
  const auto known = kept_.find(word);
  if (known != kept_.end()) return known->second;
  const std::string_view kept = words_->texts.emplace_back(word);
  return kept_.emplace(kept, kept).first->second;
}

WordKeeper::Spelling WordKeeper::keep(std::string_view text, std::string_view opcode,
                                      std::span<const std::string_view> modifiers) {
  const auto [entry, added] = spellings_.try_emplace(text);
  if (added) {
    std::vector<std::string_view> list;
    for (const std::string_view modifier : modifiers) list.push_back(keep(modifier));
    entry->second = {keep(opcode), keep(std::move(list))};
  }
  return entry->second;
}

std::span<const std::string_view> WordKeeper::keep(std::vector<std::string_view> list) {
  return words_->lists.emplace_back(std::move(list));
}

bool BodyParser::parse_instruction() {
  if (!state_.budgets.instructions.spend(1)) return tokens_.fail("the module has too many instructions");
  Instruction& instruction = function_.instructions.emplace_back();
  instruction.ptx_line = tokens_.peek().line;
  instruction.location = location_;
  has_unresolved_ = false;
  std::string_view opcode;
  if (!parse_guard(instruction) || !tokens_.expect_word(opcode, "an instruction")) return false;
  if (!parse_opcode(opcode, instruction) || !parse_operands(instruction)) return false;
  if (has_unresolved_) {
    unresolved_.push_back({static_cast<Index>(function_.instructions.size() - 1), scopes_.current()});
  }
  return true;
}

bool BodyParser::parse_guard(Instruction& instruction) {
  if (!tokens_.accept('@')) return true;
  const bool negated = tokens_.accept('!');
  Operand& guard = instruction.guard.emplace();
  if (!parse_name(guard, false)) return false;
  if (guard.kind != OperandKind::reg || function_.registers[guard.index].type != Type::pred) {
    return tokens_.fail("a guard is not a predicate register", instruction.ptx_line);
  }
  guard.negated = negated;
  return true;
}

bool BodyParser::parse_opcode(std::string_view opcode, Instruction& instruction) {
  if (opcode.starts_with('%')) return tokens_.fail(fmt::format("{} is no instruction", in_quotes(opcode)));
  std::array<std::string_view, kMaxModifiers> modifiers;
  std::size_t count = 0;
  while (tokens_.at(TokenKind::dotted) && !(is_label(tokens_.peek().text) && !tokens_.peek().glued)) {
    if (count == kMaxModifiers) return tokens_.fail("an instruction has too many modifiers");
    modifiers[count++] = tokens_.take().text;
  }
  if (!state_.budgets.pieces.spend(count)) return tokens_.fail("the module is too large");
  const std::string_view last = count == 0 ? opcode : modifiers[count - 1];
  const auto spelling = state_.words.keep({opcode.data(), last.data() + last.size()}, opcode,
                                          std::span(modifiers).first(count));
  instruction.opcode = spelling.opcode;
  instruction.modifiers = spelling.modifiers;
  return true;
}

bool BodyParser::parse_operands(Instruction& instruction) {
  if (tokens_.accept(';')) return true;
  constexpr std::size_t kUsual = 4;  // most have two to four
  instruction.operands.reserve(kUsual);
  do {
    if (!parse_operand(instruction, instruction.operands.emplace_back(), 0)) return false;
  } while (tokens_.accept(','));
  return tokens_.expect(';');
}

}  // namespace ak::emulator
