// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

using Tokens = std::vector<std::string>;

/// Words (with `::` inside them) and single punctuation characters.
Tokens tokenize(std::string_view text) {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && (is_word(text[end]) || text.substr(end, 2) == "::"))
      end += is_word(text[end]) ? 1 : 2;
    if (end == at) end = at + 1;
    const std::string token(text.substr(at, end - at));
    if (token.find_first_not_of(" \t\r\n\v\f") != std::string::npos) tokens.push_back(token);
    at = end;
  }
  return tokens;
}

/// Index just past the bracket that closes the one at `open`; the end when it never closes.
std::size_t past_closing(const Tokens& tokens, std::size_t open, std::string_view opening,
                         std::string_view closing) {
  int depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (tokens[i] == opening) ++depth;
    if (tokens[i] == closing && --depth == 0) return i + 1;
  }
  return tokens.size();
}

/// tokens[begin, end) cut at the commas outside every bracket.
std::vector<Tokens> split_at_commas(const Tokens& tokens, std::size_t begin, std::size_t end) {
  std::vector<Tokens> parts;
  int depth = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const std::string& token = tokens[i];
    if (token == "(" || token == "<" || token == "[" || token == "{") ++depth;
    if (token == ")" || token == ">" || token == "]" || token == "}") --depth;
    if (parts.empty()) parts.emplace_back();
    if (token == "," && depth == 0)
      parts.emplace_back();
    else
      parts.back().push_back(token);
  }
  return parts;
}

std::string joined(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    const bool space = !text.empty() && is_word(text.back()) && is_word(token.front());
    text += (space ? " " : "") + token;
  }
  return text;
}

constexpr std::array kQualifiers{"const",           "volatile",  "__restrict__",      "__restrict",
                                 "restrict",        "__const__", "__grid_constant__", "struct",
                                 "[[maybe_unused]]"};
constexpr std::array kTypeWords{"unsigned", "signed", "long",   "short", "int",
                                "char",     "float",  "double", "bool",  "void"};

bool is_listed(const auto& words, const std::string& token) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return token == word; });
}

KernelParameter read_parameter(Tokens tokens, std::size_t index) {
  if (const auto value = std::ranges::find(tokens, "="); value != tokens.end())
    tokens.erase(value, tokens.end());
  KernelParameter parameter;
  Tokens words;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "*" || token == "[") {
      parameter.pointer = true;
      if (token == "[") i = past_closing(tokens, i, "[", "]") - 1;
    } else if (token == "const" && !parameter.pointer) {
      parameter.const_data = true;  // before the star: what is pointed to is constant
    } else if (!is_listed(kQualifiers, token)) {
      words.push_back(token);
    }
  }
  parameter.const_data = parameter.const_data && parameter.pointer;
  const bool named =
      words.size() > 1 && is_word(words.back().front()) && !is_listed(kTypeWords, words.back());
  parameter.name = named ? words.back() : fmt::format("arg{}", index);
  if (named) words.pop_back();
  parameter.type = joined(words);
  return parameter;
}

/// Template parameters in front of the declaration that tokens[global] belongs to.
std::vector<std::string> template_parameters(const Tokens& tokens, std::size_t global) {
  std::size_t start = global;
  while (start > 0 && tokens[start - 1] != ";" && tokens[start - 1] != "}") --start;
  for (; start < global; ++start) {
    if (tokens[start] != "template" || start + 1 >= global || tokens[start + 1] != "<") continue;
    const std::size_t end = past_closing(tokens, start + 1, "<", ">");
    std::vector<std::string> names;
    for (const Tokens& part : split_at_commas(tokens, start + 2, end - 1)) names.push_back(joined(part));
    return names;
  }
  return {};
}

bool is_attribute(const std::string& token) {
  return token == "__launch_bounds__" || token == "__cluster_dims__" || token == "__maxnreg__" ||
         token == "__block_size__" || token == "__attribute__";
}

/// Index of the function's name after __global__, or the end.
std::size_t find_name(const Tokens& tokens, std::size_t at) {
  for (; at + 1 < tokens.size() && tokens[at] != ";" && tokens[at] != "{"; ++at) {
    if (tokens[at + 1] != "(") continue;
    if (!is_attribute(tokens[at])) return at;
    at = past_closing(tokens, at + 1, "(", ")") - 1;
  }
  return tokens.size();
}

/// Blanks preprocessor lines, whose brackets need not match.
std::string without_directives(std::string text) {
  bool inside = false, line_start = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      inside = inside && i > 0 && text[i - 1] == '\\';
      line_start = true;
      continue;
    }
    if (line_start && text[i] == '#') inside = true;
    if (text[i] != ' ' && text[i] != '\t') line_start = false;
    if (inside && text[i] != '\\') text[i] = ' ';
  }
  std::ranges::replace(text, '\\', ' ');
  return text;
}

}  // namespace

std::optional<KernelSignature> first_kernel(std::string_view source) {
  const std::string text = without_directives(blank_comments_and_strings(source));
  const Tokens tokens = tokenize(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] != "__global__") continue;
    const std::size_t name = find_name(tokens, i + 1);
    if (name >= tokens.size()) continue;
    const std::size_t end = past_closing(tokens, name + 1, "(", ")");
    KernelSignature signature;
    signature.name = tokens[name];
    signature.template_parameters = template_parameters(tokens, i);
    for (const Tokens& part : split_at_commas(tokens, name + 2, end - 1)) {
      if (part.empty() || part == Tokens{"void"}) continue;
      signature.parameters.push_back(read_parameter(part, signature.parameters.size()));
    }
    const auto at = static_cast<std::ptrdiff_t>(text.find("__global__"));
    signature.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
    return signature;
  }
  return std::nullopt;
}

}  // namespace ak::codegen
