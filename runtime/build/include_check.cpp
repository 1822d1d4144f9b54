// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/include_check.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

namespace ak::runtime {
namespace {

// The source with spliced lines joined (a backslash, blanks, a line end), and where each kept
// byte's line was.
struct Spliced {
  std::string text;
  std::vector<int> lines;
};

std::size_t splice_length(std::string_view at) {
  if (at.front() != '\\') return 0;
  const std::size_t end = at.find_first_not_of(" \t\v\f\r", 1);
  return end != std::string_view::npos && at[end] == '\n' ? end + 1 : 0;
}

Spliced splice(std::string_view source) {
  Spliced result;
  int line = 1;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t skip = splice_length(source.substr(at));
    if (skip > 0) {
      ++line;
      at += skip;
      continue;
    }
    result.text.push_back(source[at]);
    result.lines.push_back(line);
    if (source[at++] == '\n') ++line;
  }
  return result;
}

std::string_view skip_blanks_and_comments(std::string_view text) {
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\v\f\r");
    text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
    if (!text.starts_with("/*")) return text;
    const std::size_t end = text.find("*/", 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
  }
}

std::string_view identifier(std::string_view text) {
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return text.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin()));
}

bool is_plain_name(std::string_view text) {
  if (text.empty() || (text[0] != '<' && text[0] != '"')) return false;
  const std::size_t end = text.find(text[0] == '<' ? '>' : '"', 1);
  if (end == std::string_view::npos || end == 1) return false;
  const std::string_view name = text.substr(1, end - 1);
  return name[0] != '/' && name.find("..") == std::string_view::npos &&
         name.find_first_of("\\\n\r:") == std::string_view::npos;
}

// What is wrong with the directive whose text follows its introducer; empty: nothing.
std::string error_of(std::string_view directive) {
  directive = skip_blanks_and_comments(directive);
  const std::string_view word = identifier(directive);
  constexpr std::array kRefused{"include_next", "import", "embed"};
  if (std::ranges::find(kRefused, word) != kRefused.end()) return fmt::format("#{} is not allowed", word);
  if (word != "include") return {};
  if (is_plain_name(skip_blanks_and_comments(directive.substr(word.size())))) return {};
  return "#include takes the plain name of a CUDA header: no macro, no absolute path, no '..'";
}

}  // namespace

std::optional<Diagnostic> find_unsafe_include(std::string_view source) {
  const Spliced spliced = splice(source);
  const std::string_view text = spliced.text;
  const auto at_line = [&](std::size_t at, std::string message) {
    return Diagnostic{"error", std::move(message), spliced.lines[at], 0};
  };
  for (const std::string_view oracle : {"__has_include", "__has_embed"})
    if (const std::size_t at = text.find(oracle); at != std::string_view::npos)
      return at_line(at, fmt::format("{} is not allowed", oracle));
  for (const std::string_view introducer : {"#", "%:", "\?\?="})
    for (std::size_t at = text.find(introducer); at != std::string_view::npos;
         at = text.find(introducer, at + 1))
      if (auto message = error_of(text.substr(at + introducer.size())); !message.empty())
        return at_line(at, std::move(message));
  return std::nullopt;
}

}  // namespace ak::runtime
