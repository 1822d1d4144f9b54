// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/line_patterns.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "core/text/characters.h"

namespace ak::codegen {
namespace {

constexpr std::string_view kBlanks = " \t";

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_among(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// A word or a sign of a line.
std::vector<std::string_view> tokens_of(std::string_view line) {
  std::vector<std::string_view> tokens;
  for (std::size_t at = line.find_first_not_of(kBlanks); at < line.size();
       at = line.find_first_not_of(kBlanks, at)) {
    std::size_t end = at + 1;
    if (is_word(line[at]))
      while (end < line.size() && is_word(line[end])) ++end;
    tokens.push_back(line.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::string_view token(const std::vector<std::string_view>& tokens, std::size_t at) {
  return at < tokens.size() ? tokens[at] : std::string_view();
}

bool is_number(std::string_view word) { return !word.empty() && std::ranges::all_of(word, is_digit); }
bool is_name(std::string_view word) { return is_identifier(word); }

/// kStages as tunables are spelled.
std::string spelled(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool upper = name[i] >= 'A' && name[i] <= 'Z', lower = name[i] >= 'a' && name[i] <= 'z';
    if (i > 0 && upper && name[i - 1] >= 'a' && name[i - 1] <= 'z') result += '_';
    result += lower ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
  }
  return result;
}

bool is_vector_type(std::string_view word) {
  constexpr std::array<std::string_view, 3> kPairs{"__half2", "__nv_bfloat162", "half2"};
  constexpr std::array<std::string_view, 12> kElements{"char",     "uchar",     "short", "ushort",
                                                       "int",      "uint",      "long",  "ulong",
                                                       "longlong", "ulonglong", "float", "double"};
  if (is_among(word, kPairs)) return true;
  return !word.empty() && (word.back() == '2' || word.back() == '4') &&
         is_among(word.substr(0, word.size() - 1), kElements);
}

bool names_buffers(std::string_view word) {
  const std::string name = spelled(word);
  constexpr std::array<std::string_view, 5> kNames{"STAGE", "BUFFER", "DEPTH", "SLOTS", "RING"};
  return std::ranges::any_of(kNames, [&](std::string_view part) { return has_part(name, part); });
}

bool names_pitch(std::string_view word) {
  const std::string name = spelled(word);
  return has_part(name, "PITCH") || has_part(name, "PADDED");
}

bool adds_number(const std::vector<std::string_view>& tokens, std::size_t from) {
  for (std::size_t i = from; i + 1 < tokens.size() && tokens[i] != ","; ++i)
    if (tokens[i] == "+" && is_number(tokens[i + 1])) return true;
  return false;
}

/// "[SIDE + 1]"
bool has_longer_lines(const std::vector<std::string_view>& tokens) {
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i)
    if (tokens[i] == "+" && is_number(tokens[i + 1]) && tokens[i + 2] == "]") return true;
  return false;
}

/// A type that register arrays have: a built-in one, or an alias or pack of one.
bool is_number_type(std::string_view word) {
  constexpr std::array<std::string_view, 10> kTypes{"float",    "double", "int", "half", "__half",
                                                    "unsigned", "u32",    "u64", "Pack", "uint32_t"};
  return is_among(word, kTypes) || is_vector_type(word) || word.ends_with("_t");
}

}  // namespace

std::vector<std::pair<std::string, std::int64_t>> constants_of(std::string_view line) {
  const std::vector<std::string_view> tokens = tokens_of(line);
  std::vector<std::pair<std::string, std::int64_t>> constants;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (is_name(name) && is_number(value) && value.size() < 18)
      constants.emplace_back(spelled(name), std::strtoll(std::string(value).c_str(), nullptr, 10));
  };
  if (token(tokens, 0) == "#" && token(tokens, 1) == "define" && tokens.size() == 4)
    add(tokens[2], tokens[3]);
  if (std::ranges::find(tokens, "constexpr") == tokens.end()) return constants;
  for (std::size_t i = 1; i + 2 < tokens.size(); ++i)
    if (tokens[i] == "=" && (tokens[i + 2] == "," || tokens[i + 2] == ";")) add(tokens[i - 1], tokens[i + 1]);
  return constants;
}

bool points_to_vectors(std::string_view line) {
  if (has_part(line, ".global") && (has_part(line, ".v2.") || has_part(line, ".v4."))) return true;
  const std::vector<std::string_view> tokens = tokens_of(line);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
    if (is_vector_type(tokens[i]) && tokens[i + 1] == "*") return true;
  return false;
}

bool computes_with_pairs(std::string_view line) {
  const bool pairs = has_part(line, ".f16x2") || has_part(line, ".bf16x2") || has_part(line, ".f32x2");
  return pairs && !has_part(line, "cvt.") && !has_part(line, "mov.");
}

bool takes_buffers_in_turn(std::string_view line) {
  const std::vector<std::string_view> tokens = tokens_of(line);
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const std::string_view next = tokens[i + 1], after = tokens[i + 2], end = token(tokens, i + 3);
    if (tokens[i] == "^" && next == "=" && after == "1" && end == ";") return true;
    if (tokens[i] == "=" && next == "1" && after == "-" && is_name(end) && token(tokens, i + 4) == ";")
      return true;
    if (tokens[i] == "%" && names_buffers(next)) return true;
  }
  return false;
}

bool spreads_over_banks(std::string_view line) {
  const std::vector<std::string_view> tokens = tokens_of(line);
  if (has_part(line, "__shared__") && has_longer_lines(tokens)) return true;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    // PITCH = WIDTH + 8
    if (names_pitch(tokens[i]) && tokens[i + 1] == "=" && adds_number(tokens, i + 2)) return true;
    // place ^ (line & 7), place ^ line >> 1, place ^ line % 8
    if (tokens[i] != "^" || i == 0 || !(is_word(tokens[i - 1].back()) || tokens[i - 1] == ")")) continue;
    const std::size_t of = tokens[i + 1] == "(" ? i + 2 : i + 1;
    const std::string_view sign = token(tokens, of + 1);
    if (is_name(tokens[of]) && (sign == ">" || sign == "&" || sign == "%" || sign == "/")) return true;
  }
  return false;
}

bool keeps_numbers_in_registers(std::string_view line) {
  if (line.empty() || !has_part(kBlanks, line.substr(0, 1)) || has_part(line, "__shared__") ||
      has_part(line, "static"))
    return false;
  const std::vector<std::string_view> tokens = tokens_of(line);
  if (token(tokens, 0) == "extern" || !is_number_type(token(tokens, 0))) return false;
  // "float sums[4][4] = {};", "Pack<WIDTH> packs[ITEMS];"
  for (std::size_t i = 1; i + 2 < tokens.size(); ++i) {
    if (tokens[i] == "(" || tokens[i] == "=" || tokens[i] == "*") return false;
    if (is_name(tokens[i]) && tokens[i + 1] == "[") return tokens[i + 2] != "1";
  }
  return false;
}

bool unrolls(std::string_view line) {
  const std::vector<std::string_view> tokens = tokens_of(line);
  return token(tokens, 0) == "#" && token(tokens, 1) == "pragma" && token(tokens, 2) == "unroll" &&
         token(tokens, 3) != "1";
}

}  // namespace ak::codegen
