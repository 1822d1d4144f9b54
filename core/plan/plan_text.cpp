// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan_text.h"

#include <array>
#include <charconv>

#include "core/text/filled_json.h"

namespace ak {
namespace {

// Of a line: as the shipped templates are written.
constexpr std::size_t kPlanColumns = 120;

// Keys of workspace, tensor maps and launches: those that mean "none" where they are left out, and those whose
// values are expressions. A scalar of type f32 or f64 is not among them: a number there is no expression.
constexpr std::array kChoicesWithNone{"init", "interleave", "swizzle", "l2_promotion", "oob_fill"};
constexpr std::array kExpressions{"count", "dims",  "strides_bytes", "box",          "element_strides",
                                  "grid",  "block", "cluster",       "shared_bytes", "i32",
                                  "i64"};

/// "256" as 256: an expression that is an integer may be written as one.
void shorten_number(Json& expression) {
  const auto text = expression.get<std::string>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::to_string(number) == text)
    expression = number;
}

void shorten_expressions(Json& value) {
  if (value.is_string()) return shorten_number(value);
  for (Json& one : value) shorten_number(one);
}

/// Takes away what is assumed, here and below.
void shorten(Json& value) {
  if (!value.is_structured()) return;
  if (value.is_object()) {
    for (const char* key : kChoicesWithNone)
      if (value.contains(key) && value[key] == "none") value.erase(key);
    for (const char* key : kExpressions)
      if (value.contains(key)) shorten_expressions(value[key]);
  }
  for (Json& one : value) shorten(one);
}

/// [variable, low, high]
void shorten_loop(Json& launch) {
  const auto loop = launch.find("for");
  if (loop == launch.end()) return;
  shorten_number((*loop)[1]);
  shorten_number((*loop)[2]);
}

}  // namespace

std::string plan_text(const LaunchPlan& plan) {
  Json json = to_json(plan);
  for (const char* part : {"constraints", "let", "time_terms"})
    if (json.contains(part)) shorten_expressions(json[part]);
  for (const char* part : {"workspace", "tensor_maps", "launches"})
    if (json.contains(part)) shorten(json[part]);
  for (Json& launch : json["launches"]) shorten_loop(launch);
  for (const Tunable& tunable : plan.tunables)
    if (tunable.default_value == tunable.values.front()) json["tunables"][tunable.name].erase("default");
  return filled_json(json, kPlanColumns);
}

}  // namespace ak
