// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/live_code.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include "codegen/sets/code_closure.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"
#include "core/text/line_diff.h"

namespace ak::codegen {
namespace {

using Macros = std::map<std::string, bool, std::less<>>;  ///< whether they are other than 0

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (std::size_t at = from; at < to && at < text.size(); ++at)
    if (text[at] != '\n') text[at] = ' ';
}

/// Strings stay: they may be instructions.
std::string without_comments(std::string text) {
  char string = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (string != 0) {
      at += c == '\\' ? 1 : 0;
      if (c == string || c == '\n') string = 0;
      continue;
    }
    const std::string_view here = std::string_view(text).substr(at, 2);
    if (c == '"') string = c;
    if (here != "//" && here != "/*") continue;
    const std::size_t last = here == "//" ? text.find('\n', at) : text.find("*/", at + 2);
    const std::size_t end = std::min(text.size(), last + (here == "/*" ? 2 : 0));
    blank(text, at, last == std::string::npos ? text.size() : end);
    at = last == std::string::npos ? text.size() : end - 1;
  }
  return text;
}

/// Declarations in namespaces are told apart as those outside are.
std::string without_namespaces(std::string text) {
  constexpr std::string_view kWord = "namespace";
  const std::string code = blank_comments_and_strings(text);
  for (std::size_t at = code.find(kWord); at != std::string::npos; at = code.find(kWord, at + 1)) {
    const std::size_t open = code.find_first_of("{;=", at);
    if (open == std::string::npos || code[open] != '{') continue;
    int depth = 0;
    std::size_t close = open;
    for (; close < code.size(); ++close) {
      depth += code[close] == '{' ? 1 : code[close] == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    blank(text, at, open + 1);
    blank(text, close, close + 1);
  }
  return text;
}

/// What is known of macros: tunables, and what the text itself defines as 0 or 1.
Macros macros_of(const Candidate& candidate) {
  Macros macros{{"0", false}, {"1", true}};
  for (const auto& [name, value] : candidate.tunables) macros["AK_" + name] = value != 0;
  std::istringstream lines(candidate.source);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string define, name, value;
    words >> define >> name >> value;
    if (define == "#define" && (value == "0" || value == "1")) macros[name] = value == "1";
  }
  return macros;
}

std::optional<bool> value_of(const std::string& directive, const Macros& macros) {
  std::istringstream words(directive);
  std::string kind, name, rest;
  words >> kind >> name >> rest;
  if (name == "ALPHAKERNEL" && (kind == "#ifdef" || kind == "#ifndef")) return kind == "#ifdef";
  const auto known = macros.find(name);
  if (kind != "#if" || !rest.empty() || known == macros.end()) return std::nullopt;
  return known->second;
}

struct Branch {
  std::optional<bool> value;  ///< of the condition
  bool dead = false, outer_dead = false;
};

/// Blanks in place of what conditions leave out; a condition whose value is not known leaves nothing out.
std::string without_dead_branches(const std::string& text, const Macros& macros) {
  std::vector<Branch> open;
  std::string result;
  for (const std::string_view line : lines_of(text)) {
    const std::size_t first = line.find_first_not_of(" \t");
    const std::string word(first == std::string_view::npos ? "" : line.substr(first));
    const bool outer = !open.empty() && open.back().dead;
    bool directive = true;
    if (word.starts_with("#if")) {
      const std::optional<bool> value = value_of(word, macros);
      open.push_back({.value = value, .dead = outer || value == false, .outer_dead = outer});
    } else if (word.starts_with("#el") && !open.empty()) {
      Branch& branch = open.back();
      branch.dead = branch.outer_dead || branch.value == true;
      if (word.starts_with("#elif") && branch.value != true) branch.value = std::nullopt;
    } else if (word.starts_with("#endif") && !open.empty()) {
      open.pop_back();
    } else {
      directive = false;
    }
    if (directive || open.empty() || !open.back().dead) result += line;
    result += '\n';
  }
  return result;
}

/// Where the file includes each device header itself, by its name.
std::map<std::string, int, std::less<>> include_lines(std::string_view source) {
  std::map<std::string, int, std::less<>> lines;
  for (const IncludeLine& include : scan_includes(source)) lines.emplace(include.name, include.line);
  return lines;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

std::vector<LiveLine> live_code(const Candidate& candidate, const std::set<std::string>& kernels) {
  const std::string all = candidate.headers + candidate.source;
  const std::string code =
      without_dead_branches(without_namespaces(without_comments(all)), macros_of(candidate));
  const std::string live = only_code_behind(code, kernels);
  const auto includes = include_lines(candidate.source);
  const std::vector<std::string_view> written = lines_of(all), texts = lines_of(live);
  const auto of_headers = static_cast<std::size_t>(std::ranges::count(candidate.headers, '\n'));
  std::vector<LiveLine> lines;
  int include = 0;
  constexpr std::string_view kMarker = "// ---- ";  // in front of the text of a header
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool header = i < of_headers;
    if (header && written[i].starts_with(kMarker)) {
      const auto place = includes.find(written[i].substr(kMarker.size()));
      include = place == includes.end() ? 0 : place->second;
    }
    if (is_blank(texts[i])) continue;
    lines.push_back({.text = std::string(texts[i]),
                     .line = header ? include : static_cast<int>(i - of_headers) + 1,
                     .header = header});
  }
  return lines;
}

}  // namespace ak::codegen
