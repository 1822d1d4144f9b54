// SPDX-License-Identifier: Apache-2.0
#include "tests/support/json_schema.h"

#include <algorithm>
#include <array>

namespace ak::testing {
namespace {

bool has_type(const std::string& type, const Json& value) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  return type == "null" && value.is_null();
}

std::string type_error(const Json& types, const Json& value, const std::string& at) {
  const Json list = types.is_array() ? types : Json::array({types});
  const bool fits =
      std::ranges::any_of(list, [&](const Json& type) { return has_type(type.get<std::string>(), value); });
  return fits ? "" : at + ": expected " + types.dump() + ", got " + value.dump().substr(0, 80);
}

std::string object_error(const Json& schema, const Json& value, const std::string& at) {
  for (const Json& name : schema.value("required", Json::array())) {
    if (!value.contains(name.get<std::string>())) return at + ": " + name.dump() + " is missing";
  }
  const Json properties = schema.value("properties", Json::object());
  const Json others = schema.value("additionalProperties", Json(true));
  for (const auto& [name, member] : value.items()) {
    if (!properties.contains(name) && others == false) return at + ": unknown member " + name;
    const Json& own = properties.contains(name) ? properties[name] : others;
    if (!own.is_object()) continue;
    if (std::string wrong = schema_error(own, member, at + "." + name); !wrong.empty()) return wrong;
  }
  return "";
}

std::string array_error(const Json& schema, const Json& value, const std::string& at) {
  if (!schema.contains("items")) return "";
  for (std::size_t i = 0; i < value.size(); ++i) {
    std::string wrong = schema_error(schema["items"], value[i], at + "[" + std::to_string(i) + "]");
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string scalar_error(const Json& schema, const Json& value, const std::string& at) {
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return at + ": " + value.dump() + " is none of " + schema["enum"].dump();
  if (!value.is_number()) return "";
  if (schema.contains("minimum") && value < schema["minimum"]) return at + ": below its minimum";
  if (schema.contains("maximum") && value > schema["maximum"]) return at + ": above its maximum";
  return "";
}

std::string any_of_error(const Json& choices, const Json& value, const std::string& at) {
  std::string reasons;
  for (const Json& choice : choices) {
    const std::string wrong = schema_error(choice, value, at);
    if (wrong.empty()) return "";
    reasons += wrong + "; ";
  }
  return reasons;
}

}  // namespace

std::string schema_error(const Json& schema, const Json& value, const std::string& at) {
  constexpr std::array<std::string_view, 11> kKeywords{
      "type",    "properties", "required", "additionalProperties", "items", "enum", "anyOf",
      "minimum", "maximum",    "default",  "description"};
  for (const auto& [keyword, content] : schema.items()) {
    if (std::ranges::find(kKeywords, keyword) == kKeywords.end()) return at + ": unknown keyword " + keyword;
  }
  if (schema.contains("type")) {
    if (std::string wrong = type_error(schema["type"], value, at); !wrong.empty()) return wrong;
  }
  if (std::string wrong = scalar_error(schema, value, at); !wrong.empty()) return wrong;
  if (schema.contains("anyOf")) {
    if (std::string wrong = any_of_error(schema["anyOf"], value, at); !wrong.empty()) return wrong;
  }
  if (value.is_object()) return object_error(schema, value, at);
  return value.is_array() ? array_error(schema, value, at) : "";
}

}  // namespace ak::testing
