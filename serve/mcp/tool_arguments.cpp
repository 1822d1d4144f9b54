// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/suggest.h"
#include "serve/mcp/json_rpc.h"
#include "serve/mcp/tool.h"

namespace ak::mcp {
namespace {

struct KindInfo {
  std::string_view schema, words;
  bool (*accepts)(const Json& value);
};

bool is_table(const Json& value) {
  return value.is_object() && std::ranges::all_of(value, [](const Json& entry) {
           return entry.is_string() || entry.is_number_integer() || entry.is_boolean();
         });
}

// In the order of ValueKind.
const KindInfo& info(ValueKind kind) {
  static constexpr std::array kKinds{
      KindInfo{"string", "a string", [](const Json& value) { return value.is_string(); }},
      KindInfo{"integer", "an integer", [](const Json& value) { return value.is_number_integer(); }},
      KindInfo{"number", "a number", [](const Json& value) { return value.is_number(); }},
      KindInfo{"boolean", "true or false", [](const Json& value) { return value.is_boolean(); }},
      KindInfo{"object", "an object whose values are strings, integers or booleans", is_table},
  };
  return kKinds[static_cast<std::size_t>(kind)];
}

bool bounded(const Parameter& parameter) { return parameter.minimum < parameter.maximum; }

Json bound(const Parameter& parameter, double value) {
  return parameter.kind == ValueKind::integer ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json parameter_schema(const Parameter& parameter) {
  Json schema{{"type", info(parameter.kind).schema}, {"description", parameter.help}};
  if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
  if (bounded(parameter)) {
    schema["minimum"] = bound(parameter, parameter.minimum);
    schema["maximum"] = bound(parameter, parameter.maximum);
  }
  if (parameter.kind == ValueKind::table)
    schema["additionalProperties"] = {{"type", {"string", "integer", "boolean"}}};
  return schema;
}

std::string shown(const Json& value) {
  constexpr std::size_t kShownBytes = 80;
  return sanitize(one_line(value), kShownBytes);
}

std::string value_error(const Parameter& parameter, const Json& value) {
  if (!info(parameter.kind).accepts(value))
    return fmt::format("{}: expected {}, got {}", parameter.name, info(parameter.kind).words, shown(value));
  if (bounded(parameter) && !(value >= parameter.minimum && value <= parameter.maximum))
    return fmt::format("{}: expected {} to {}, got {}", parameter.name, parameter.minimum, parameter.maximum,
                       shown(value));
  if (!parameter.choices.empty() &&
      std::ranges::find(parameter.choices, value.get<std::string>()) == parameter.choices.end())
    return fmt::format("{}: expected {}, got {}", parameter.name, fmt::join(parameter.choices, ", "),
                       shown(value));
  return "";
}

std::string unknown_argument(const Tool& tool, const std::string& name) {
  std::vector<std::string> known;
  for (const Parameter& parameter : tool.parameters) known.emplace_back(parameter.name);
  return fmt::format("{} has no argument '{}'{}; it takes {}", tool.name, sanitize(name, 80),
                     did_you_mean(name, known),
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

Json tool_json(const Tool& tool) {
  Json schema{{"type", "object"}};
  Json required = Json::array();
  for (const Parameter& parameter : tool.parameters) {
    schema["properties"][std::string(parameter.name)] = parameter_schema(parameter);
    if (parameter.required) required.push_back(parameter.name);
  }
  if (!required.empty()) schema["required"] = required;
  schema["additionalProperties"] = false;
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", schema},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.read_only},
            {"destructiveHint", tool.overwrites},
            {"idempotentHint", tool.read_only},
            {"openWorldHint", false}}}};
}

std::string argument_error(const Tool& tool, const Json& arguments) {
  if (!arguments.is_object()) return fmt::format("{}: expected arguments that are an object", tool.name);
  for (const auto& [name, value] : arguments.items()) {
    const auto found = std::ranges::find(tool.parameters, std::string_view(name), &Parameter::name);
    if (found == tool.parameters.end()) return unknown_argument(tool, name);
    if (std::string wrong = value_error(*found, value); !wrong.empty()) return wrong;
  }
  for (const Parameter& parameter : tool.parameters) {
    if (parameter.required && !arguments.contains(parameter.name))
      return fmt::format("{} needs the argument '{}': {}", tool.name, parameter.name, parameter.help);
  }
  return "";
}

}  // namespace ak::mcp
