// SPDX-License-Identifier: Apache-2.0
#include "core/plan/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/text/characters.h"
#include "core/text/hash.h"
#include "core/text/json_reader.h"

namespace ak {
namespace {

/// Letters, digits and '_', beginning with no digit; `extra` characters are allowed after the first.
bool is_name(std::string_view text, std::string_view extra = "") {
  return !text.empty() && is_word_start(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_word(c) || extra.find(c) != std::string_view::npos;
  });
}

std::string read_non_empty(const JsonReader& at) {
  std::string text = at.text();
  if (text.empty()) at.fail("text that is not empty");
  return text;
}

std::string read_optional_text(const JsonReader& at, std::string_view key) {
  const auto given = at.find(key);
  return given && !given->json().is_null() ? given->text() : "";
}

std::vector<std::string> read_texts(const JsonReader& at, std::string_view key) {
  std::vector<std::string> texts;
  const auto given = at.find(key);
  if (!given || given->json().is_null()) return texts;
  for (const JsonReader& item : given->items()) texts.push_back(read_non_empty(item));
  return texts;
}

/// Definitions are exported to files of their name, so it must be one path component.
std::string read_definition_name(const JsonReader& at) {
  std::string name = at.text();
  if (!is_name(name, "-.")) at.fail("a name of letters, digits, '_', '-' and '.', beginning with a letter");
  return name;
}

Expression read_derived(const JsonReader& at, const std::vector<Axis>& earlier) {
  Result<Expression> parsed = Expression::parse(at.text());
  if (!parsed) at.reject(fmt::format("'{}': {}", at.text(), parsed.error().message));
  for (const std::string& name : parsed->names()) {
    if (std::ranges::find(earlier, name, &Axis::name) == earlier.end())
      at.reject(fmt::format("'{}' is not an axis before this one", name));
  }
  return std::move(parsed).value();
}

Axis read_axis(const std::string& name, const JsonReader& at, const std::vector<Axis>& earlier) {
  if (!is_name(name)) at.fail("an axis name of letters, digits and '_'");
  Axis axis{.name = name, .value = std::nullopt, .description = read_optional_text(at, "description")};
  const std::string type = at.member("type").text();
  if (type == "var") {
    at.only({"type", "description"});
  } else if (type == "const") {
    at.only({"type", "value", "description"});
    axis.value = at.member("value").integer();
    if (*axis.value < 1) at.member("value").fail("an integer of at least 1");
  } else if (type == "derived") {
    at.only({"type", "value", "description"});
    axis.derived = read_derived(at.member("value"), earlier);
  } else {
    at.member("type").fail("\"const\", \"var\" or \"derived\"");
  }
  return axis;
}

std::vector<std::string> read_shape(const JsonReader& at, const std::vector<Axis>& axes) {
  std::vector<std::string> shape;
  for (const JsonReader& item : at.items()) {
    shape.push_back(item.text());
    if (std::ranges::find(axes, shape.back(), &Axis::name) == axes.end()) item.fail("the name of an axis");
  }
  return shape;
}

TensorSpec read_tensor(const std::string& name, const JsonReader& at, const std::vector<Axis>& axes) {
  if (!is_name(name)) at.fail("a tensor name of letters, digits and '_'");
  at.only({"shape", "dtype", "description", "value", "values", "initial", "role"});
  TensorSpec tensor;
  tensor.name = name;
  const JsonReader shape = at.member("shape");
  if (!shape.json().is_null()) tensor.shape = read_shape(shape, axes);
  const auto dtype = parse_dtype(at.member("dtype").text());
  if (!dtype) at.member("dtype").fail("a dtype such as \"float32\" or \"bfloat16\"");
  tensor.dtype = *dtype;
  tensor.description = read_optional_text(at, "description");
  if (const auto given = at.find("value")) tensor.values = {given->number()};
  if (const auto given = at.find("values")) {
    for (const JsonReader& item : given->items()) tensor.values.push_back(item.number());
  }
  if (const auto given = at.find("initial")) {
    if (given->text() != "zero") given->fail("\"zero\"");
    tensor.zeroed = true;
  }
  if (const auto given = at.find("role")) {
    if (given->text() != "weight") given->fail("\"weight\"");
    tensor.weight = true;
  }
  return tensor;
}

/// FlashInfer-Bench calls the function `run` of the reference.
void check_reference(const JsonReader& at, std::string_view source) {
  constexpr std::string_view kFunction = "def run";
  for (std::size_t line = 0; line < source.size();) {
    const std::size_t end = std::min(source.find('\n', line), source.size());
    const std::string_view text = source.substr(line, end - line);
    const std::size_t after = std::min(text.find_first_not_of(' ', kFunction.size()), text.size());
    if (text.starts_with(kFunction) && text.substr(after).starts_with('(')) return;
    line = end + 1;
  }
  at.fail("Python source with a top-level function 'run'");
}

void check_outputs(const JsonReader& at, const Definition& definition) {
  if (definition.outputs.empty()) at.fail("at least one output");
  for (const TensorSpec& output : definition.outputs) {
    if (std::ranges::find(definition.inputs, output.name, &TensorSpec::name) == definition.inputs.end())
      continue;
    at.member(output.name).fail("a name that no input has");
  }
}

Definition read_definition(const JsonReader& at) {
  at.only(
      {"name", "description", "op_type", "tags", "axes", "constraints", "inputs", "outputs", "reference"});
  Definition definition;
  definition.name = read_definition_name(at.member("name"));
  definition.description = read_optional_text(at, "description");
  definition.op_type = read_non_empty(at.member("op_type"));
  definition.tags = read_texts(at, "tags");
  for (const auto& [name, value] : at.member("axes").members())
    definition.axes.push_back(read_axis(name, value, definition.axes));
  // Kept as text: FlashInfer-Bench allows Python here that is not an Expression, e.g. "n == indptr[-1].item()".
  definition.constraints = read_texts(at, "constraints");
  for (const auto& [name, value] : at.member("inputs").members()) {
    definition.inputs.push_back(read_tensor(name, value, definition.axes));
  }
  for (const auto& [name, value] : at.member("outputs").members()) {
    definition.outputs.push_back(read_tensor(name, value, definition.axes));
  }
  check_outputs(at.member("outputs"), definition);
  definition.reference = at.member("reference").text();
  check_reference(at.member("reference"), definition.reference);
  return definition;
}

Json axis_json(const Axis& axis) {
  Json json = Json::object();
  json["type"] = axis.derived ? "derived" : axis.value ? "const" : "var";
  if (axis.derived) json["value"] = axis.derived->text();
  if (axis.value) json["value"] = *axis.value;
  if (!axis.description.empty()) json["description"] = axis.description;
  return json;
}

/// Whole numbers as integers, however they were written.
Json number_json(double value) {
  constexpr double kExact = 1LL << 53;
  const bool whole = value >= -kExact && value <= kExact && value == std::floor(value);
  return whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
}

Json tensors_json(const std::vector<TensorSpec>& tensors) {
  Json json = Json::object();
  for (const TensorSpec& tensor : tensors) {
    Json& entry = json[tensor.name] = Json::object();
    entry["shape"] = tensor.shape ? Json(*tensor.shape) : Json(nullptr);
    entry["dtype"] = info(tensor.dtype).name;
    if (tensor.values.size() == 1) entry["value"] = number_json(tensor.values.front());
    if (tensor.values.size() > 1) entry["values"] = Json::array();
    for (std::size_t i = 0; tensor.values.size() > 1 && i < tensor.values.size(); ++i)
      entry["values"].push_back(number_json(tensor.values[i]));
    if (tensor.zeroed) entry["initial"] = "zero";
    if (tensor.weight) entry["role"] = "weight";
    if (!tensor.description.empty()) entry["description"] = tensor.description;
  }
  return json;
}

Environment all_axes(const Definition& definition, const AxisValues& sizes) {
  Environment axes(sizes.begin(), sizes.end());
  add_axes(definition, axes);
  return axes;
}

std::int64_t extent(const Environment& axes, const std::string& axis) {
  const auto found = axes.find(axis);
  AK_ASSERT(found != axes.end(), "every varying axis has a size, and derived ones have a value there");
  return std::get<std::int64_t>(found->second);
}

}  // namespace

const TensorSpec* Definition::find_tensor(std::string_view tensor_name) const {
  for (const auto* tensors : {&inputs, &outputs}) {
    const auto found = std::ranges::find(*tensors, tensor_name, &TensorSpec::name);
    if (found != tensors->end()) return &*found;
  }
  return nullptr;
}

std::string Definition::hash() const { return sha256_hex(to_json(*this).dump()); }

Json to_json(const Definition& definition) {
  Json json = Json::object();
  json["name"] = definition.name;
  if (!definition.description.empty()) json["description"] = definition.description;
  json["op_type"] = definition.op_type;
  if (!definition.tags.empty()) json["tags"] = definition.tags;
  json["axes"] = Json::object();
  for (const Axis& axis : definition.axes) json["axes"][axis.name] = axis_json(axis);
  if (!definition.constraints.empty()) json["constraints"] = definition.constraints;
  json["inputs"] = tensors_json(definition.inputs);
  json["outputs"] = tensors_json(definition.outputs);
  json["reference"] = definition.reference;
  return json;
}

Result<Definition> definition_from_json(const Json& json) {
  try {
    return read_definition(JsonReader(json));
  } catch (const JsonInputError& input_error) {
    return InputError{input_error.what()};
  }
}

std::string shape_name(const Definition& definition, const AxisValues& sizes) {
  std::string name;
  for (const Axis& axis : definition.axes)
    if (const auto size = sizes.find(axis.name); size != sizes.end())
      name += fmt::format("{}{}={}", name.empty() ? "" : ",", axis.name, size->second);
  return name;
}

void add_axes(const Definition& definition, Environment& environment) {
  for (const Axis& axis : definition.axes) {
    if (axis.value) environment[axis.name] = *axis.value;
    if (!axis.derived) continue;
    const Result<std::int64_t> value = axis.derived->evaluate_integer(environment);
    if (value) environment[axis.name] = *value;
    if (!value) environment.erase(axis.name);
  }
}

std::vector<std::int64_t> tensor_extents(const Definition& definition, const TensorSpec& tensor,
                                         const AxisValues& sizes) {
  std::vector<std::int64_t> extents;
  if (!tensor.shape) return extents;
  const Environment axes = all_axes(definition, sizes);
  for (const std::string& axis : *tensor.shape) extents.push_back(extent(axes, axis));
  return extents;
}

std::int64_t element_count(const Definition& definition, const TensorSpec& tensor, const AxisValues& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor_extents(definition, tensor, sizes)) {
    if (__builtin_mul_overflow(count, extent, &count)) {
      fail(ExitCode::bad_input, "tensor '{}' of '{}' has more than 2^63 elements", tensor.name,
           definition.name);
    }
  }
  return count;
}

}  // namespace ak
