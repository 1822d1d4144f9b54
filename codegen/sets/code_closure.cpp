// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/code_closure.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

/// A declaration outside of functions, or a line of the preprocessor.
struct Chunk {
  std::string_view text;
  std::set<std::string, std::less<>> declares, mentions;
  bool always = false;  ///< a condition of the preprocessor
};

constexpr std::array<std::string_view, 5> kTypeWords{"struct", "class", "union", "enum", "using"};
// In front of a bracket in a declaration, and no name of it.
constexpr std::array<std::string_view, 6> kNoNames{"template", "__launch_bounds__", "__align__",
                                                   "alignas",  "requires",          "decltype"};
// Lines of the preprocessor that say nothing of what is compiled around them. A pragma within a body is part of that.
constexpr std::array<std::string_view, 3> kNoConditions{"define", "include", "pragma"};

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

/// Calls `visit(word, next)` for every word with the character that follows it, blanks aside.
template <class Visit>
void for_words(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::size_t next = text.find_first_not_of(" \t\r\n", end);
    visit(text.substr(at, end - at), next == std::string_view::npos ? ';' : text[next]);
    at = end;
  }
}

/// Past the bracket that closes the one at `open`.
std::size_t past_bracket(std::string_view text, std::size_t open) {
  const char opening = text[open], closing = opening == '<' ? '>' : ')';
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    depth += text[at] == opening ? 1 : text[at] == closing ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return text.size();
}

/// What is in front of parameters and body, without parameters of templates and attributes.
std::string head_of(std::string_view text) {
  std::string head;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      head += text[at];
      if (text[at] == '(' || text[at] == '{') break;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (!is_one_of(word, kNoNames)) {
      head += word;
      continue;
    }
    const std::size_t open = text.find_first_not_of(" \t\r\n", end);
    if (open != std::string_view::npos && (text[open] == '<' || text[open] == '('))
      at = past_bracket(text, open);
  }
  return head;
}

void find_declared(Chunk& chunk, std::string_view head) {
  bool after_type_word = false;
  for_words(head, [&](std::string_view word, char next) {
    const bool named = std::string_view("(=[;{<:,").find(next) != std::string_view::npos;
    if (named || after_type_word) chunk.declares.emplace(word);
    after_type_word = is_one_of(word, kTypeWords);
  });
}

/// `using NAME = ...;` declares one name, whatever the type behind it mentions.
bool is_alias(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && head.substr(first).starts_with("using ") &&
         head.find('=') != std::string_view::npos;
}

Chunk declaration(std::string_view text) {
  Chunk chunk{.text = text, .declares = {}, .mentions = {}};
  // A body says what is done, not what is declared; but names of an enumeration stand in one, and a namespace is all
  // that is in it.
  bool whole = false;
  for_words(text.substr(0, text.find('{')),
            [&](std::string_view word, char) { whole = whole || word == "enum" || word == "namespace"; });
  std::string head = whole ? std::string(text) : head_of(text);
  if (is_alias(head)) head.resize(head.find('='));
  find_declared(chunk, head);
  for_words(text, [&](std::string_view word, char) { chunk.mentions.emplace(word); });
  return chunk;
}

Chunk directive(std::string_view text) {
  Chunk chunk{.text = text, .declares = {}, .mentions = {}};
  for_words(text, [&](std::string_view word, char) { chunk.mentions.emplace(word); });
  std::vector<std::string_view> words;
  for_words(text, [&](std::string_view word, char) { words.push_back(word); });
  const std::string_view kind = words.empty() ? "" : words.front();
  if (kind == "define" && words.size() > 1) chunk.declares.emplace(words[1]);
  chunk.always = !is_one_of(kind, kNoConditions);
  return chunk;
}

std::size_t end_of_directive(std::string_view code, std::size_t at) {
  for (;;) {
    const std::size_t end = code.find('\n', at);
    if (end == std::string_view::npos) return code.size();
    if (end == 0 || code[end - 1] != '\\') return end + 1;
    at = end + 1;
  }
}

/// Splits code without comments where a declaration ends: at a semicolon outside of brackets, or after a body.
std::vector<Chunk> chunks_of(std::string_view code) {
  std::vector<Chunk> chunks;
  int depth = 0;
  std::size_t begin = 0;
  bool line_start = true;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '#' && line_start) {
      const std::size_t end = end_of_directive(code, at);
      chunks.push_back(directive(code.substr(at, end - at)));
      if (depth == 0) begin = end;
      at = end - 1;
      continue;
    }
    line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
    if (c == '{' || c == '(') ++depth;
    if (c == '}' || c == ')') --depth;
    const bool ends = depth == 0 && (c == ';' || c == '}');
    if (!ends) continue;
    chunks.push_back(declaration(code.substr(begin, at + 1 - begin)));
    begin = at + 1;
  }
  return chunks;
}

}  // namespace

std::string code_behind(std::string_view source, const std::set<std::string>& names) {
  const std::string code = blank_comments_and_strings(source);
  const std::vector<Chunk> chunks = chunks_of(code);
  std::set<std::string, std::less<>> wanted(names.begin(), names.end());
  std::vector<bool> taken(chunks.size(), false);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      const Chunk& chunk = chunks[i];
      const bool reached = chunk.always || std::ranges::any_of(chunk.declares, [&](const std::string& name) {
                             return wanted.contains(name);
                           });
      if (taken[i] || !reached) continue;
      taken[i] = more = true;
      wanted.insert(chunk.mentions.begin(), chunk.mentions.end());
    }
  }
  // As the source has it: strings may be instructions.
  std::string text;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (taken[i])
      text +=
          source.substr(static_cast<std::size_t>(chunks[i].text.data() - code.data()), chunks[i].text.size());
  return text;
}

}  // namespace ak::codegen
