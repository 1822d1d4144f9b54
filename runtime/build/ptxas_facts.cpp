// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/ptxas_facts.h"

#include "core/text/characters.h"

#include <array>
#include <cctype>
#include <charconv>
#include <optional>

namespace ak::runtime {
namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// The number right before `unit`: 24 in "... 24 bytes spill stores" for " bytes spill stores".
int number_before(std::string_view line, std::string_view unit) {
  const std::size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && is_digit(line[begin - 1])) --begin;
  return parse_int(line.substr(begin, at - begin)).value_or(0);
}

std::string_view between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + before.size());
  return line.substr(0, line.find(after));
}

int constant_bytes(std::string_view line) {
  int total = 0;
  for (std::size_t at = line.find(" bytes cmem["); at != std::string_view::npos;
       at = line.find(" bytes cmem[")) {
    total += number_before(line, " bytes cmem[");
    line.remove_prefix(at + 1);
  }
  return total;
}

void read_usage(std::string_view line, KernelFacts& kernel) {
  kernel.registers = number_before(line, " registers");
  kernel.barriers = number_before(line, " barriers");
  kernel.static_shared_bytes = number_before(line, " bytes smem");
  kernel.constant_bytes = constant_bytes(line);
}

void read_memory(std::string_view line, KernelFacts& kernel) {
  kernel.stack_bytes = number_before(line, " bytes stack frame");
  kernel.spill_store_bytes = number_before(line, " bytes spill stores");
  kernel.spill_load_bytes = number_before(line, " bytes spill loads");
}

// The text from the name of the kernel's .entry on.
std::string_view find_entry(std::string_view ptx, std::string_view name) {
  constexpr std::string_view kEntry = ".entry ";
  for (std::size_t at = ptx.find(kEntry); at != std::string_view::npos; at = ptx.find(kEntry)) {
    ptx.remove_prefix(at + kEntry.size());
    if (!ptx.starts_with(name) || ptx.size() == name.size()) continue;
    const char next = ptx[name.size()];
    if (next == '(' || next == '\n' || next == '\r' || next == ' ') return ptx;
  }
  return {};
}

// "u64" of ".param .u64 .ptr .global .align 4 k_param_0", "b8[128]" of ".param .align 64 .b8 k_param_1[128]".
std::string parameter_type(std::string_view declaration) {
  std::string type;
  for (std::string_view rest = declaration; !rest.empty();) {
    const std::size_t begin = rest.find('.');
    if (begin == std::string_view::npos) break;
    rest.remove_prefix(begin + 1);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t\n,"));
    constexpr std::string_view kKinds = "usfb";
    if (word.size() >= 2 && kKinds.find(word[0]) != std::string_view::npos && is_digit(word[1])) {
      type = word;
      break;
    }
  }
  const std::size_t bracket = declaration.rfind('[');
  if (bracket != std::string_view::npos)
    type += declaration.substr(bracket, declaration.find(']', bracket) + 1 - bracket);
  return type;
}

std::vector<std::string> parameter_types(std::string_view list) {
  std::vector<std::string> types;
  while (list.find(".param") != std::string_view::npos) {
    const std::size_t comma = list.find(',');
    types.push_back(parameter_type(list.substr(0, comma)));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return types;
}

int max_threads(std::string_view directives) {
  constexpr std::string_view kDirective = ".maxntid ";
  const std::size_t at = directives.find(kDirective);
  if (at == std::string_view::npos) return 0;
  std::string_view line = directives.substr(at + kDirective.size());
  line = line.substr(0, line.find('\n'));
  int product = 1;
  while (!line.empty()) {
    while (!line.empty() && !is_digit(line.front())) line.remove_prefix(1);
    if (const auto value = parse_int(line)) product *= *value;
    while (!line.empty() && is_digit(line.front())) line.remove_prefix(1);
  }
  return product;
}

}  // namespace

void read_ptxas_report(std::string_view log, KernelFacts& kernel) {
  bool compiling = false, properties = false;
  while (!log.empty()) {
    const std::string_view line = take_line(log);
    if (const auto name = between(line, "Compiling entry function '", "'"); !name.empty()) {
      compiling = name == kernel.lowered_name;
    } else if (const auto function = between(line, "Function properties for ", " "); !function.empty()) {
      properties = function == kernel.lowered_name;
    } else if (properties && line.find(" bytes stack frame") != std::string_view::npos) {
      read_memory(line, kernel);
    } else if (compiling && line.find("Used ") != std::string_view::npos &&
               line.find(" registers") != std::string_view::npos) {
      read_usage(line, kernel);
    }
  }
}

bool read_entry(std::string_view ptx, KernelFacts& kernel) {
  const std::string_view entry = find_entry(ptx, kernel.lowered_name);
  const std::size_t open = entry.find('('), close = entry.find(')'), body = entry.find('{');
  if (open == std::string_view::npos || close == std::string_view::npos || body == std::string_view::npos)
    return false;
  // A kernel without parameters has no list: the first parenthesis is then inside the body.
  if (open < body) kernel.parameter_types = parameter_types(entry.substr(open, close - open));
  kernel.max_threads = max_threads(entry.substr(0, body));
  return true;
}

bool is_ptxas_report(std::string_view line) {
  constexpr std::array kStarts{"ptxas info ", "ptxas         . "};
  for (const std::string_view start : kStarts)
    if (line.starts_with(start)) return true;
  return false;
}

}  // namespace ak::runtime
