// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/module_variables.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "emulator/parse/parser.h"

namespace ak::runtime {
namespace {

/// The parts of an ELF file that name variables. What is not as it should be is absent.
class ElfFile {
 public:
  explicit ElfFile(std::string_view image) : image_(image) {}

  std::vector<std::string> variables() const {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return {};
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
      const auto section = section_at(*header, i);
      if (section && section->sh_type == SHT_SYMTAB) add_variables(*header, *section, names);
    }
    return names;
  }

 private:
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > image_.size() || image_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, image_.data() + offset, sizeof value);
    return value;
  }
  std::optional<Elf64_Shdr> section_at(const Elf64_Ehdr& header, std::uint64_t i) const {
    return at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
  }
  std::string_view name_at(const std::optional<Elf64_Shdr>& strings, std::uint64_t offset) const {
    if (!strings || strings->sh_offset > image_.size()) return {};
    const std::string_view table = image_.substr(strings->sh_offset, strings->sh_size);
    return offset < table.size() ? table.substr(offset, table.find('\0', offset) - offset)
                                 : std::string_view();
  }
  bool holds_variables(const Elf64_Ehdr& header, std::uint64_t section) const {
    const auto found = section < header.e_shnum ? section_at(header, section) : std::nullopt;
    if (!found) return false;
    const std::string_view name = name_at(section_at(header, header.e_shstrndx), found->sh_name);
    return name.starts_with(".nv.global") || name == ".nv.constant3";  // __device__ and __constant__
  }
  void add_variables(const Elf64_Ehdr& header, const Elf64_Shdr& symbols,
                     std::vector<std::string>& names) const {
    for (std::uint64_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(symbols.sh_offset + offset);
      if (!symbol) return;
      if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0) continue;
      if (!holds_variables(header, symbol->st_shndx)) continue;
      names.emplace_back(name_at(section_at(header, symbols.sh_link), symbol->st_name));
    }
  }

  std::string_view image_;
};

std::vector<std::string> variables_of_ptx(std::string_view text) {
  const auto parsed = emulator::parse(text);
  if (!parsed) return {};
  std::vector<std::string> names;
  for (const emulator::Variable& variable : parsed->variables) {
    const bool in_memory =
        variable.space == emulator::Space::global || variable.space == emulator::Space::constant;
    if (in_memory && !variable.is_extern && variable.bytes > 0) names.push_back(variable.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> variable_names(std::string_view image) {
  return image.starts_with(ELFMAG) ? ElfFile(image).variables() : variables_of_ptx(image);
}

std::vector<BufferView> module_variables(const ModuleHandle& module, std::string_view image) {
  std::vector<BufferView> found;
  for (const std::string& name : variable_names(image)) {
    BufferView variable;
    const CUresult result =
        driver().cuModuleGetGlobal(&variable.address, &variable.bytes, module.get(), name.c_str());
    if (result == CUDA_SUCCESS && variable.bytes > 0) found.push_back(variable);
  }
  return found;
}

}  // namespace ak::runtime
