// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/problem_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/expression_lexer.h"

namespace ak::codegen {
namespace {

std::vector<std::int64_t> read_sizes(const JsonReader& at) {
  std::vector<std::int64_t> sizes;
  for (const JsonReader& item : at.items()) {
    sizes.push_back(item.integer());
    if (sizes.back() < 1) item.fail("an integer of at least 1");
  }
  if (sizes.empty()) at.fail("at least one value");
  std::sort(sizes.begin(), sizes.end());
  const auto repeated = std::adjacent_find(sizes.begin(), sizes.end());
  if (repeated != sizes.end()) at.reject(fmt::format("{} is listed twice", *repeated));
  return sizes;
}

std::string literal_text(const Value& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number == nullptr) return fmt::format("'{}'", std::get<std::string>(value));
  return *number < 0 ? fmt::format("({})", *number) : std::to_string(*number);
}

/// An expression's text with values instead of the names of params.
std::string with_values(std::string_view text, const Params& params) {
  std::string replaced;
  std::size_t copied = 0;
  ExpressionLexer lexer(text);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    const auto param = token.kind == TokenKind::name ? params.find(token.text) : params.end();
    if (param == params.end()) continue;
    const auto at = static_cast<std::size_t>(token.column) - 1;
    replaced += text.substr(copied, at - copied);
    replaced += literal_text(param->second);
    copied = at + token.text.size();
  }
  return replaced + std::string(text.substr(copied));
}

AxisRange read_bounds(const JsonReader& at) {
  const std::vector<JsonReader> bounds = at.items();
  if (bounds.size() != 2) at.fail("a range [low, high]; a list of values is {\"values\": [...]}");
  const AxisRange range{.low = bounds[0].integer(), .high = bounds[1].integer()};
  if (range.low < 1 || range.high < range.low) at.fail("a range [low, high] with 1 <= low <= high");
  return range;
}

}  // namespace

Environment environment_of(const Params& params) { return Environment(params.begin(), params.end()); }

Expression read_formula(const JsonReader& at) {
  const std::string text = at.json().is_number_integer() ? at.json().dump() : at.text();
  Result<Expression> parsed = Expression::parse(text);
  if (!parsed) at.reject(fmt::format("'{}': {}", text, parsed.error().message));
  return std::move(parsed).value();
}

DType read_dtype(const JsonReader& at, const Params& params) {
  std::string text = at.text();
  if (!parse_dtype(text)) {
    const Result<Value> value = read_formula(at).evaluate(environment_of(params));
    if (!value) at.reject(value.error().message);
    text = to_string(*value);
  }
  const auto dtype = parse_dtype(text);
  if (!dtype) at.fail("a dtype, the name of a param that holds one, or an expression over params");
  return *dtype;
}

Expression read_axis_formula(const JsonReader& at, const Params& params, const std::vector<Axis>& axes) {
  std::string text = with_values(read_formula(at).text(), params);
  Result<Expression> parsed = Expression::parse(text);
  if (!parsed) at.reject(fmt::format("'{}': {}", text, parsed.error().message));
  for (const std::string& name : parsed->names()) {
    if (std::ranges::find(axes, name, &Axis::name) == axes.end())
      at.reject(fmt::format("'{}' is neither a param nor an axis before this one", name));
  }
  return std::move(parsed).value();
}

bool holds(const JsonReader& at, const Params& params) {
  const Result<bool> value = read_formula(at).evaluate_bool(environment_of(params));
  if (!value) at.reject(value.error().message);
  return *value;
}

double read_number(const JsonReader& at, const Params& params) {
  if (at.json().is_number()) return at.number();
  const Result<std::int64_t> value = read_formula(at).evaluate_integer(environment_of(params));
  if (!value) at.reject(value.error().message);
  return static_cast<double>(*value);
}

AxisRange read_axis_range(const JsonReader& at) {
  if (at.json().is_array()) return read_bounds(at);
  if (!at.json().is_object()) {
    const std::int64_t size = at.integer();
    if (size < 1) at.fail("a number of at least 1, a range [low, high], or an object");
    return {.low = size, .high = size};
  }
  at.only({"range", "multiple", "values"});
  if (const auto values = at.find("values")) {
    if (at.find("range") || at.find("multiple")) at.reject("'values' takes no 'range' and no 'multiple'");
    std::vector<std::int64_t> sizes = read_sizes(*values);
    const std::int64_t low = sizes.front(), high = sizes.back();
    return {.low = low, .high = high, .values = std::move(sizes)};
  }
  AxisRange range = read_bounds(at.member("range"));
  range.multiple = at.member("multiple").integer();
  if (range.multiple < 1) at.member("multiple").fail("an integer of at least 1");
  if (range.high / range.multiple * range.multiple < range.low)
    at.reject(fmt::format("no multiple of {} lies in [{}, {}]", range.multiple, range.low, range.high));
  return range;
}

}  // namespace ak::codegen
