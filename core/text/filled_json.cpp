// SPDX-License-Identifier: Apache-2.0
#include "core/text/filled_json.h"

#include <algorithm>
#include <string_view>

namespace ak {
namespace {

constexpr std::string_view kStep = "  ";

std::string key_text(const std::string& key) { return Json(key).dump() + ": "; }

/// On one line, with a blank after every comma and colon.
std::string spaced_text(const Json& value) {
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [key, entry] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += key_text(key);
    text += spaced_text(entry);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

/// Text that is broken where the next piece would pass the last column.
struct FilledText {
  std::string text, indent;
  std::size_t columns, column;

  void add(const std::string& piece, std::size_t after) {
    const bool first = text.size() == 1;
    if (!first && column + 1 + piece.size() + after > columns) {
      text += "\n" + indent;
      column = indent.size();
    } else if (!first) {
      text += " ";
      ++column;
    }
    text += piece;
    column += piece.size();
  }
};

/// @param column where it begins
/// @param after  columns that are needed behind it
std::string filled_text(const Json& value, std::size_t column, std::size_t after, std::size_t columns) {
  const std::string whole = spaced_text(value);
  if (!value.is_structured() || column + whole.size() + after <= columns) return whole;
  FilledText filled{value.is_object() ? "{" : "[", std::string(column + 1, ' '), columns, column + 1};
  std::size_t left = value.size();
  for (const auto& [key, entry] : value.items()) {
    --left;
    const std::string name = value.is_object() ? key_text(key) : "";
    filled.add(name + spaced_text(entry) + (left > 0 ? "," : ""), left > 0 ? 0 : after + 1);
  }
  return filled.text + (value.is_object() ? "}" : "]");
}

/// Numbers and texts alone.
bool is_flat(const Json& value) {
  return std::ranges::none_of(value, [](const Json& entry) { return entry.is_structured(); });
}

std::string member_text(const std::string& key, const Json& value, std::size_t after, std::size_t columns) {
  const std::string start = std::string(kStep) + key_text(key), whole = spaced_text(value);
  const bool fits = start.size() + whole.size() + after <= columns;
  if (!value.is_structured() || value.empty() || (is_flat(value) && fits)) return start + whole;
  const std::string indent = std::string(kStep) + std::string(kStep);
  std::string text = start + (value.is_object() ? "{" : "[");
  std::size_t left = value.size();
  for (const auto& [name, entry] : value.items()) {
    --left;
    const std::string before = indent + (value.is_object() ? key_text(name) : "");
    text += "\n" + before + filled_text(entry, before.size(), left > 0 ? 1 : 0, columns);
    if (left > 0) text += ",";
  }
  return text + "\n" + std::string(kStep) + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string filled_json(const Json& object, std::size_t columns) {
  if (object.empty()) return "{}";
  std::string text;
  for (const auto& [key, value] : object.items())
    text += (text.empty() ? "{\n" : ",\n") + member_text(key, value, 1, columns);
  return text + "\n}";
}

}  // namespace ak
