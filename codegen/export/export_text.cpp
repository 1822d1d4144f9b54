// SPDX-License-Identifier: Apache-2.0
#include "codegen/export/export_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "export_texts.h"

namespace ak::codegen {
namespace {

bool is_placeholder_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '_';
  });
}

/// The name of the placeholder that begins with the '@' at `at`; empty where none does.
std::string_view placeholder_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('@', at + 1);
  if (end == std::string_view::npos) return "";
  const std::string_view name = text.substr(at + 1, end - at - 1);
  return is_placeholder_name(name) ? name : "";
}

}  // namespace

Result<std::string> filled_text(std::string_view text, std::initializer_list<TextValue> values) {
  std::string filled;
  std::set<std::string_view> used;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = std::min(text.find('@', at), text.size());
    filled += text.substr(at, begin - at);
    if (begin == text.size()) break;
    const std::string_view name = placeholder_at(text, begin);
    if (name.empty()) {
      filled += '@';
      at = begin + 1;
      continue;
    }
    const auto* const value = std::ranges::find(values, name, &TextValue::name);
    if (value == values.end()) return InputError{fmt::format("the placeholder @{}@ has no value", name)};
    filled += value->value;
    used.insert(name);
    at = begin + name.size() + 2;
  }
  for (const TextValue& value : values)
    if (!used.contains(value.name))
      return InputError{fmt::format("there is no placeholder @{}@", value.name)};
  return filled;
}

std::string comment_text(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  while (line.ends_with('\\') || line.ends_with(' ')) line.pop_back();
  return line;
}

std::string filled_file(std::span<const EmbeddedFile> texts, std::string_view name,
                        std::initializer_list<TextValue> values) {
  const std::string file = fmt::format("{}.in", name);
  const auto found = std::ranges::find(texts, file, &EmbeddedFile::name);
  AK_ASSERT(found != texts.end(), "a text that is written out is compiled in");
  Result<std::string> text = filled_text(found->text, values);
  AK_ASSERT(text.ok(), "the placeholders of a text are the values that it is given");
  return std::move(text).value();
}

std::string export_text(std::string_view name, std::initializer_list<TextValue> values) {
  return filled_file(export_texts(), name, values);
}

}  // namespace ak::codegen
