// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/code_hash.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/text/hash.h"

namespace ak::runtime {
namespace {

template <class T>
std::optional<T> read_at(std::string_view image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::string_view name_at(std::string_view strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

/// Line tables, and the tables whose contents move with them.
bool tells_of_source(std::string_view section) {
  return section.find("debug") != section.npos || section == ".strtab" || section == ".shstrtab" ||
         section == ".symtab" || section == ".note.nv.tkinfo";
}

/// Names and contents of the sections that matter; nothing when this is no ELF file as it should be.
std::optional<std::string> code_of_elf(std::string_view image) {
  if (!image.starts_with(ELFMAG)) return std::nullopt;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  const auto section_at = [&](std::uint64_t i) {
    return read_at<Elf64_Shdr>(image, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto contents_of = [&](const Elf64_Shdr& section) -> std::string_view {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > image.size()) return {};
    return image.substr(section.sh_offset, section.sh_size);
  };
  const auto names = section_at(header->e_shstrndx);
  if (!names) return std::nullopt;
  std::string code;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = section_at(i);
    if (!section) return std::nullopt;
    const std::string_view name = name_at(contents_of(*names), section->sh_name);
    if (tells_of_source(name)) continue;
    code.append(name).append(1, '\0').append(std::to_string(section->sh_size)).append(contents_of(*section));
  }
  return code;
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%';
}

/// Every name in a line of PTX, in order.
std::vector<std::string_view> names_in(std::string_view line) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i;
    while (end < line.size() && is_name(line[end])) ++end;
    if (end > i) names.push_back(line.substr(i, end - i));
    i = end + 1;
  }
  return names;
}

/// The variable that a line declares in global memory; empty for any other line.
std::string_view global_variable(std::string_view line) {
  if (line.find(".global ") == line.npos || !line.ends_with(";") || !line.starts_with('.')) return {};
  const auto names = names_in(line.substr(0, line.find_first_of("=;[")));
  return names.empty() ? std::string_view() : names.back();
}

/// Constants of the source, tunables among them, become variables even where nothing reads them.
std::string without_unused_variables(const std::vector<std::string_view>& lines) {
  std::unordered_map<std::string_view, int> uses;
  for (const std::string_view line : lines) {
    for (const std::string_view name : names_in(line)) ++uses[name];
  }
  std::string code;
  for (const std::string_view line : lines) {
    const std::string_view variable = global_variable(line);
    if (variable.empty() || uses.at(variable) > 1) code.append(line).append(1, '\n');
  }
  return code;
}

/// Statements without line numbers, comments and debug sections (which stand in braces of their own).
std::string code_of_ptx(std::string_view text) {
  std::vector<std::string_view> lines;
  bool in_section = false;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(".section")) in_section = true;
    const bool said = !in_section && !line.empty() && !line.starts_with(".loc") &&
                      !line.starts_with(".file") && !line.starts_with("//");
    if (said) lines.push_back(line);
    if (in_section && line.starts_with("}")) in_section = false;
  }
  return without_unused_variables(lines);
}

}  // namespace

std::string code_hash(std::string_view image) {
  if (const auto code = code_of_elf(image)) return sha256_hex(*code);
  const bool ptx = image.find(".version") != image.npos && image.find(".target") != image.npos;
  return ptx ? sha256_hex(code_of_ptx(image)) : sha256_hex(image);
}

}  // namespace ak::runtime
