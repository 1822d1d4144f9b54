// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/host_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>
#include <set>

#include "codegen/source/assemble.h"
#include "codegen/source/frozen_constants.h"
#include "core/plan/dtype.h"
#include "core/plan/include_scan.h"
#include "core/text/characters.h"

namespace ak::codegen {
namespace {

using Names = std::map<std::string, std::string, std::less<>>;

constexpr int kMaxDepth = 16;                // of definitions by definitions: a chain that long is a circle
constexpr std::size_t kMaxLineBytes = 1000;  // std::regex takes stack in proportion to the line

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

/// Index of the bracket that closes the one at `open`; npos when it never closes.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '{' || text[i] == '[') ++depth;
    if ((text[i] == ')' || text[i] == '}' || text[i] == ']') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::vector<std::string> comma_parts(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && std::string_view("([{").find(text[i]) != std::string_view::npos) ++depth;
    if (i < text.size() && std::string_view(")]}").find(text[i]) != std::string_view::npos) --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const std::string part = trimmed(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
    begin = i + 1;
  }
  return parts;
}

/// Three dimensions where the text has fewer: what `dim3` makes of it.
using Dimensions = std::vector<std::string>;

/// What is in the first brackets of `text`; empty where there are none.
std::string_view in_brackets(std::string_view text) {
  const std::size_t open = text.find_first_of("({");
  const std::size_t close = open == std::string_view::npos ? open : closing(text, open);
  return close == std::string_view::npos ? std::string_view() : text.substr(open + 1, close - open - 1);
}

/// Variables of type dim3 as the statements in front of a launch leave them.
class Dim3Variables {
 public:
  explicit Dim3Variables(std::string_view code) {
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = std::min(code.find(';', at), code.size());
      const std::string_view statement = code.substr(at, end - at);
      if (statement.size() < kMaxLineBytes) read(std::string(statement));
      at = end + 1;
    }
  }

  /// "dim3(a, b)", a variable, or a number.
  [[nodiscard]] Dimensions of(const std::string& text) const {
    if (const auto found = variables_.find(text); found != variables_.end()) return found->second;
    const bool made = text.starts_with("dim3") || text.starts_with("{");
    return comma_parts(with_members(made ? std::string(in_brackets(text)) : text));
  }

  /// `text` with members such as "block.x" replaced by what they are.
  [[nodiscard]] std::string with_members(std::string_view text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      const auto found = variables_.find(text.substr(at, end - at));
      const bool member = found != variables_.end() && text.substr(end, 1) == "." && end + 1 < text.size() &&
                          text[end + 1] >= 'x' && text[end + 1] <= 'z' &&
                          (end + 2 == text.size() || !is_word(text[end + 2]));
      if (member) {
        const auto index = static_cast<std::size_t>(text[end + 1] - 'x');
        result += index < found->second.size() ? fmt::format("({})", found->second[index]) : "1";
        at = end + 2;
        continue;
      }
      end = std::max(end, at + 1);
      result += text.substr(at, end - at);
      at = end;
    }
    return result;
  }

 private:
  /// "dim3 grid(a, b), block = 4", "auto grid = dim3(a)" or "grid.x = a".
  void read(const std::string& statement) {
    static const std::regex declared(R"(\bdim3\s+(?=\w))"), assigned(R"(\b(\w+)\s*=\s*(dim3\s*[({][^=]*)$)"),
        member(R"(\b(\w+)\s*\.\s*([xyz])\s*=\s*([^=]+)$)");
    std::smatch match;
    if (std::regex_search(statement, match, declared)) {
      for (const std::string& one : comma_parts(match.suffix().str())) declare(one);
    } else if (std::regex_search(statement, match, assigned)) {
      variables_[match[1].str()] = of(trimmed(match[2].str()));
    } else if (std::regex_search(statement, match, member)) {
      Dimensions& parts = variables_[match[1].str()];
      const auto index = static_cast<std::size_t>(match[2].str()[0] - 'x');
      if (parts.size() <= index) parts.resize(index + 1, "1");
      parts[index] = with_members(trimmed(match[3].str()));
    }
  }

  /// "grid(a, b)", "grid{a}", "grid = dim3(a)", "grid = a", "grid"
  void declare(const std::string& text) {
    const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_word) - text.begin());
    const std::string name = text.substr(0, end), rest = trimmed(std::string_view(text).substr(end));
    if (rest.starts_with("="))
      variables_[name] = of(trimmed(std::string_view(rest).substr(1)));
    else
      variables_[name] = comma_parts(with_members(in_brackets(rest)));
    if (variables_[name].empty()) variables_[name] = {"1"};
  }

  std::map<std::string, Dimensions, std::less<>> variables_;
};

/// Reads an integer expression of C++ from left to right and writes it for launch plans.
class Translation {
 public:
  Translation(const Names& axes, const Names& definitions) : axes_(axes), definitions_(definitions) {}

  std::optional<std::string> of(std::string_view text, int depth = 0) const {
    std::string written;
    for (std::size_t at = 0; at < text.size();) {
      if (is_word(text[at])) {
        std::size_t end = at;
        while (end < text.size() && (is_word(text[end]) || text.substr(end, 2) == "::"))
          end += is_word(text[end]) ? 1 : 2;
        const auto part = word(text.substr(at, end - at), text, end, depth);
        if (!part) return std::nullopt;
        written += *part;
        at = end;
      } else if (const auto cast = cast_length(text.substr(at)); cast > 0) {
        at += cast;
      } else if (text[at] == '/') {
        written += "//";
        ++at;
      } else if (std::string_view("+-*%(), ").find(text[at]) != std::string_view::npos) {
        written += text[at++];
      } else {
        return std::nullopt;
      }
    }
    return written;
  }

 private:
  /// Of "(int)", "(size_t)"...
  static std::size_t cast_length(std::string_view text) {
    static constexpr std::array kCasts{"(int)", "(unsigned)", "(unsigned int)", "(size_t)", "(long long)"};
    const auto* found =
        std::ranges::find_if(kCasts, [&](const char* cast) { return text.starts_with(cast); });
    return found == kCasts.end() ? 0 : std::string_view(*found).size();
  }

  /// @param end where the rest of `text` begins, moved past what belongs to the word
  std::optional<std::string> word(std::string_view name, std::string_view text, std::size_t& end,
                                  int depth) const {
    if (is_digit(name.front())) return number(name);
    if (const auto axis = axes_.find(name); axis != axes_.end()) return axis->second;
    if (name == "sizeof") return size_of(text, end);
    if (text.substr(end, 1) == "(") return function(name);
    const auto definition = definitions_.find(name);
    if (definition == definitions_.end() || depth >= kMaxDepth) return std::nullopt;
    const auto value = of(definition->second, depth + 1);
    if (!value || std::ranges::all_of(*value, is_digit)) return value;
    return fmt::format("({})", *value);
  }
  static std::optional<std::string> number(std::string_view name) {
    std::int64_t value = 0;
    const auto [rest, status] = std::from_chars(name.data(), name.data() + name.size(), value);
    const std::string_view suffix(rest, static_cast<std::size_t>(name.data() + name.size() - rest));
    if (status != std::errc() || suffix.find_first_not_of("uUlL") != std::string_view::npos)
      return std::nullopt;
    return std::to_string(value);
  }
  static std::optional<std::string> size_of(std::string_view text, std::size_t& end) {
    const std::size_t close = text.substr(end, 1) == "(" ? closing(text, end) : std::string_view::npos;
    if (close == std::string_view::npos) return std::nullopt;
    const std::string type = trimmed(text.substr(end + 1, close - end - 1));
    end = close + 1;
    for (const DTypeInfo& known : dtypes()) {
      if (known.cuda_type == type) return std::to_string(known.bytes);
    }
    return std::nullopt;
  }
  static std::optional<std::string> function(std::string_view name) {
    static constexpr std::array kDivisions{"ceil_div", "ceildiv",  "cdiv",   "div_up",
                                           "divup",    "CEIL_DIV", "DIV_UP", "CDIV"};
    if (name == "min" || name == "std::min") return "min";
    if (name == "max" || name == "std::max") return "max";
    const bool division = std::ranges::find(kDivisions, name) != kDivisions.end();
    return division ? std::optional<std::string>("ceil_div") : std::nullopt;
  }

  const Names& axes_;
  const Names& definitions_;
};

/// One declaration, function or directive at the outermost level; offsets into the file.
struct Item {
  std::size_t begin = 0, end = 0;
  std::string code;  ///< comments and strings blanked
};

/// Past the directive at `at`, with its continued lines.
std::size_t directive_end(std::string_view code, std::size_t at) {
  for (;;) {
    const std::size_t end = code.find('\n', at);
    if (end == std::string_view::npos) return code.size();
    if (end == 0 || code[end - 1] != '\\') return end + 1;
    at = end + 1;
  }
}

/// "namespace x {", 'extern "C" {': what is inside are items, too.
bool opens_scope(std::string_view head) {
  const std::string text = trimmed(head);
  return text.starts_with("namespace") || text == "extern" ||
         (text.starts_with("extern") && text.find('(') == std::string::npos);
}

std::vector<Item> items_of(std::string_view code) {
  std::vector<Item> items;
  std::size_t begin = 0, at = 0;
  const auto close_item = [&](std::size_t end) {
    items.push_back({begin, end, std::string(code.substr(begin, end - begin))});
    begin = at = end;
  };
  while (at < code.size()) {
    const bool fresh = trimmed(code.substr(begin, at - begin)).empty();
    if (code[at] == '#' && fresh) {
      close_item(directive_end(code, at));
    } else if (code[at] == ';' || (code[at] == '}' && fresh) ||
               (code[at] == '{' && opens_scope(code.substr(begin, at - begin)))) {
      close_item(at + 1);
    } else if (code[at] == '(') {
      at = std::min(closing(code, at), code.size() - 1) + 1;
    } else if (code[at] == '{') {
      const std::size_t end = std::min(closing(code, at), code.size() - 1) + 1;
      const std::size_t next = std::min(code.find_first_not_of(" \t\r\n", end), code.size());
      const bool statement =
          next < code.size() && (code[next] == ';' || code[next] == '=' || code[next] == ',');
      at = end;
      if (!statement) close_item(end);
    } else {
      ++at;
    }
  }
  if (begin < code.size()) close_item(code.size());
  return items;
}

constexpr std::array<std::string_view, 7> kRuntimeHeaders{
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h", "cstdio", "stdio.h", "cstdlib",
    "stdlib.h"};

bool is_directive(const Item& item) { return trimmed(item.code).starts_with("#"); }

/// Headers that stay in the copy: what candidates may include.
bool is_kept_include(const IncludeLine& include) {
  return is_toolkit_header(include.name) &&
         std::ranges::find(kRuntimeHeaders, include.name) == kRuntimeHeaders.end();
}

/// Whether the device has a use for a directive: macros of host code are words that candidates may not have.
bool is_device_directive(const Item& item, const std::string& text) {
  const auto includes = scan_includes(text);
  if (!includes.empty()) return std::ranges::all_of(includes, is_kept_include);
  return !trimmed(item.code).starts_with("#define") || host_mistake(item.code) == nullptr;
}

bool uses_host_namespace(const std::string& code) {
  static const std::regex text(R"(^\s*using\s+namespace\s+(torch|at|c10)\b[\s\S]*)");
  return code.size() < kMaxLineBytes && std::regex_match(code, text);
}

/// The name of a function that is defined or declared; empty for other items.
std::string function_name(const std::string& code) {
  static constexpr std::array kOthers{"struct", "class", "enum", "union", "using", "typedef", "namespace"};
  std::string head = trimmed(code);
  if (head.starts_with("template")) {
    const std::size_t close = head.find('>');
    head = close == std::string::npos ? head : trimmed(head.substr(close + 1));
  }
  for (const char* other : kOthers) {
    if (head.starts_with(other)) return "";
  }
  const std::size_t open = head.find('(');
  if (open == std::string::npos || head.substr(0, open).find('=') != std::string::npos) return "";
  std::size_t end = open;
  while (end > 0 && head[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(head[begin - 1])) --begin;
  return head.substr(begin, end - begin);
}

bool is_device(const std::string& code) {
  return mentions(code, "__global__") || mentions(code, "__device__") || mentions(code, "__constant__");
}

/// Which items the device needs: its functions, what they mention, and everything that is neither a function nor
/// of the host.
std::vector<bool> needed_items(const std::vector<Item>& items, const std::vector<std::string>& texts) {
  std::vector<bool> needed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string& code = items[i].code;
    needed.push_back(is_directive(items[i])
                         ? is_device_directive(items[i], texts[i])
                         : is_device(code) || (function_name(code).empty() && !host_mistake(code) &&
                                               !uses_host_namespace(code)));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string name = needed[i] ? "" : function_name(items[i].code);
      if (name.empty() || host_mistake(items[i].code)) continue;
      for (std::size_t j = 0; j < items.size() && !needed[i]; ++j)
        needed[i] = needed[j] && !is_directive(items[j]) && mentions(items[j].code, name);
      changed = changed || needed[i];
    }
  }
  return needed;
}

}  // namespace

std::map<std::string, std::string, std::less<>> host_definitions(std::string_view source) {
  static const std::regex variable(
      R"((?:^|[;{}(]|\s)(?:(?:static|const|constexpr|unsigned|long|inline)\s+)*(?:int|size_t|unsigned|long|auto|float|double|uint32_t|int64_t|dim3)\s+(\w+)\s*=\s*([^;]+);)");
  static const std::regex macro(R"(^\s*#\s*define\s+(\w+)\s+(\S.*)$)");
  Names found;
  std::set<std::string> repeated;
  const std::string code = blank_comments_and_strings(source);
  std::size_t at = 0;
  while (at < code.size()) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const std::string line = code.substr(at, end - at);
    at = end + 1;
    if (line.size() > kMaxLineBytes) continue;
    const auto add = [&](const std::smatch& match) {
      const std::string name = match[1], value = trimmed(match[2].str());
      if (const auto [row, fresh] = found.emplace(name, value); !fresh && row->second != value)
        repeated.insert(name);
    };
    std::smatch match;
    if (std::regex_match(line, match, macro)) add(match);
    for (auto one = std::sregex_iterator(line.begin(), line.end(), variable); one != std::sregex_iterator();
         ++one)
      add(*one);
  }
  for (const std::string& name : repeated) found.erase(name);
  return found;
}

std::optional<HostLaunch> find_launch(std::string_view source, std::string_view kernel) {
  const std::string code = blank_comments_and_strings(source);
  for (std::size_t at = code.find("<<<"); at != std::string::npos; at = code.find("<<<", at + 3)) {
    std::size_t begin = std::min(code.find_last_of(";{}", at), at);
    const std::string head =
        trimmed(std::string_view(code).substr(begin == at ? 0 : begin + 1, at - begin - 1));
    if (!mentions(head, kernel)) continue;
    const std::size_t end = code.find(">>>", at), open = end == std::string::npos ? end : code.find('(', end);
    const std::size_t close = open == std::string::npos ? open : closing(code, open);
    if (close == std::string::npos) continue;
    HostLaunch launch;
    const std::size_t angle = head.find('<', head.find(kernel));
    if (angle != std::string::npos)
      launch.template_arguments =
          comma_parts(std::string_view(head).substr(angle + 1, head.rfind('>') - angle - 1));
    const auto configuration = comma_parts(std::string_view(code).substr(at + 3, end - at - 3));
    if (configuration.size() < 2) continue;
    const Dim3Variables variables(std::string_view(code).substr(0, begin == at ? 0 : begin + 1));
    launch.grid = variables.of(configuration[0]);
    launch.block = variables.of(configuration[1]);
    if (configuration.size() > 2 && configuration[2] != "0")
      launch.shared_bytes = variables.with_members(configuration[2]);
    launch.arguments =
        comma_parts(variables.with_members(std::string_view(code).substr(open + 1, close - open - 1)));
    launch.line =
        1 + static_cast<int>(std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    return launch;
  }
  return std::nullopt;
}

std::optional<std::string> plan_expression(std::string_view text, const Names& axes,
                                           const Names& definitions) {
  return Translation(axes, definitions).of(text);
}

std::vector<std::string> unknown_includes(std::string_view source) {
  std::vector<std::string> names;
  for (const IncludeLine& include : scan_includes(source))
    if (!is_toolkit_header(include.name) && !is_host_header(include.name)) names.push_back(include.name);
  return names;
}

std::string device_code(std::string_view source) {
  const std::string code = blank_comments_and_strings(source);
  const std::vector<Item> items = items_of(code);
  std::vector<std::string> texts;
  for (const Item& item : items) texts.emplace_back(source.substr(item.begin, item.end - item.begin));
  const std::vector<bool> needed = needed_items(items, texts);
  std::string kept;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (needed[i]) kept += texts[i];
  }
  if (!kept.ends_with('\n')) kept += '\n';
  return kept;
}

}  // namespace ak::codegen
