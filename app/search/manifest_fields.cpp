// SPDX-License-Identifier: Apache-2.0
#include "app/search/manifest_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/search/strategy.h"
#include "core/text/json_quantity.h"
#include "core/time_limit.h"

namespace ak::app {

std::string read_name(const JsonReader& at) {
  const std::string name = at.text();
  const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!good) at.fail("a name of lower-case letters, digits and _");
  return name;
}

std::string read_text(const JsonReader& at, std::string_view what) {
  const std::string text = at.text();
  if (text.empty()) at.fail(what);
  return text;
}

std::int64_t read_count(const JsonReader& at) { return integer_in(at, {}); }

std::chrono::milliseconds read_minutes(const JsonReader& at) {
  return time_limit(quantity_in(at, kMinutes) * 60);
}

Params read_params(const JsonReader& at) {
  Params params;
  for (const auto& [name, value] : at.members()) {
    if (value.json().is_boolean()) {
      params[name] = std::int64_t{value.boolean()};
    } else if (value.json().is_number_integer()) {
      params[name] = value.integer();
    } else {
      params[name] = value.text();
    }
  }
  return params;
}

FixedTunables read_fixed(const JsonReader& at) {
  FixedTunables fixed;
  for (const auto& [name, value] : at.members()) {
    std::vector<std::int64_t>& values = fixed[name];
    if (value.json().is_array()) {
      for (const JsonReader& item : value.items()) values.push_back(item.integer());
    } else {
      values.push_back(value.integer());
    }
    if (values.empty()) value.fail("an integer, or a list of at least one");
  }
  return fixed;
}

std::string read_shape(const JsonReader& at) {
  std::vector<std::string> sizes;
  for (const auto& [axis, size] : at.members()) sizes.push_back(fmt::format("{}={}", axis, read_count(size)));
  if (sizes.empty()) at.fail("a size for every axis");
  return fmt::format("{}", fmt::join(sizes, ","));
}

std::vector<std::string> read_shapes(const JsonReader& at) {
  if (!at.json().is_array()) return {read_shape(at)};
  std::vector<std::string> shapes;
  for (const JsonReader& item : at.items()) shapes.push_back(read_shape(item));
  if (shapes.empty()) at.fail("at least one shape");
  return shapes;
}

std::string read_strategy(const JsonReader& at) {
  const std::string name = at.text();
  if (agent::find_strategy(name) == nullptr) at.reject(agent::unknown_strategy(name));
  return name;
}

}  // namespace ak::app
