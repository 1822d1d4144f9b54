// SPDX-License-Identifier: Apache-2.0
#include "runtime/precision/float_parts.h"

#include <algorithm>
#include <bit>

namespace ak::runtime {
namespace {

// Registers hold few parts; what a loop shifts on and on would else add parts without end (chosen).
constexpr std::size_t kMaxParts = 16;
// Left by a mask that is not known: any bits, the lowest not among them.
constexpr std::uint64_t kUnknownBits = ~std::uint64_t{0xFFFF};

/// `mask`, a mask of register bits, as a mask of the part's float.
std::uint64_t of_float(std::uint64_t mask, int at) {
  if (at <= -64 || at >= 64) return 0;
  return at >= 0 ? mask >> at : mask << -at;
}

/// Whether a mask takes or leaves words of 32 bits.
bool splits_no_word(std::uint64_t mask) {
  const auto whole = [](std::uint64_t word) { return word == 0 || word == 0xFFFF'FFFFu; };
  return whole(mask & 0xFFFF'FFFFu) && whole(mask >> 32);
}

void keep_only(FloatPart& part, std::uint64_t bits, int line) {
  const std::uint64_t before = part.kept & mantissa_of(part.wide);
  part.kept &= bits;
  if (part.line == 0 && (part.kept & mantissa_of(part.wide)) != before) part.line = line;
}

bool holds_value(const FloatPart& part) {
  const bool is_float = part.kind == PartKind::exact || part.kind == PartKind::half;
  return (is_float ? part.kept & mantissa_of(part.wide) : part.kept) != 0;
}

void add_part(std::vector<FloatPart>& parts, const FloatPart& part) {
  if (parts.size() >= kMaxParts || std::ranges::find(parts, part) != parts.end()) return;
  parts.push_back(part);
}

/// What one operand of a bitwise function has to do with its result.
struct Influence {
  std::uint64_t bits = 0;       ///< of the result that may depend on the operand
  bool masked_unknown = false;  ///< by another operand, whose number the launch or memory gives
};

/// Values that a bit of a word may have: bit 0 of the answer for 0, bit 1 for 1.
unsigned possible(const Word& word, int bit) {
  if (!word.is_constant()) return 3;
  return (word.constant >> bit & 1u) != 0 ? 2 : 1;
}

bool depends(std::uint8_t table, const std::array<unsigned, 3>& allowed, std::size_t which) {
  for (unsigned row = 0; row < 8; ++row) {
    const std::array<unsigned, 3> values{row >> 2 & 1u, row >> 1 & 1u, row & 1u};
    if (values[which] != 0) continue;
    bool may_be = true;
    for (std::size_t i = 0; i < 3; ++i) may_be &= i == which || (allowed[i] >> values[i] & 1u) != 0;
    if (!may_be) continue;
    const unsigned other = row | 4u >> which;
    if ((table >> row & 1u) != (table >> other & 1u)) return true;
  }
  return false;
}

/// Whether one value of `other` makes the result zero whatever `which` is, and the other lets `which` through.
bool is_masked_by(std::uint8_t table, std::size_t which, std::size_t other) {
  const std::size_t third = 3 - which - other;
  for (unsigned row = 0; row < 8; ++row) {
    const std::array<unsigned, 3> values{row >> 2 & 1u, row >> 1 & 1u, row & 1u};
    if (values[which] != 0) continue;
    const auto result = [&](unsigned of_which, unsigned of_other) {
      std::array<unsigned, 3> bits{};
      bits[which] = of_which;
      bits[other] = of_other;
      bits[third] = values[third];
      return (table >> (bits[0] << 2 | bits[1] << 1 | bits[2]) & 1u) != 0;
    };
    const unsigned zero = values[other];
    if (!result(0, zero) && !result(1, zero) && result(0, 1 - zero) != result(1, 1 - zero)) return true;
  }
  return false;
}

Influence influence(std::uint8_t table, const std::array<Word, 3>& words, std::size_t which, int width) {
  Influence found;
  std::array<std::optional<bool>, 64> known;  // bits differ only in what constants have there
  for (int bit = 0; bit < width; ++bit) {
    const std::array<unsigned, 3> allowed{possible(words[0], bit), possible(words[1], bit),
                                          possible(words[2], bit)};
    std::optional<bool>& dependent = known[allowed[0] | allowed[1] << 2 | allowed[2] << 4];
    if (!dependent) dependent = depends(table, allowed, which);
    if (*dependent) found.bits |= std::uint64_t{1} << bit;
  }
  for (std::size_t other = 0; other < 3; ++other) {
    const Word& mask = words[other];
    const bool given = mask.known == Known::launch || (mask.known == Known::varies && !mask.parts.empty());
    found.masked_unknown |= other != which && given && is_masked_by(table, which, other);
  }
  return found;
}

std::uint64_t evaluate(std::uint8_t table, const std::array<Word, 3>& words) {
  std::uint64_t result = 0;
  for (unsigned row = 0; row < 8; ++row) {
    if ((table >> row & 1u) == 0) continue;
    const std::uint64_t a = (row & 4u) != 0 ? words[0].constant : ~words[0].constant;
    const std::uint64_t b = (row & 2u) != 0 ? words[1].constant : ~words[1].constant;
    const std::uint64_t c = (row & 1u) != 0 ? words[2].constant : ~words[2].constant;
    result |= a & b & c;
  }
  return result;
}

}  // namespace

std::uint64_t low_bits(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << std::max(0, count)) - 1;
}

std::uint64_t sign_extended(std::uint64_t number, int width) {
  const int above = 64 - std::clamp(width, 1, 64);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(number << above) >> above);
}

std::uint64_t mantissa_of(bool wide) { return low_bits(wide ? 52 : 23); }

int mantissa_bits(const FloatPart& part) {
  const std::uint64_t kept = part.kept & mantissa_of(part.wide);
  const int all = part.wide ? 52 : 23;
  return kept == 0 ? 0 : all - std::countr_zero(kept);
}

bool join(Word& into, const Word& from) {
  if (from.known == Known::unset) return false;
  const Known known = into.known;
  const std::uint64_t constant = into.constant;
  const std::size_t parts = into.parts.size();
  if (into.known == Known::unset) {
    into.known = from.known;
    into.constant = from.constant;
  } else if (into.known != from.known || into.constant != from.constant) {
    const auto zero_or_ones = [](const Word& word) {
      return word.known == Known::selector || (word.is_constant() && (word.constant + 1) <= 1);
    };
    const auto chosen = [](const Word& word) { return word.known == Known::launch || word.is_constant(); };
    into.known = zero_or_ones(into) && zero_or_ones(from) ? Known::selector
                 : chosen(into) && chosen(from)           ? Known::launch
                                                          : Known::varies;
    into.constant = 0;
  }
  for (const FloatPart& part : from.parts) add_part(into.parts, part);
  return into.known != known || into.constant != constant || into.parts.size() != parts;
}

std::vector<FloatPart> combine(std::vector<FloatPart> a, const std::vector<FloatPart>& b) {
  for (const FloatPart& part : b) {
    const auto same = std::ranges::find_if(a, [&](const FloatPart& each) { return each.same_place(part); });
    if (same == a.end()) {
      add_part(a, part);
      continue;
    }
    same->kept |= part.kept;
    if ((same->kept & mantissa_of(same->wide)) == mantissa_of(same->wide)) same->line = 0;
  }
  return a;
}

std::vector<FloatPart> masked(std::vector<FloatPart> parts, std::uint64_t mask, int line) {
  const bool whole_words = splits_no_word(mask);
  for (FloatPart& part : parts) {
    keep_only(part, of_float(mask, part.at), line);
    part.packed &= whole_words;
  }
  std::erase_if(parts, [](const FloatPart& part) { return !holds_value(part); });
  return parts;
}

std::vector<FloatPart> moved(std::vector<FloatPart> parts, int by, int width, int line) {
  for (FloatPart& part : parts) {
    part.at += by;
    part.packed &= by % 32 == 0;
  }
  return masked(std::move(parts), low_bits(width), line);
}

std::vector<FloatPart> reduced(std::vector<FloatPart> a, const std::vector<FloatPart>& b, int line) {
  std::vector<FloatPart> rest;
  for (const FloatPart& part : b) {
    const auto same = std::ranges::find_if(a, [&](const FloatPart& each) {
      return each.same_place(part) && (each.kept & part.kept) == part.kept;
    });
    if (same == a.end())
      rest.push_back(part);
    else
      keep_only(*same, ~part.kept, line);
  }
  std::erase_if(a, [](const FloatPart& part) { return !holds_value(part); });
  return combine(std::move(a), rest);
}

std::vector<FloatPart> masked_by_unknown(std::vector<FloatPart> parts, int line) {
  for (FloatPart& part : parts) {
    if (part.kind == PartKind::exact) keep_only(part, kUnknownBits, line);
  }
  return parts;
}

Word bitwise(std::uint8_t table, const std::array<Word, 3>& words, int width, int line) {
  Word result = Word::unknown();
  bool constant = true, selector = true;
  for (std::size_t i = 0; i < 3; ++i) {
    if (words[i].known == Known::unset) return {};
    const Influence has = influence(table, words, i, width);
    if (has.bits == 0) continue;
    constant &= words[i].is_constant();
    selector &= words[i].known == Known::selector;
    if (words[i].parts.empty()) continue;
    std::vector<FloatPart> parts = words[i].parts;
    if (has.bits != low_bits(width)) parts = masked(std::move(parts), has.bits, line);
    if (has.masked_unknown) parts = masked_by_unknown(std::move(parts), line);
    result.parts = combine(std::move(result.parts), parts);
  }
  if (constant) return Word::number(evaluate(table, words) & low_bits(width));
  if (selector) result.known = Known::selector;
  return result;
}

Word permuted(const Word& a, const Word& b, std::uint32_t selector, int line) {
  Word result = Word::unknown();
  for (int byte = 0; byte < 4; ++byte) {
    const std::uint32_t choice = selector >> (4 * byte) & 0xFu;
    if ((choice & 8u) != 0) continue;  // copies of a sign
    const Word& from = (choice & 4u) != 0 ? b : a;
    const int source = static_cast<int>(choice & 3u);
    std::vector<FloatPart> one = masked(from.parts, std::uint64_t{0xFF} << (8 * source), line);
    for (FloatPart& part : one) part.at += 8 * (byte - source);
    result.parts = combine(std::move(result.parts), one);
  }
  return result;
}

}  // namespace ak::runtime
