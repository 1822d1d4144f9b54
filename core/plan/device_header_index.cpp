// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/device_headers.h"

namespace ak {
namespace {

std::string_view trimmed(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  return line.substr(begin, line.find_last_not_of(' ') + 1 - begin);
}

void erase_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

/// The declarations of a header that a `///` comment is in front of, and those after them up to a blank line; of types
/// with the members that hold values.
class Declarations {
 public:
  void read(std::string_view line) {
    const std::string_view all = trimmed(line);
    const std::string_view code = all.starts_with("//") ? all : trimmed(all.substr(0, all.find("//")));
    if (code.starts_with("///") || code.empty()) {
      end_type();
      open_ = !code.empty();
      depth_ = 0;
      pending_.clear();
      indent_ = std::string(
          line.size() - line.substr(std::min(line.find_first_not_of(' '), line.size())).size(), ' ');
    } else if (open_ && !code.starts_with("//") && !code.starts_with("#")) {
      read_code(code);
    }
  }

  [[nodiscard]] std::string text() {
    end_type();
    return text_;
  }

 private:
  void read_code(std::string_view code) {
    const int before = depth_;
    depth_ += static_cast<int>(std::ranges::count(code, '{') - std::ranges::count(code, '}'));
    if (depth_ < 0) open_ = false;
    if (before == 1 && !type_.empty() && code.ends_with(';') &&
        code.find_first_of("(){}") == std::string_view::npos)
      members_ += fmt::format(" {}", code);
    if (before > 0 && depth_ == 0) end_type();
    if (before != 0 || !open_) return;
    pending_ += fmt::format("{}{}", pending_.empty() ? "" : " ", code);
    const std::size_t end =
        std::min(pending_.find(pending_.starts_with("enum") ? ';' : '{'), pending_.find(';'));
    if (end == std::string::npos) return;
    const std::string declaration = pending_.substr(0, end);
    pending_.clear();
    const bool is_type =
        declaration.find("struct ") != std::string::npos || declaration.find("union ") != std::string::npos;
    if (is_type && depth_ == 1)
      type_ = declaration;
    else
      add(declaration);
  }

  void end_type() {
    if (type_.empty()) return;
    add(members_.empty() ? type_ : fmt::format("{} {{{} }}", trimmed(type_), members_));
    type_.clear();
    members_.clear();
  }

  void add(std::string declaration) {
    for (const std::string_view part :
         {"__device__ ", "__forceinline__ ", "static ", "constexpr ", "explicit "})
      erase_all(declaration, part);
    text_ += fmt::format("  {}{}\n", indent_, trimmed(declaration));
  }

  bool open_ = false;
  int depth_ = 0;  ///< of braces, from the comment on
  std::string pending_, type_, members_, indent_, text_;
};

/// The second line of a header: what it is, in one sentence.
std::string_view summary(std::string_view text) {
  const std::size_t begin = text.find("\n// ");
  if (begin == std::string_view::npos) return {};
  const std::size_t from = begin + std::string_view("\n// ").size();
  return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

std::string device_header_index() {
  std::string page;
  for (const EmbeddedFile& header : device_headers()) {
    Declarations declarations;
    std::string_view rest = header.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      declarations.read(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    page += fmt::format("<{}>: {}\n{}", header.name, summary(header.text), declarations.text());
  }
  return page;
}

}  // namespace ak
