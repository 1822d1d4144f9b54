// SPDX-License-Identifier: Apache-2.0
#include "core/plan/device_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/plan/include_scan.h"
#include "core/text/line_diff.h"
#include "device_header_files.h"

namespace ak {
namespace {

constexpr std::string_view kHeaderFolder = "ak/";
constexpr std::string_view kTextMarker = "// ---- ak/";  ///< begins the line in front of a header's text

constexpr std::string_view kTextsEnd = "// ---- end of the device headers";

std::string_view text_of(std::string_view name) {
  const auto found = std::ranges::find(device_headers(), name, &EmbeddedFile::name);
  return found == device_headers().end() ? std::string_view() : found->text;
}

/// Puts headers behind those that they include.
class Collector {
 public:
  explicit Collector(std::string_view source) : source_(source) {}

  void add_includes_of(std::string_view text, bool is_header) {
    for (const IncludeLine& include : scan_includes(text)) {
      if (is_device_header(include.name))
        add(include.name);
      else if (is_header && toolkit_.insert(include.name).second)
        includes_ += fmt::format("#include <{}>\n", include.name);
    }
  }

  [[nodiscard]] std::string text() const {
    return texts_.empty() ? "" : fmt::format("{}{}{}\n", includes_, texts_, kTextsEnd);
  }

 private:
  void add(const std::string& name) {
    const std::string_view text = text_of(name);
    const std::string marker = std::string(kTextMarker) + name.substr(kHeaderFolder.size()) + "\n";
    if (text.empty() || source_.find(marker) != std::string_view::npos || !added_.insert(name).second) return;
    add_includes_of(text, true);
    texts_ += marker + without_directives(text);
  }

  /// Blank lines in place of what has no place inside another file, so that lines keep their numbers.
  static std::string without_directives(std::string_view text) {
    std::set<int> blank;
    for (const IncludeLine& include : scan_includes(text)) blank.insert(include.line);
    std::string result;
    int number = 0;
    for (const std::string_view line : lines_of(text))
      result += fmt::format("{}\n", blank.contains(++number) || line == "#pragma once" ? "" : line);
    return result;
  }

  std::string_view source_;
  std::set<std::string> added_, toolkit_;
  std::string includes_, texts_;
};

/// `// ---- ak/tma.cuh` lines become #line directives.
std::string with_line_numbers(std::string_view headers) {
  std::string result;
  for (const std::string_view line : lines_of(headers)) {
    if (line.starts_with(kTextMarker))
      result += fmt::format("#line 1 \"{}{}\"\n", kHeaderFolder, line.substr(kTextMarker.size()));
    else
      result += fmt::format("{}\n", line);
  }
  return result;
}

}  // namespace

std::span<const EmbeddedFile> device_headers() { return device_header_files(); }

bool is_device_header(std::string_view name) { return name.starts_with(kHeaderFolder); }

std::string device_header_text(std::string_view source) {
  Collector collector(source);
  collector.add_includes_of(source, false);
  return collector.text();
}

std::string with_device_headers(std::string_view source, std::string_view headers,
                                std::string_view file_name) {
  std::set<int> removed;
  int first = 0;
  for (const IncludeLine& include : scan_includes(source)) {
    if (!include.top_level || !is_device_header(include.name)) continue;
    if (first == 0) first = include.line;
    for (int line = include.line; line <= include.last_line; ++line) removed.insert(line);
  }
  if (first == 0) return std::string(source);
  std::string result;
  int number = 0;
  for (const std::string_view line : lines_of(source)) {
    ++number;
    if (number == first) result += file_name.empty() ? std::string(headers) : with_line_numbers(headers);
    if (number == first && !file_name.empty()) result += fmt::format("#line {} \"{}\"\n", number, file_name);
    if (!removed.contains(number))
      result += fmt::format("{}\n", line);
    else if (!file_name.empty())
      result += "\n";
  }
  return result;
}

int end_of_device_headers(std::string_view source) {
  int number = 0, end = 0;
  for (const std::string_view line : lines_of(source)) {
    ++number;
    if (line == kTextsEnd) end = number;
  }
  return end;
}

int end_of_includes(std::string_view source) {
  int last = end_of_device_headers(source);
  for (const IncludeLine& include : scan_includes(source))
    if (include.top_level) last = std::max(last, include.last_line);
  return last;
}

std::string blank_device_headers(std::string_view source) {
  std::string result;
  bool inside = false;
  for (const std::string_view line : lines_of(source)) {
    inside = inside || line.starts_with(kTextMarker);
    result += fmt::format("{}\n", inside ? "" : line);
    if (line == kTextsEnd) inside = false;
  }
  return result;
}

}  // namespace ak
