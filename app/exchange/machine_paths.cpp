// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/machine_paths.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace ak::app {
namespace {

constexpr std::string_view kPath = "[path]";
// Folders at the root of Unix systems and clusters: below one of them two names are a path already.
constexpr std::array<std::string_view, 27> kRoots{
    "home", "Users",  "root", "tmp",     "var",      "mnt",    "media",   "opt",     "srv",
    "etc",  "usr",    "data", "work",    "run",      "users",  "private", "scratch", "local",
    "nfs",  "lustre", "gpfs", "project", "projects", "global", "proc",    "ceph",    "Volumes"};
// Of files whose names say what a text is about; any other may be a person's.
constexpr std::array<std::string_view, 27> kExtensions{
    "cu", "cuh", "ptx",  "cubin", "fatbin", "c",   "cc",   "cpp", "cxx", "h",   "hpp", "inl", "o", "so",
    "a",  "py",  "json", "jsonl", "md",     "txt", "toml", "yml", "csv", "log", "out", "db",  "sh"};

bool is_alnum_byte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Quotation marks, dashes and spaces of U+2000 to U+206F.
bool is_punctuation(std::string_view text) {
  return text.starts_with("\xe2\x80") || text.starts_with("\xe2\x81");
}

/// At text[at] a name goes on.
bool is_in_name(std::string_view text, std::size_t at) {
  constexpr std::string_view kOther = "._+@%~-";
  if (at >= text.size() || is_punctuation(text.substr(at))) return false;
  return is_alnum_byte(text[at]) || static_cast<unsigned char>(text[at]) >= 0x80 ||
         kOther.find(text[at]) != std::string_view::npos;
}

std::size_t end_of_strokes(std::string_view text, std::size_t at) {
  while (at < text.size() && text[at] == '/') ++at;
  return at;
}

/// `before` ends with ESC [ 1 m, whose ESC may be written out.
bool ends_with_colour(std::string_view before) {
  if (before.empty() || before.back() != 'm') return false;
  const std::size_t open = before.find_last_not_of("0123456789;:", before.size() - 2);
  if (before.size() < 2 || open == std::string_view::npos || before[open] != '[') return false;
  return open + 2 < before.size() || (open > 0 && before[open - 1] == '\x1b');
}

/// `before` ends with \n as sources write it, or with \u2018.
bool ends_with_escape(std::string_view before) {
  constexpr std::size_t kUnicode = 6;
  if (before.size() >= 2 && before[before.size() - 2] == '\\') return true;
  return before.size() >= kUnicode && before.substr(before.size() - kUnicode).starts_with("\\u");
}

/// Of a compiler: -I and -L, with no space behind.
bool ends_with_option(std::string_view before) {
  if (!before.ends_with("-I") && !before.ends_with("-L")) return false;
  return before.size() == 2 || !is_in_name(before, before.size() - 3);
}

/// A path may begin behind `before`: no operand of a division, no scheme of an address is its end.
/// @param known its first name is one of kRoots: operands are rarely called that
bool may_begin(std::string_view before, bool known) {
  constexpr std::string_view kBefore = " \t\r\n\"'`=:([{<>,;|!", kInNames = "._";
  if (before.empty() || kBefore.find(before.back()) != std::string_view::npos) return true;
  if (before.size() >= 3 && is_punctuation(before.substr(before.size() - 3))) return true;
  if (ends_with_colour(before) || ends_with_escape(before) || ends_with_option(before)) return true;
  const char last = before.back();
  return known && !is_alnum_byte(last) && static_cast<unsigned char>(last) < 0x80 &&
         kInNames.find(last) == std::string_view::npos;
}

struct FoundPath {
  std::size_t begin = 0, end = 0;
  std::string_view file;  ///< its last name, where that is one of a file in folders
};

struct Names {
  std::size_t count = 0, end = 0;
  std::string_view first, last;
  bool is_folder = false;  ///< a stroke is at the end
};

Names names_at(std::string_view text, std::size_t at) {
  Names names;
  for (std::size_t begin = end_of_strokes(text, at); begin > at && is_in_name(text, begin);
       begin = end_of_strokes(text, at)) {
    for (at = begin; is_in_name(text, at);) ++at;
    names.last = text.substr(begin, at - begin);
    if (++names.count == 1) names.first = names.last;
  }
  const std::size_t behind = end_of_strokes(text, at);
  names.is_folder = names.count > 0 && behind > at;
  names.end = names.is_folder ? behind : at;
  return names;
}

/// @param least names to be in folders
std::string_view file_of(const Names& names, std::size_t least) {
  const std::size_t dot = names.last.rfind('.');
  if (names.is_folder || names.count < least || dot == std::string_view::npos || dot == 0) return {};
  const bool known = std::ranges::find(kExtensions, names.last.substr(dot + 1)) != kExtensions.end();
  return known ? names.last : std::string_view();
}

/// At the first of the strokes.
std::optional<FoundPath> path_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const Names names = names_at(text, at);
  const bool known = std::ranges::find(kRoots, names.first) != kRoots.end();
  const std::size_t strokes = end_of_strokes(text, at) - at;
  if (before.ends_with("mailbox:") && names.count > 0)
    return FoundPath{.begin = at, .end = names.end, .file = {}};
  const bool is_file_url = before.ends_with("file:");
  const bool is_address = strokes > 1 && before.ends_with(":") && !is_file_url;
  if (is_address || !may_begin(before, known)) return std::nullopt;
  if (!known && strokes > 1 && !is_file_url) return std::nullopt;  // a comment
  // Else it is a number: 2.0f.
  const bool worded =
      std::ranges::any_of(names.first, [](unsigned char c) { return std::isalpha(c) != 0; }) &&
      std::isdigit(static_cast<unsigned char>(names.first.front())) == 0;
  if (names.count < (known ? 2U : 3U) || !worded) return std::nullopt;
  constexpr std::size_t kOfUrl = 2;  // of the strokes
  // Two names below a root may be a person's folder.
  return FoundPath{.begin = is_file_url && strokes > kOfUrl ? at + kOfUrl : at,
                   .end = names.end,
                   .file = file_of(names, 3)};
}

/// One of `folders` is at the first of the strokes, which may be repeated in it.
std::optional<FoundPath> folder_at(std::string_view text, std::size_t at, std::string_view folder) {
  constexpr std::size_t kShort = 4;  // "/a": no folder of a user; chosen
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.size() < kShort || folder.front() != '/') return std::nullopt;
  // Of one name only: may be the operand of a division.
  if (folder.rfind('/') == 0 && !may_begin(text.substr(0, at), true)) return std::nullopt;
  std::size_t end = at;
  for (std::size_t in = 0; in < folder.size(); ++in) {
    if (end >= text.size() || text[end] != folder[in]) return std::nullopt;
    end = folder[in] == '/' ? end_of_strokes(text, end) : end + 1;
  }
  if (is_in_name(text, end)) return std::nullopt;
  const Names names = names_at(text, end);
  return FoundPath{.begin = at, .end = names.count > 0 ? names.end : end, .file = file_of(names, 1)};
}

std::optional<FoundPath> any_path_at(std::string_view text, std::size_t at,
                                     std::span<const std::string> folders) {
  if (text[at] != '/' || (at > 0 && text[at - 1] == '/')) return std::nullopt;
  for (const std::string& folder : folders)
    if (const auto found = folder_at(text, at, folder)) return found;
  return path_at(text, at);
}

}  // namespace

std::string without_machine_paths(std::string_view text, std::span<const std::string> folders) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto path = any_path_at(text, at, folders);
    if (!path) {
      clean += text[at++];
      continue;
    }
    clean.append(text.substr(at, path->begin - at)).append(kPath);
    if (!path->file.empty()) clean.append("/").append(path->file);
    at = path->end;
  }
  return clean;
}

}  // namespace ak::app
