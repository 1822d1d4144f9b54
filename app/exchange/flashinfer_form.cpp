// SPDX-License-Identifier: Apache-2.0
#include "app/exchange/flashinfer_form.h"

#include <fmt/format.h>

#include <string_view>

namespace ak::app {
namespace {

void make_plain(Json& tensors) {
  for (auto& [name, tensor] : tensors.items()) {
    for (const char* key : {"value", "values", "initial", "role"}) tensor.erase(key);
    const auto dtype = parse_dtype(tensor["dtype"].get<std::string>());
    if (dtype && info(*dtype).values > 1) tensor["dtype"] = "int8";
    if (dtype == DType::float64 && tensor["shape"].is_null())
      tensor["dtype"] = "float32";  // a number in Python
  }
}

}  // namespace

Json flashinfer_definition(const Json& definition) {
  Json plain = definition;
  for (auto& [name, axis] : plain["axes"].items()) {
    if (axis["type"] != "derived") continue;
    plain["constraints"].push_back(fmt::format("{} == {}", name, axis["value"].get<std::string>()));
    axis["type"] = "var";
    axis.erase("value");
  }
  make_plain(plain["inputs"]);
  make_plain(plain["outputs"]);
  return plain;
}

AxisValues flashinfer_axes(const Json& definition, const AxisValues& axes) {
  const Result<Definition> known = definition_from_json(definition);
  AxisValues all = axes;
  if (!known) return all;  // an imported one may be written in ways that only its own tools read
  Environment sizes(axes.begin(), axes.end());
  add_axes(*known, sizes);
  for (const Axis& axis : known->axes) {
    if (axis.derived && sizes.contains(axis.name)) all[axis.name] = std::get<std::int64_t>(sizes[axis.name]);
  }
  return all;
}

Json flashinfer_input(const Json& input) {
  if (input.contains("value")) return {{"type", "scalar"}, {"value", input["value"]}};
  if (input.contains("values")) return {{"type", "scalar"}, {"value", input["values"].front()}};
  return {{"type", "random"}};
}

}  // namespace ak::app
