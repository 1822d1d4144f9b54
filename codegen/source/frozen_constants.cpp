// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/frozen_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <regex>
#include <set>

#include "core/plan/device_headers.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

constexpr std::string_view kOpenDefaults = "#ifndef ALPHAKERNEL";

/// Capitals, and '_' for what cannot be in a macro name.
std::string macro_name(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!is_word(c)) c = '_';
  }
  return text;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string trim(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// What the harness defines, so that a source's own defaults of it go.
struct Known {
  std::set<std::string> names;       ///< without "AK_"
  std::vector<std::string> choices;  ///< "DTYPE_": another choice's default would be a second one

  [[nodiscard]] bool macro(const std::string& name) const {
    return names.contains(name) ||
           std::ranges::any_of(choices, [&](const std::string& choice) { return name.starts_with(choice); });
  }
};

/// A line of the defaults without the declarations of known names; nothing when all of it was such.
std::optional<std::string> without_known(const std::string& line, const Known& known) {
  static const std::regex macro(R"(^\s*#\s*define\s+AK_(\w+).*)");
  static const std::regex scalar(R"(^\s*using\s+scalar_t\s*=.*)");
  static const std::regex constant(R"(^(\s*(?:static\s+)?constexpr\s+[\w ]*?\w\s+)(\w+\s*=.*);.*)");
  if (line.size() > 1000) return line;  // std::regex takes stack in proportion to the line
  std::smatch match;
  if (std::regex_match(line, match, macro) && known.macro(match[1])) return std::nullopt;
  if (std::regex_match(line, scalar) && known.names.contains("scalar_t")) return std::nullopt;
  if (!std::regex_match(line, match, constant)) return line;
  std::string kept, rest = match[2];
  for (std::size_t end = 0; !rest.empty(); rest = end < rest.size() ? rest.substr(end + 1) : "") {
    end = std::min(rest.find(','), rest.size());
    const std::string declarator = trim(rest.substr(0, end));
    if (!known.names.contains(trim(declarator.substr(0, declarator.find('=')))))
      kept += (kept.empty() ? "" : ", ") + declarator;
  }
  if (kept.empty()) return std::nullopt;
  return fmt::format("{}{};", match[1].str(), kept);
}

/// One `#ifndef ALPHAKERNEL` ... `#endif`: lines [first, last], and where its defaults end.
struct Defaults {
  std::size_t first = 0, end_of_defaults = 0, last = 0;
};

/// "ifndef ALPHAKERNEL" of "  # ifndef  ALPHAKERNEL ": the first two words of a directive; empty for
/// other lines.
std::string directive(const std::string& line) {
  std::size_t at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return "";
  std::string words;
  for (int word = 0; word < 2; ++word) {
    at = line.find_first_not_of(" \t", at + (word == 0 ? 1 : 0));
    if (at == std::string::npos) break;
    words += word == 0 ? "" : " ";
    for (; at < line.size() && is_word(line[at]); ++at) words += line[at];
  }
  return words;
}

std::optional<Defaults> find_defaults(const std::vector<std::string>& code, std::size_t from) {
  while (from < code.size() && directive(code[from]) != "ifndef ALPHAKERNEL") ++from;
  Defaults found{from, 0, 0};
  int depth = 1;
  for (std::size_t i = from + 1; i < code.size(); ++i) {
    const std::string words = directive(code[i]);
    if (words.starts_with("if")) ++depth;
    if (depth == 1 && found.end_of_defaults == 0 && words.starts_with("el")) found.end_of_defaults = i;
    if (!words.starts_with("endif") || --depth > 0) continue;
    found.last = i;
    if (found.end_of_defaults == 0) found.end_of_defaults = i;
    return found;
  }
  return std::nullopt;
}

/// Source lines without the defaults of known names; blocks that held nothing else disappear.
std::string lines_without_defaults(std::string_view source, const Known& known) {
  const std::vector<std::string> lines = split_lines(source);
  const std::vector<std::string> code = split_lines(blank_comments_and_strings(source));
  std::string result;
  std::size_t next = 0;
  const auto copy_until = [&](std::size_t end) {
    for (; next < end && next < lines.size(); ++next) result += lines[next] + "\n";
  };
  while (const std::optional<Defaults> block = find_defaults(code, next)) {
    copy_until(block->first);
    std::string kept;
    for (std::size_t i = block->first + 1; i < block->end_of_defaults; ++i) {
      const std::optional<std::string> line = without_known(lines[i], known);
      if (line && (!kept.empty() || !trim(*line).empty())) kept += *line + "\n";
    }
    const bool whole = block->end_of_defaults == block->last;
    if (!whole || !kept.empty()) {
      result += lines[block->first] + "\n" + kept;
      next = block->end_of_defaults;
      copy_until(block->last + 1);
    }
    next = block->last + 1;
    if (whole && kept.empty() && next < lines.size() && trim(lines[next]).empty()) ++next;  // its blank line
  }
  copy_until(lines.size());
  return result;
}

std::string defaults_block(const std::string& lines) {
  return lines.empty() ? "" : fmt::format("{}\n{}#endif\n", kOpenDefaults, lines);
}

/// The include that declares scalar_t, unless `source` has it.
std::string scalar_header(const FrozenConstants& constants, std::string_view source, std::string_view code) {
  if (!constants.scalar || !mentions(code, "scalar_t")) return "";
  const std::string_view header = info(*constants.scalar).cuda_header;
  const auto includes = scan_includes(source);
  const bool present = std::ranges::any_of(includes, [&](const IncludeLine& i) { return i.name == header; });
  return header.empty() || present ? "" : fmt::format("#include <{}>\n", header);
}

}  // namespace

bool mentions(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

FrozenConstants frozen_constants(const ProblemInstance& problem, const TunableValues& tunables) {
  FrozenConstants constants;
  std::map<std::string, std::int64_t> integers;
  for (const Axis& axis : problem.definition.axes) {
    if (axis.value) integers[macro_name(axis.name)] = *axis.value;
  }
  for (const auto& [name, value] : problem.params) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      integers[macro_name(name)] = *number;
      continue;
    }
    const auto& text = std::get<std::string>(value);
    constants.choices.push_back(fmt::format("AK_{}_", macro_name(name)));
    constants.flags.push_back(constants.choices.back() + macro_name(text));
    if (name == "dtype") constants.scalar = parse_dtype(text);
  }
  for (const auto& [name, value] : tunables) integers[name] = value;
  constants.integers.assign(integers.begin(), integers.end());
  return constants;
}

std::string macro_lines(const FrozenConstants& constants, std::string_view code) {
  std::string lines;
  for (const auto& [name, value] : constants.integers) {
    if (mentions(code, "AK_" + name)) lines += fmt::format("#define AK_{} {}\n", name, value);
  }
  for (const std::string& flag : constants.flags) {
    if (mentions(code, flag)) lines += fmt::format("#define {} 1\n", flag);
  }
  return lines;
}

std::string declaration_lines(const FrozenConstants& constants, std::string_view code) {
  std::string lines;
  for (const auto& [name, value] : constants.integers) {
    if (!mentions(code, name)) continue;
    const bool fits = value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
    lines += fmt::format("constexpr {} {} = {};\n", fits ? "int" : "long long", name, value);
  }
  if (constants.scalar && mentions(code, "scalar_t"))
    lines += fmt::format("using scalar_t = {};\n", info(*constants.scalar).cuda_type);
  return lines;
}

std::string without_defaults(std::string_view source, const FrozenConstants& constants) {
  Known known;
  for (const auto& [name, value] : constants.integers) known.names.insert(name);
  for (const std::string& choice : constants.choices)
    known.choices.push_back(choice.substr(std::string_view("AK_").size()));
  if (constants.scalar) known.names.insert("scalar_t");
  return lines_without_defaults(source, known);
}

std::string with_constants(std::string_view source, const FrozenConstants& constants) {
  std::string text = without_defaults(source, constants);
  const std::string code = blank_comments_and_strings(blank_device_headers(text));

  const std::size_t end_of_plan = std::min(text.find('\n', text.find("*/")), text.size() - 1) + 1;
  const std::size_t after_includes = std::max(offset_behind_line(text, end_of_includes(text)), end_of_plan);
  const std::string block = defaults_block(declaration_lines(constants, code));
  if (!block.empty()) text.insert(after_includes, "\n" + block);
  text.insert(end_of_plan,
              defaults_block(macro_lines(constants, code)) + scalar_header(constants, text, code));
  return text;
}

}  // namespace ak::codegen
