// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/precompiled_headers.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "core/text/hash.h"

namespace ak::runtime {
namespace {

// Headers whose parsing takes most of a compilation (cooperative_groups.h 0.7 s, cuda/barrier 0.8 s, measured
// with NVRTC 13.0); a precompiled one costs 0.1 s to load, so cheap headers stay as they are.
constexpr std::array<std::string_view, 6> kCostly{"cooperative_groups", "cuda/",  "cub/", "cuda_fp",
                                                  "cuda_bf16",          "thrust/"};
// A file has 100 to 150 MB.
constexpr std::size_t kKept = 2;

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view{} : text.substr(begin, end - begin + 1);
}

// "define" and "AK_N 1" of "#  define AK_N 1".
std::pair<std::string_view, std::string_view> directive(std::string_view line) {
  line = trim(line);
  if (!line.starts_with('#')) return {};
  line = trim(line.substr(1));
  const std::size_t end = std::min(line.find_first_of(" \t<\""), line.size());
  return {line.substr(0, end), trim(line.substr(end))};
}

bool is_costly(std::string_view name) {
  return std::ranges::any_of(kCostly, [&](std::string_view start) { return name.starts_with(start); });
}

std::string_view included_name(std::string_view operand) {
  if (operand.size() < 3 || (operand[0] != '<' && operand[0] != '"')) return {};
  const std::string_view name = operand.substr(1, operand.find(operand[0] == '<' ? '>' : '"', 1) - 1);
  const bool plain =
      name.find_first_of("\"<>\\") == std::string_view::npos && name.find("..") == std::string_view::npos;
  return plain ? name : std::string_view{};
}

// The same text without /* */ comments, so that a directive inside one does not count.
std::string without_block_comments(std::string_view source) {
  std::string result;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t begin = source.find("/*", at);
    result += source.substr(at, begin == std::string_view::npos ? std::string_view::npos : begin - at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = source.find("*/", begin + 2);
    if (end == std::string_view::npos) break;
    at = end + 2;
  }
  return result;
}

std::string prefix_key(const TranslationUnit& unit, const std::string& includes) {
  std::string text = includes + '\0' + unit.file_name + '\0' + unit.arch.sm();
  for (const auto& option : unit.options) text += '\0' + option;
  for (const auto& [name, content] : unit.headers) text += '\0' + name + '\0' + content;
  return sha256_hex(text).substr(0, 16);
}

}  // namespace

std::vector<std::string> costly_includes(std::string_view source) {
  const std::string text = without_block_comments(source);
  std::vector<std::string> includes;
  int depth = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto [word, operand] = directive(line);
    if (word.starts_with("if")) ++depth;
    if (word == "endif") --depth;
    const bool ours = operand.starts_with("AK_") || operand.starts_with("ALPHAKERNEL");
    if ((word == "define" || word == "undef") && !ours) break;
    if (word != "include" || depth != 0) continue;
    if (const auto name = included_name(operand); is_costly(name)) includes.emplace_back(name);
  }
  return includes;
}

std::optional<PchPrefix> PrecompiledHeaders::prefix_for(const TranslationUnit& unit) {
  const std::string includes = include_lines(unit);
  if (includes.empty() || unit.file_name.find_first_of("\"\\\n") != std::string::npos) return std::nullopt;
  const auto folder = folder_of(prefix_key(unit, includes));
  if (folder.empty()) return std::nullopt;
  PchPrefix prefix;
  prefix.text = fmt::format("{}#pragma nv_hdrstop\n#line 1 \"{}\"\n", includes, unit.file_name);
  // 20283: "PCH creation disabled because #line directive encountered", said of the line after
  // the header's end.
  prefix.options = {"--pch", "--pch-dir=" + folder.string(), "--pch-messages=false", "--pch-verbose=false",
                    "-diag-suppress=20283"};
  return prefix;
}

// A header that does not exist is left for the compiler to find, on the candidate's own line.
std::string PrecompiledHeaders::include_lines(const TranslationUnit& unit) const {
  std::string lines;
  for (const auto& name : costly_includes(unit.source)) {
    const bool exists =
        std::ranges::any_of(unit.headers, [&](const auto& header) { return header.first == name; }) ||
        std::ranges::any_of(include_dirs_, [&](const auto& folder) {
          std::error_code error;
          return std::filesystem::exists(folder / name, error);
        });
    if (exists) lines += fmt::format("#include <{}>\n", name);
  }
  return lines;
}

std::filesystem::path PrecompiledHeaders::folder_of(const std::string& key) {
  std::error_code error;
  if (const auto known = std::ranges::find(recent_, key); known != recent_.end()) recent_.erase(known);
  while (recent_.size() >= kKept) {
    std::filesystem::remove_all(folder_ / recent_.front(), error);
    recent_.pop_front();
  }
  std::filesystem::create_directories(folder_ / key, error);
  if (error) return {};
  recent_.push_back(key);
  return folder_ / key;
}

}  // namespace ak::runtime
