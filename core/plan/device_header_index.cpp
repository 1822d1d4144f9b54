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

/// The declarations of a header that a `///` comment is in front of, and those after them up to a blank line.
class Declarations {
 public:
  void read(std::string_view line) {
    const std::string_view code = trimmed(line);
    if (code.starts_with("///")) {
      open_ = true;
      depth_ = 0;
      pending_.clear();
    } else if (code.empty()) {
      open_ = false;
    } else if (open_ && !code.starts_with("//") && !code.starts_with("#")) {
      read_code(code);
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void read_code(std::string_view code) {
    const bool declares = depth_ == 0;
    depth_ += static_cast<int>(std::ranges::count(code, '{') - std::ranges::count(code, '}'));
    if (depth_ < 0) open_ = false;
    if (!declares || !open_) return;
    pending_ += fmt::format("{}{}", pending_.empty() ? "" : " ", code);
    const bool is_enum = pending_.starts_with("enum");
    const std::size_t end = pending_.find(is_enum ? ";" : "{");
    const std::size_t close = std::min(end, pending_.find(';'));
    if (close == std::string::npos) return;
    add(pending_.substr(0, close));
    pending_.clear();
  }

  void add(std::string declaration) {
    for (const std::string_view part : {"__device__ ", "__forceinline__ ", "static ", "constexpr "})
      erase_all(declaration, part);
    text_ += fmt::format("  {}\n", trimmed(declaration));
  }

  bool open_ = false;
  int depth_ = 0;  ///< of braces, from the comment on
  std::string pending_, text_;
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
