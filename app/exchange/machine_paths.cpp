// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/machine_paths.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

namespace ak::app {
namespace {

constexpr std::string_view kPath = "[path]";
constexpr std::string_view kUrl = "file://";
// Folders at the root of Unix systems and clusters: below one of them two names are a path already.
constexpr std::array<std::string_view, 24> kRoots{"home",   "Users", "root",    "tmp",      "var",    "mnt",
                                                  "media",  "opt",   "srv",     "etc",      "usr",    "data",
                                                  "work",   "run",   "private", "scratch",  "local",  "nfs",
                                                  "lustre", "gpfs",  "project", "projects", "global", "proc"};

bool is_name_byte(char c) {
  constexpr std::string_view kOther = "._+@%~-";
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || byte >= 0x80 || kOther.find(c) != std::string_view::npos;
}

/// A path may begin behind what is before `at`: no operand of a division is there.
bool may_begin(std::string_view text, std::size_t at) {
  constexpr std::string_view kBefore = " \t\r\n\"'`=:([{<>,;|!";
  if (at == 0 || kBefore.find(text[at - 1]) != std::string_view::npos) return true;
  return at >= kUrl.size() && text.substr(at - kUrl.size(), kUrl.size()) == kUrl;
}

struct FoundPath {
  std::size_t end = 0;
  std::string_view file;  ///< its last name, where that is one of a file in folders
};

/// At a stroke where one may begin.
std::optional<FoundPath> path_at(std::string_view text, std::size_t at) {
  std::size_t end = at, names = 0;
  std::string_view first, last;
  bool worded = true;
  while (end + 1 < text.size() && text[end] == '/' && is_name_byte(text[end + 1])) {
    const std::size_t begin = end + 1;
    for (end = begin; end < text.size() && is_name_byte(text[end]);) ++end;
    last = text.substr(begin, end - begin);
    if (++names == 1) first = last;
    worded = worded && std::ranges::any_of(last, [](unsigned char c) { return std::isalpha(c) != 0; });
  }
  const bool known = std::ranges::find(kRoots, first) != kRoots.end();
  if (names < (known ? 2U : 3U) || (!known && !worded)) return std::nullopt;
  const bool folder = end < text.size() && text[end] == '/';
  const std::size_t dot = last.find('.', 1);
  // Two names below a root may be a person's folder.
  const bool file = !folder && names >= 3 && dot != std::string_view::npos && dot + 1 < last.size();
  return FoundPath{.end = end + (folder ? 1 : 0), .file = file ? last : std::string_view()};
}

std::string without_folder(std::string text, const std::string& folder) {
  for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at)) {
    const std::size_t end = at + folder.size();
    if (end < text.size() && is_name_byte(text[end])) {
      at = end;
      continue;
    }
    text.replace(at, folder.size(), kPath);
    at += kPath.size();
  }
  return text;
}

}  // namespace

std::string without_machine_paths(std::string_view text, std::span<const std::string> folders) {
  std::string clean;
  clean.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto path = text[at] == '/' && may_begin(text, at) ? path_at(text, at) : std::nullopt;
    if (!path) {
      clean += text[at++];
      continue;
    }
    clean += kPath;
    if (!path->file.empty()) clean.append("/").append(path->file);
    at = path->end;
  }
  constexpr std::size_t kShort = 4;  // "/a": no folder of a user; chosen
  for (const std::string& folder : folders)
    if (folder.size() >= kShort) clean = without_folder(std::move(clean), folder);
  return clean;
}

}  // namespace ak::app
