// SPDX-License-Identifier: Apache-2.0
#include "app/operations/clients/client_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/operations/operation_schema.h"
#include "core/error.h"

namespace ak::operations {
namespace {

void collect_types(const std::vector<Field>& fields, std::vector<NamedType>& types) {
  for (const Field& field : fields) {
    if (field.kind != ValueKind::object) continue;
    collect_types(field.fields, types);
    const auto known = std::ranges::find(types, field.type, &NamedType::name);
    if (known == types.end()) {
      types.push_back({std::string(field.type), std::string(field.help), field.fields});
    } else {
      AK_ASSERT(fields_schema(known->fields) == fields_schema(field.fields), "a type has one form");
    }
  }
}

}  // namespace

std::vector<NamedType> object_types() {
  std::vector<NamedType> types;
  for (const Operation& operation : all_operations()) collect_types(operation.answer, types);
  for (const Event& event : all_events()) {
    collect_types(event.fields, types);
    types.push_back({std::string(event.type), std::string(event.help), event.fields});
  }
  return types;
}

std::string type_name(std::string_view operation) {
  std::string name;
  bool starts_word = true;
  for (const char c : operation) {
    if (c != '_') name += starts_word ? static_cast<char>(std::toupper(c)) : c;
    starts_word = c == '_';
  }
  return name;
}

std::string effects_text(const Effects& effects) {
  std::vector<std::string_view> parts;
  if (effects.reads_database) parts.emplace_back("reads the database");
  if (effects.writes_database) parts.emplace_back("writes the database");
  if (effects.writes_files) parts.emplace_back("writes files");
  if (effects.uses_device) parts.emplace_back("runs kernels");
  if (effects.takes_long) parts.emplace_back("takes seconds or longer");
  if (parts.empty()) return "Touches nothing.";
  std::string text = fmt::format("{}.", fmt::join(parts, ", "));
  text.front() = static_cast<char>(std::toupper(text.front()));
  return text;
}

std::string help_text(const Field& field) {
  return field.unit.empty() ? std::string(field.help) : fmt::format("{} ({})", field.help, field.unit);
}

std::string help_text(const Parameter& parameter) {
  std::string text(parameter.help);
  if (!parameter.choices.empty()) text += fmt::format("; one of {}", fmt::join(parameter.choices, ", "));
  if (parameter.minimum < parameter.maximum)
    text += fmt::format("; {} to {}", parameter.minimum, parameter.maximum);
  if (!parameter.fallback.empty()) text += fmt::format(" (default: {})", parameter.fallback);
  return text;
}

}  // namespace ak::operations
