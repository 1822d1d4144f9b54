// SPDX-License-Identifier: Apache-2.0
#include "app/operations/operation_schema.h"

#include <fmt/format.h>

namespace ak::operations {
namespace {

Json object_of(Json values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }

/// Of one value, without what says more of it.
Json kind_schema(ValueKind kind) {
  switch (kind) {
    case ValueKind::text:
      return {{"type", "string"}};
    case ValueKind::integer:
      return {{"type", "integer"}};
    case ValueKind::number:
      return {{"type", "number"}};
    case ValueKind::real:
      return {{"type", {"number", "string"}}};
    case ValueKind::flag:
      return {{"type", "boolean"}};
    case ValueKind::table:
      return object_of({{"type", {"string", "integer", "boolean"}}});
    case ValueKind::integers:
      return object_of({{"type", "integer"}});
    case ValueKind::numbers:
      return object_of({{"type", "number"}});
    case ValueKind::cells:
      return {{"type", "array"}, {"items", {{"type", {"number", "string", "null"}}}}};
    case ValueKind::object:
    case ValueKind::any:
      break;
  }
  return Json::object();
}

Json with_null(Json schema) {
  Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  types.push_back("null");
  schema["type"] = std::move(types);
  return schema;
}

Json field_schema(const Field& field) {
  Json schema = field.kind == ValueKind::object ? fields_schema(field.fields) : kind_schema(field.kind);
  if (field.presence == Presence::nullable) schema = with_null(std::move(schema));
  if (field.list) schema = {{"type", "array"}, {"items", std::move(schema)}};
  schema["description"] =
      field.unit.empty() ? std::string(field.help) : fmt::format("{} ({})", field.help, field.unit);
  return schema;
}

Json bound(const Parameter& parameter, double value) {
  return parameter.kind == ValueKind::integer ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json parameter_schema(const Parameter& parameter) {
  Json schema = kind_schema(parameter.kind);
  schema["description"] = parameter.help;
  if (!parameter.choices.empty()) schema["enum"] = parameter.choices;
  if (parameter.minimum < parameter.maximum) {
    schema["minimum"] = bound(parameter, parameter.minimum);
    schema["maximum"] = bound(parameter, parameter.maximum);
  }
  if (!parameter.fallback.empty()) schema["default"] = parse_json(parameter.fallback);
  return schema;
}

Json to_json(const Effects& effects) {
  return {{"reads_database", effects.reads_database},
          {"writes_database", effects.writes_database},
          {"writes_files", effects.writes_files},
          {"uses_device", effects.uses_device},
          {"takes_long", effects.takes_long}};
}

/// An object with these properties and no others.
Json closed_object(Json properties, Json required) {
  Json schema{{"type", "object"}};
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

Json request_schema(std::span<const Parameter> parameters) {
  Json properties = Json::object(), required = Json::array();
  for (const Parameter& parameter : parameters) {
    properties[std::string(parameter.name)] = parameter_schema(parameter);
    if (parameter.required) required.push_back(parameter.name);
  }
  return closed_object(std::move(properties), std::move(required));
}

Json fields_schema(std::span<const Field> fields) {
  Json properties = Json::object(), required = Json::array();
  for (const Field& field : fields) {
    properties[std::string(field.name)] = field_schema(field);
    if (field.presence != Presence::maybe) required.push_back(field.name);
  }
  return closed_object(std::move(properties), std::move(required));
}

Json to_json(const Operation& operation) {
  return {{"name", operation.name},
          {"title", operation.title},
          {"summary", operation.summary},
          {"effects", to_json(operation.effects)},
          {"events", operation.events},
          {"request", request_schema(operation.parameters)},
          {"answer", fields_schema(operation.answer)}};
}

Json operations_json() {
  Json json{{"operations", Json::array()}, {"events", Json::array()}};
  for (const Operation& operation : all_operations()) json["operations"].push_back(to_json(operation));
  for (const Event& event : all_events())
    json["events"].push_back(
        {{"name", event.name}, {"help", event.help}, {"data", fields_schema(event.fields)}});
  return json;
}

}  // namespace ak::operations
