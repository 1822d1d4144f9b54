// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/code_closure.h"

#include <algorithm>
#include <array>
#include <optional>
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
// In front of a bracket or a body in a declaration, and no name of it.
constexpr std::array<std::string_view, 11> kNoNames{
    "template", "__launch_bounds__", "__align__",        "alignas",  "requires",     "decltype",
    "const",    "__maxnreg__",       "__cluster_dims__", "noexcept", "__attribute__"};
// Lines of the preprocessor that say nothing of what is compiled around them.
constexpr std::array<std::string_view, 2> kNoConditions{"define", "include"};
// Pragmas of one loop, in whose body they stand. Others, like pack and push_macro, change what follows them.
constexpr std::array<std::string_view, 2> kLoopPragmas{"unroll", "nounroll"};
constexpr std::string_view kBlanks = " \t\r\n";

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_blank(std::string_view text) { return text.find_first_not_of(kBlanks) == std::string_view::npos; }
bool is_opening(char c) { return c == '(' || c == '{'; }
bool is_closing(char c) { return c == ')' || c == '}'; }

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
    const std::size_t next = text.find_first_not_of(kBlanks, end);
    visit(text.substr(at, end - at), next == std::string_view::npos ? ';' : text[next]);
    at = end;
  }
}

/// Past the bracket that closes the one at `open`; npos where none does. Shifts and comparisons are no brackets.
std::size_t past_bracket(std::string_view text, std::size_t open) {
  const bool angle = text[open] == '<';
  int angles = 0, others = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    others += is_opening(c) ? 1 : is_closing(c) ? -1 : 0;
    if (angle && others == 0) {
      const std::string_view two = text.substr(at, 2);
      if (two == "<<" || two == "<=" || two == ">=" || two == "->") {
        ++at;
        continue;
      }
      angles += c == '<' ? 1 : c == '>' ? -1 : 0;
    }
    if (angles == 0 && others == 0) return at + 1;
  }
  return std::string_view::npos;
}

/// What stands outside of brackets, each left as its opening one: no parameters, bodies and values, and none of
/// kNoNames with what is in their brackets. Nothing where a bracket does not close.
std::optional<std::string> outline_of(std::string_view text) {
  std::string outline;
  bool value = false, alias = false;  // a comma in an alias is one of its type
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (!is_word(c)) {
      value = (value && c != ';' && (alias || c != ',')) || text.substr(at, 2) == "->";
      if (!value) outline += c;
      value = value || c == '=';
      at = is_opening(c) ? past_bracket(text, at) : at + 1;
      if (at == std::string_view::npos) return std::nullopt;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    at = end;
    alias = alias || (word == "using" && is_blank(outline));
    if (!is_one_of(word, kNoNames)) {
      if (!value) outline += word;
      continue;
    }
    const std::size_t open = text.find_first_not_of(kBlanks, end);
    if (open != std::string_view::npos && (text[open] == '<' || text[open] == '('))
      at = past_bracket(text, open);
    if (at == std::string_view::npos) return std::nullopt;
  }
  return outline;
}

void find_declared(Chunk& chunk, std::string_view outline) {
  bool after_type_word = false;
  for_words(outline, [&](std::string_view word, char next) {
    const bool named = std::string_view("(=[;{<:,}").find(next) != std::string_view::npos;
    if (named || after_type_word) chunk.declares.emplace(word);
    after_type_word = is_one_of(word, kTypeWords);
  });
}

bool has_word(std::string_view text, std::string_view wanted) {
  bool found = false;
  for_words(text, [&](std::string_view word, char) { found = found || word == wanted; });
  return found;
}

/// `namespace NAME {` or `extern "C" {`: all that is in it is declared.
bool opens_block(std::string_view head) {
  const std::size_t first = std::min(head.find_first_not_of(kBlanks), head.size());
  const std::string_view rest = head.substr(first);
  constexpr std::string_view kExtern = "extern";
  return has_word(head, "namespace") ||
         (rest.starts_with(kExtern) &&
          rest.find_first_not_of(" \t\r\n\"", kExtern.size()) == std::string_view::npos);
}

Chunk declaration(std::string_view text) {
  Chunk chunk{.text = text, .declares = {}, .mentions = {}};
  const std::string_view head = text.substr(0, text.find('{'));
  const std::optional<std::string> outline = outline_of(text);
  // A body says what is done, not what is declared; but names of an enumeration stand in one, and a namespace is all
  // that is in it.
  const bool whole = has_word(head, "enum") || opens_block(head);
  find_declared(chunk, whole || !outline ? text : std::string_view(*outline));
  // Nobody names an operator, or a namespace whose names are used without it.
  chunk.always = !outline || has_word(*outline, "operator") ||
                 (has_word(*outline, "using") && has_word(*outline, "namespace"));
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
  const bool of_loop = kind == "pragma" && words.size() > 1 && is_one_of(words[1], kLoopPragmas);
  chunk.always = !of_loop && !is_one_of(kind, kNoConditions);
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

/// Whether a declaration goes on behind a body: names of variables follow a type, and more of them a value.
bool goes_on(std::string_view text, std::string_view rest) {
  if (opens_block(text.substr(0, text.find('{')))) return false;
  const std::optional<std::string> outline = outline_of(text);
  if (!outline || outline->find('(') == std::string::npos) return true;
  const std::size_t next = rest.find_first_not_of(kBlanks);
  return next != std::string_view::npos && (rest[next] == ',' || rest[next] == '{');
}

/// Splits code without comments where a declaration ends: at a semicolon outside of brackets, or after a body. Nothing
/// where that cannot be told: brackets that depend on the preprocessor, names that it puts together.
std::optional<std::vector<Chunk>> chunks_of(std::string_view code) {
  for (const std::string_view sign : {"##", "%:", "\\\r"})
    if (code.find(sign) != std::string_view::npos) return std::nullopt;
  std::vector<Chunk> chunks;
  int depth = 0;
  std::size_t begin = 0;
  bool line_start = true;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '#' && line_start) {
      const std::size_t end = end_of_directive(code, at);
      chunks.push_back(directive(code.substr(at, end - at)));
      // Within a declaration it is part of that, too.
      if (depth == 0 && is_blank(code.substr(begin, at - begin))) begin = end;
      at = end - 1;
      continue;
    }
    line_start = c == '\n' || (line_start && (c == ' ' || c == '\t'));
    depth += is_opening(c) ? 1 : is_closing(c) ? -1 : 0;
    if (depth < 0) return std::nullopt;
    const std::string_view text = code.substr(begin, at + 1 - begin);
    const bool ends = depth == 0 && (c == ';' || (c == '}' && !goes_on(text, code.substr(at + 1))));
    if (!ends) continue;
    chunks.push_back(declaration(text));
    begin = at + 1;
  }
  if (depth != 0 || !is_blank(code.substr(begin))) return std::nullopt;
  return chunks;
}

/// "scale<float, 4>" is defined under the name "scale".
std::string base_name(const std::string& kernel) {
  const std::string name = kernel.substr(0, kernel.find('<'));
  const std::size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

/// The chunks that the kernels may depend on, in order. Nothing where one of them is declared by none: a macro writes it.
std::optional<std::vector<Chunk>> chunks_behind(const std::vector<Chunk>& chunks,
                                                const std::set<std::string>& kernels) {
  std::set<std::string, std::less<>> wanted;
  for (const std::string& kernel : kernels) {
    const std::string name = base_name(kernel);
    const bool declared =
        std::ranges::any_of(chunks, [&](const Chunk& chunk) { return chunk.declares.contains(name); });
    if (!declared) return std::nullopt;
    for_words(kernel, [&](std::string_view word, char) { wanted.emplace(word); });
  }
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
  std::vector<Chunk> behind;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (taken[i]) behind.push_back(chunks[i]);
  return behind;
}

/// Places of these chunks in the source.
std::optional<std::vector<std::pair<std::size_t, std::size_t>>> places_behind(
    std::string_view source, const std::set<std::string>& kernels) {
  const std::string code = blank_comments_and_strings(source);
  const std::optional<std::vector<Chunk>> chunks = chunks_of(code);
  if (!chunks) return std::nullopt;
  const std::optional<std::vector<Chunk>> behind = chunks_behind(*chunks, kernels);
  if (!behind) return std::nullopt;
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const Chunk& chunk : *behind)
    places.emplace_back(static_cast<std::size_t>(chunk.text.data() - code.data()), chunk.text.size());
  return places;
}

}  // namespace

std::string code_behind(std::string_view source, const std::set<std::string>& kernels) {
  const auto places = places_behind(source, kernels);
  if (!places) return std::string(source);
  std::string text;  // as the source has it: strings may be instructions
  for (const auto& [at, size] : *places) text += source.substr(at, size);
  return text;
}

std::string only_code_behind(std::string_view source, const std::set<std::string>& kernels) {
  const auto places = places_behind(source, kernels);
  std::string text(source);
  if (!places) return text;
  for (char& c : text)
    if (c != '\n') c = ' ';
  for (const auto& [at, size] : *places) text.replace(at, size, source.substr(at, size));
  return text;
}

}  // namespace ak::codegen
