// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/export_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "codegen/export/python_modules.h"
#include "core/text/hash.h"

namespace ak::codegen {
namespace {

// File names have at most 255 bytes on Linux, and the longest of an export adds some 20 to its name (chosen).
constexpr std::size_t kMaxLetters = 128;
// Of a hash, 32 bits: names that differ in signs alone are few.
constexpr std::size_t kHashDigits = 8;

// Python's keywords (3.13), of which none can be imported.
constexpr std::array<std::string_view, 35> kPythonKeywords{
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
// What else the files of torch/ import, and what is called so there; what torch.ops has for itself; packages that
// people who use PyTorch have.
constexpr std::array<std::string_view, 14> kPythonNames{
    "aten",  "check", "higher_order", "import_module", "load_library", "loaded_libraries",
    "numpy", "prim",  "prims",        "reference",     "setup",        "setuptools",
    "torch", "triton"};
// Targets that CMake has for itself (policy CMP0037), and makes for its generators.
constexpr std::array<std::string_view, 9> kCMakeTargets{
    "all", "clean", "depend", "edit_cache", "help", "install", "package", "rebuild_cache", "test"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

bool taken(std::string_view name) {
  const auto in = [&](const auto& list) { return std::ranges::find(list, name) != list.end(); };
  return in(kPythonKeywords) || in(kPythonModules) || in(kPythonNames) || in(kCMakeTargets);
}

}  // namespace

std::string name_objection(std::string_view name) {
  if (name.empty() || !is_letter(name.front()) || !std::ranges::all_of(name, is_word))
    return "expected a letter, then letters, digits and '_'";
  if (name.find("__") != std::string_view::npos || name.ends_with('_'))
    return "C++ keeps names with '__' for itself, and its functions are called NAME_launch";
  if (name.size() > kMaxLetters) return fmt::format("expected at most {} letters", kMaxLetters);
  if (taken(name)) return "Python, PyTorch or CMake has something else of this name";
  return "";
}

std::string version_objection(std::string_view version) {
  static const std::regex known(R"((0|[1-9]\d*)(\.(0|[1-9]\d*))*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?)");
  if (version.size() <= kMaxLetters && std::regex_match(version.begin(), version.end(), known)) return "";
  return "expected a version such as 1.0 or 1.2rc1";
}

std::string export_name(const Definition& definition) {
  if (name_objection(definition.name).empty()) return definition.name;
  std::string name;
  for (const char c : definition.name.substr(0, kMaxLetters - kHashDigits - 1)) {
    const char word = is_word(c) ? c : '_';
    if (word != '_' || !name.ends_with('_')) name += word;
  }
  if (name.empty() || !is_letter(name.front())) name.insert(0, name.starts_with('_') ? "kernel" : "kernel_");
  return fmt::format("{}{}{}", name, name.ends_with('_') ? "" : "_",
                     sha256_hex(definition.name).substr(0, kHashDigits));
}

}  // namespace ak::codegen
