// SPDX-License-Identifier: Apache-2.0
#include "codegen/sets/member_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/source/frozen_constants.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

/// The file without the comment that holds its launch plan.
std::string_view without_plan(std::string_view source) {
  const std::size_t end = source.find("*/");
  return source.substr(std::min(end + 2, source.size()));
}

/// Tunables alone: params and fixed axes are the same for all members, and stand in front of them.
FrozenConstants constants_of(const MemberText& member) {
  FrozenConstants constants;
  constants.integers.assign(member.tunables.begin(), member.tunables.end());
  return constants;
}

/// Takes the includes out, into `names`.
std::string without_includes(std::string text, std::vector<std::string>& names) {
  const std::vector<IncludeLine> includes = scan_includes(text);
  for (auto include = includes.rbegin(); include != includes.rend(); ++include) {
    const std::size_t begin = offset_behind_line(text, include->line - 1);
    const std::size_t end = offset_behind_line(text, include->last_line);
    text.erase(begin, end - begin);
  }
  for (const IncludeLine& include : includes)
    if (!include.name.empty() && std::ranges::find(names, include.name) == names.end())
      names.push_back(include.name);
  return text;
}

/// Linkage of C has no namespaces: two members would have one kernel.
std::string without_c_linkage(std::string text) {
  constexpr std::string_view kExtern = "extern", kC = "\"C\"";
  const std::string code = blank_comments_and_strings(text);
  for (std::size_t at = code.rfind(kExtern); at != std::string::npos;
       at = at == 0 ? std::string::npos : code.rfind(kExtern, at - 1)) {
    const std::size_t language = text.find_first_not_of(" \t\r\n", at + kExtern.size());
    if (language == std::string::npos || text.compare(language, kC.size(), kC) != 0) continue;
    const std::size_t after = text.find_first_not_of(" \t\r\n", language + kC.size());
    const bool block = after != std::string::npos && text[after] == '{';
    text.replace(at, language + kC.size() - at, block ? "inline namespace c_names" : "");
  }
  return text;
}

/// Names that the source defines as macros.
std::set<std::string> own_macros(std::string_view source) {
  std::set<std::string> names;
  const std::string code = blank_comments_and_strings(source);
  for (std::size_t at = code.find("define"); at != std::string::npos; at = code.find("define", at + 1)) {
    const std::size_t before = code.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (at == 0 || before == std::string::npos || code[before] != '#') continue;
    std::size_t begin = code.find_first_not_of(" \t", at + std::string_view("define").size());
    std::size_t end = begin;
    while (end < code.size() && is_word(code[end])) ++end;
    if (begin != std::string::npos && end > begin) names.insert(code.substr(begin, end - begin));
  }
  return names;
}

std::string in_namespace(const MemberText& member, std::vector<std::string>& includes) {
  const FrozenConstants own = constants_of(member);
  std::string text = without_c_linkage(without_includes(member.code, includes));
  text.erase(0, text.find_first_not_of("\r\n"));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::string code = blank_comments_and_strings(text), macros = macro_lines(own, code);
  std::string undefined;
  for (const std::string& macro : own_macros(macros + text)) undefined += fmt::format("#undef {}\n", macro);
  const std::string constants = declaration_lines(own, code);
  return fmt::format("\n{0}{1}namespace {2} {{\n{3}{4}\n\n}}  // namespace {2}\n{5}", member.heading, macros,
                     member.space, constants.empty() ? "" : constants + "\n", text, undefined);
}

/// A type or constant of the member's own. @param code without comments
bool declares(std::string_view code, const std::string& name) {
  for (std::size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) continue;
    const std::size_t last = at == 0 ? std::string::npos : code.find_last_not_of(" \t\n", at - 1);
    std::size_t first = last;
    while (first != std::string::npos && first > 0 && is_word(code[first - 1])) --first;
    const std::string before =
        last == std::string::npos ? "" : std::string(code.substr(first, last + 1 - first));
    const bool type =
        before == "struct" || before == "class" || before == "enum" || before == "union" || before == "using";
    const std::size_t next = code.find_first_not_of(" \t\n", end);
    const bool constant = next != std::string::npos && code[next] == '=' &&
                          code.compare(next, 2, "==") != 0 && !before.empty() && is_word(before.back());
    if (type || constant) return true;
  }
  return false;
}

}  // namespace

MemberText member_text(const ProblemInstance& problem, const Candidate& candidate, std::string space,
                       std::string heading) {
  return {.space = std::move(space),
          .heading = std::move(heading),
          .tunables = candidate.tunables,
          .code = without_defaults(without_plan(candidate.source),
                                   frozen_constants(problem, candidate.tunables))};
}

std::string members_source(const std::vector<MemberText>& members) {
  std::vector<std::string> includes;
  std::string texts;
  for (const MemberText& member : members) texts += in_namespace(member, includes);
  std::string text;
  for (const std::string& name : includes) text += fmt::format("#include <{}>\n", name);
  return text + texts;
}

std::string kernel_in_space(const std::string& kernel, const MemberText& member) {
  const std::size_t arguments = std::min(kernel.find('<'), kernel.size());
  std::string name = fmt::format("{}::{}", member.space, kernel.substr(0, arguments));
  const std::string code = blank_comments_and_strings(member.code);
  for (std::size_t at = arguments; at < kernel.size();) {
    std::size_t end = at;
    while (end < kernel.size() && is_word(kernel[end])) ++end;
    if (end == at) {
      name += kernel[at++];
      continue;
    }
    const std::string word = kernel.substr(at, end - at);
    const auto tunable = member.tunables.find(word);
    const bool qualified = is_digit(word.front()) || (at >= 2 && kernel.compare(at - 2, 2, "::") == 0);
    if (tunable != member.tunables.end() && !qualified)
      name += fmt::format("({})", tunable->second);
    else if (!qualified && declares(code, word))
      name += fmt::format("{}::{}", member.space, word);
    else
      name += word;
    at = end;
  }
  return name;
}

}  // namespace ak::codegen
