// SPDX-License-Identifier: Apache-2.0
#include "core/plan/include_scan.h"

#include "core/text/characters.h"

#include <algorithm>
#include <array>

namespace ak {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Copies `source`, writing blanks for what is inside comments and literals. Newlines stay, so lines
/// keep their number.
class Blanker {
 public:
  Blanker(std::string_view source, bool keep_include_names)
      : source_(source), text_(source), keep_names_(keep_include_names) {}

  std::string run() {
    // Nothing else begins what is blanked: most characters are passed over here.
    while ((at_ = source_.find_first_of("/R\"'", at_)) < source_.size()) step();
    return std::move(text_);
  }

 private:
  [[nodiscard]] bool looking_at(std::string_view token) const {
    return source_.substr(at_, token.size()) == token;
  }

  void blank_until(std::size_t end) {
    end = std::min(end, source_.size());
    for (; at_ < end; ++at_) {
      if (source_[at_] != '\n') text_[at_] = ' ';
    }
  }

  void step() {
    if (looking_at("//")) return blank_line_comment();
    if (looking_at("/*")) {
      const std::size_t end = source_.find("*/", at_ + 2);
      return blank_until(end == std::string_view::npos ? source_.size() : end + 2);
    }
    if (looking_at("R\"") && (at_ == 0 || !is_word(source_[at_ - 1]) || is_string_prefix()))
      return blank_raw_string();
    if (source_[at_] == '"') return keep_names_ && on_include_line() ? skip_quoted() : blank_quoted('"');
    if (source_[at_] == '\'' && (at_ == 0 || !is_word(source_[at_ - 1]))) return blank_quoted('\'');
    ++at_;
  }

  [[nodiscard]] bool is_string_prefix() const {
    const char before = source_[at_ - 1];
    return before == 'u' || before == 'U' || before == 'L' || before == '8';
  }

  /// A line comment continues past a backslash at the end of the line.
  void blank_line_comment() {
    std::size_t end = source_.find('\n', at_);
    while (end != std::string_view::npos && end > 0 && source_[end - 1] == '\\')
      end = source_.find('\n', end + 1);
    blank_until(end);
  }

  void blank_raw_string() {
    const std::size_t open = source_.find('(', at_);
    if (open == std::string_view::npos) return blank_until(source_.size());
    const std::string close = ")" + std::string(source_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t end = source_.find(close, open);
    blank_until(end == std::string_view::npos ? source_.size() : end + close.size());
  }

  void blank_quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote && source_[end] != '\n')
      end += source_[end] == '\\' ? 2 : 1;
    blank_until(end + 1);
  }

  void skip_quoted() {
    const std::size_t end = source_.find_first_of("\"\n", at_ + 1);
    at_ = end == std::string_view::npos ? source_.size() : end + 1;
  }

  [[nodiscard]] bool on_include_line() const {
    std::size_t begin = source_.rfind('\n', at_);
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    const std::string_view line = source_.substr(begin, at_ - begin);
    return line.find("include") != std::string_view::npos || line.find("embed") != std::string_view::npos;
  }

  std::string_view source_;
  std::string text_;
  bool keep_names_;
  std::size_t at_ = 0;
};

/// One preprocessor directive with its splices undone.
struct Directive {
  std::string text;  ///< after the '#', blanks trimmed at the front
  int line = 0, last_line = 0;
};

std::size_t skip_hash(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && is_space(line[at])) ++at;
  for (const std::string_view hash : {std::string_view("#"), std::string_view("%:"),
                                      std::string_view("?"
                                                       "?=")}) {
    if (line.substr(at, hash.size()) == hash) return at + hash.size();
  }
  return std::string_view::npos;
}

std::vector<Directive> directives(std::string_view text) {
  std::vector<Directive> found;
  int line = 0;
  while (!text.empty()) {
    std::string logical;
    const int first = ++line;
    for (;;) {
      const std::size_t end = text.find('\n');
      std::string_view physical = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      while (!physical.empty() && physical.back() == '\r') physical.remove_suffix(1);
      const bool spliced = !physical.empty() && physical.back() == '\\' && !text.empty();
      logical += spliced ? physical.substr(0, physical.size() - 1) : physical;
      if (!spliced) break;
      ++line;
    }
    const std::size_t after = skip_hash(logical);
    if (after == std::string::npos) continue;
    const std::size_t word = logical.find_first_not_of(" \t", after);
    found.push_back({word == std::string::npos ? "" : logical.substr(word), first, line});
  }
  return found;
}

std::string include_name(const std::string& rest) {
  const std::size_t open = rest.find_first_not_of(" \t");
  if (open == std::string::npos) return "";
  const char close = rest[open] == '<' ? '>' : rest[open] == '"' ? '"' : '\0';
  if (close == '\0') return "";
  const std::size_t end = rest.find(close, open + 1);
  return end == std::string::npos ? "" : rest.substr(open + 1, end - open - 1);
}

}  // namespace

std::vector<IncludeLine> scan_includes(std::string_view source) {
  constexpr std::array<std::string_view, 4> kWords{"include_next", "include", "import", "embed"};
  std::vector<IncludeLine> includes;
  int depth = 0;
  for (const Directive& directive : directives(Blanker(source, true).run())) {
    if (directive.text.rfind("if", 0) == 0) ++depth;
    if (directive.text.rfind("endif", 0) == 0) --depth;
    for (const std::string_view word : kWords) {
      if (directive.text.rfind(word, 0) != 0) continue;
      includes.push_back({include_name(directive.text.substr(word.size())), directive.line,
                          directive.last_line, depth == 0});
      break;
    }
  }
  return includes;
}

std::string blank_comments_and_strings(std::string_view source) { return Blanker(source, false).run(); }

std::size_t offset_behind_line(std::string_view text, int line) {
  std::size_t at = 0;
  for (int i = 0; i < line; ++i) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  return at;
}

}  // namespace ak
