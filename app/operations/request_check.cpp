// SPDX-License-Identifier: Apache-2.0
#include "app/operations/request_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text/json_line.h"
#include "core/text/suggest.h"

namespace ak::operations {
namespace {

bool is_table(const Json& value) {
  return value.is_object() && std::ranges::all_of(value, [](const Json& entry) {
           return entry.is_string() || entry.is_number_integer() || entry.is_boolean();
         });
}

/// nlohmann keeps what exceeds 2^63 - 1 as unsigned; as a signed number it would be negative.
bool fits_64_bits(const Json& value) {
  return !value.is_number_unsigned() || value.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
}

struct Acceptance {
  ValueKind kind;
  std::string_view words;
  bool (*accepts)(const Json& value);
};

/// The kinds that requests have.
const Acceptance& acceptance(ValueKind kind) {
  static constexpr std::array kKinds{
      Acceptance{ValueKind::text, "a string", [](const Json& value) { return value.is_string(); }},
      Acceptance{ValueKind::integer, "an integer",
                 [](const Json& value) { return value.is_number_integer() && fits_64_bits(value); }},
      Acceptance{ValueKind::number, "a number", [](const Json& value) { return value.is_number(); }},
      Acceptance{ValueKind::flag, "true or false", [](const Json& value) { return value.is_boolean(); }},
      Acceptance{ValueKind::table, "an object whose values are strings, integers or booleans", is_table},
  };
  const auto found = std::ranges::find(kKinds, kind, &Acceptance::kind);
  AK_ASSERT(found != kKinds.end(), "a parameter has a kind that requests have");
  return *found;
}

bool bounded(const Parameter& parameter) { return parameter.minimum < parameter.maximum; }

std::string shown(const Json& value) {
  constexpr std::size_t kShownBytes = 80;
  return sanitize(one_line(value), kShownBytes);
}

std::string value_error(const Parameter& parameter, const Json& value) {
  const Acceptance& kind = acceptance(parameter.kind);
  if (!kind.accepts(value))
    return fmt::format("{}: expected {}, got {}", parameter.name, kind.words, shown(value));
  if (bounded(parameter) && !(value >= parameter.minimum && value <= parameter.maximum))
    return fmt::format("{}: expected {} to {}, got {}", parameter.name, parameter.minimum, parameter.maximum,
                       shown(value));
  if (!parameter.choices.empty() &&
      std::ranges::find(parameter.choices, value.get<std::string>()) == parameter.choices.end())
    return fmt::format("{}: expected {}, got {}", parameter.name, fmt::join(parameter.choices, ", "),
                       shown(value));
  return "";
}

std::string unknown_member(std::string_view name, std::span<const Parameter> parameters,
                           const std::string& member) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters) known.emplace_back(parameter.name);
  return fmt::format("{} has no argument '{}'{}; it takes {}", name, sanitize(member, 80),
                     did_you_mean(member, known),
                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

}  // namespace

std::string request_error(std::string_view name, std::span<const Parameter> parameters, const Json& request) {
  if (!request.is_object()) return fmt::format("{}: expected arguments that are an object", name);
  for (const auto& [member, value] : request.items()) {
    const auto found = std::ranges::find(parameters, std::string_view(member), &Parameter::name);
    if (found == parameters.end()) return unknown_member(name, parameters, member);
    if (std::string wrong = value_error(*found, value); !wrong.empty()) return wrong;
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.required && !request.contains(parameter.name))
      return fmt::format("{} needs the argument '{}': {}", name, parameter.name, parameter.help);
  }
  return "";
}

Json with_fallbacks(const Operation& operation, const Json& request) {
  Json filled = request;
  for (const Parameter& parameter : operation.parameters) {
    if (!parameter.fallback.empty() && !request.contains(parameter.name))
      filled[std::string(parameter.name)] = parse_json(parameter.fallback);
  }
  return filled;
}

}  // namespace ak::operations
