// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/tuning/condition.h"
#include "core/tuning/tuning_value.h"

namespace ak {
namespace {

using Values = std::vector<TuningValue>;

constexpr std::size_t kMaxValues = 65'535;  // ordinals have 16 bits
constexpr std::size_t kMaxCharacters = 1u << 20;
constexpr int kDeepest = 16;

/// Why a text is not a list of values; becomes an Error.
struct ListFault {
  std::string message;
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// First place of `word` outside brackets and quotes, or npos.
std::size_t find_outside(std::string_view text, std::string_view word) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (depth == 0 && text.substr(i).starts_with(word)) return i;
    if (c == '\'' || c == '"') quote = c;
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> split_outside(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at; (at = find_outside(text, separator)) != std::string_view::npos;) {
    parts.push_back(trim(text.substr(0, at)));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(trim(text));
  return parts;
}

/// What is in the brackets that begin after `name` and end the text; nothing for any other text.
std::optional<std::string_view> inside(std::string_view text, std::string_view name, char open, char close) {
  if (!text.starts_with(name) || text.size() < name.size() + 2) return std::nullopt;
  text.remove_prefix(name.size());
  if (text.front() != open || text.back() != close) return std::nullopt;
  return trim(text.substr(1, text.size() - 2));
}

/// The name a comprehension binds, and its value.
struct Binding {
  std::string name{};
  ValueRange value{};
};

ValueRange evaluate(std::string_view text, const Binding& binding) {
  const std::map<std::string, std::size_t> slots =
      binding.name.empty() ? std::map<std::string, std::size_t>{}
                           : std::map<std::string, std::size_t>{{binding.name, 0}};
  const auto no_text = [](const std::string&) -> double {
    throw ListFault{"a string cannot be calculated with here"};
  };
  const Result<Condition> compiled = Condition::compile(std::string(text), slots, no_text);
  if (!compiled) throw ListFault{fmt::format("'{}': {}", text, compiled.error().message)};
  const ValueRange value = compiled->value(std::span(&binding.value, 1));
  if (value.kind != ValueRange::Kind::number || !std::isfinite(value.low))
    throw ListFault{fmt::format("'{}' has no value", text)};
  return value;
}

TuningValue as_tuning_value(const ValueRange& value) {
  constexpr double kExact = 0x1p53;
  if (!value.integer) return value.low;
  if (std::abs(value.low) > kExact) throw ListFault{"an integer above 2^53"};
  return static_cast<std::int64_t>(value.low);
}

TuningValue element(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.find(text.front(), 1) == text.size() - 1)
    return std::string(text.substr(1, text.size() - 2));
  return as_tuning_value(evaluate(text, {}));
}

void append(Values& values, TuningValue value) {
  if (values.size() >= kMaxValues) throw ListFault{fmt::format("more than {} values", kMaxValues)};
  values.push_back(std::move(value));
}

Values range(std::string_view arguments) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : split_outside(arguments, ",")) {
    const TuningValue value = as_tuning_value(evaluate(part, {}));
    if (!std::holds_alternative<std::int64_t>(value)) throw ListFault{"range() takes integers"};
    numbers.push_back(std::get<std::int64_t>(value));
  }
  if (numbers.size() > 3) throw ListFault{"range() takes one to three integers"};
  if (numbers.size() == 1) numbers.insert(numbers.begin(), 0);
  const std::int64_t step = numbers.size() == 3 ? numbers[2] : 1;
  if (step == 0) throw ListFault{"range() with step 0"};
  Values values;
  for (std::int64_t i = numbers[0]; step > 0 ? i < numbers[1] : i > numbers[1]; i += step) append(values, i);
  return values;
}

Values parse(std::string_view text, int depth);

/// `EXPRESSION for NAME in VALUES [if CONDITION]`
Values comprehension(std::string_view text, std::size_t for_at, int depth) {
  const std::string_view expression = trim(text.substr(0, for_at));
  const std::string_view rest = text.substr(for_at + 5);
  const std::size_t in_at = find_outside(rest, " in ");
  if (in_at == std::string_view::npos) throw ListFault{"expected 'in' after 'for NAME'"};
  const std::size_t if_at = find_outside(rest, " if ");
  const std::size_t end = std::min(if_at, rest.size());
  if (end < in_at + 4) throw ListFault{"expected values after 'in'"};
  Binding binding{.name = std::string(trim(rest.substr(0, in_at)))};
  Values values;
  for (const TuningValue& each : parse(trim(rest.substr(in_at + 4, end - in_at - 4)), depth + 1)) {
    const auto* integer = std::get_if<std::int64_t>(&each);
    if (std::holds_alternative<std::string>(each)) throw ListFault{"a comprehension over strings"};
    const double number = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(each);
    binding.value = {number, number, ValueRange::Kind::number, integer != nullptr};
    if (if_at != std::string_view::npos && evaluate(rest.substr(if_at + 4), binding).low == 0) continue;
    append(values, as_tuning_value(evaluate(expression, binding)));
  }
  return values;
}

Values elements(std::string_view text, int depth) {
  if (text.empty()) return {};
  if (const std::size_t at = find_outside(text, " for "); at != std::string_view::npos)
    return comprehension(text, at, depth);
  Values values;
  if (text.back() == ',') text.remove_suffix(1);
  for (const std::string_view part : split_outside(text, ",")) append(values, element(part));
  return values;
}

Values parse(std::string_view text, int depth) {
  if (depth > kDeepest) throw ListFault{"nested too deeply"};
  Values values;
  const auto terms = split_outside(text, "+");
  if (terms.size() > 1) {
    for (const std::string_view term : terms)
      for (TuningValue& value : parse(term, depth + 1)) append(values, std::move(value));
    return values;
  }
  for (const std::string_view name : {"list", "tuple"})
    if (const auto inner = inside(text, name, '(', ')')) return parse(*inner, depth + 1);
  if (const auto inner = inside(text, "range", '(', ')')) return range(*inner);
  if (const auto inner = inside(text, "", '[', ']')) return elements(*inner, depth);
  if (const auto inner = inside(text, "", '(', ')')) return elements(*inner, depth);
  throw ListFault{
      fmt::format("expected a list such as [1, 2, 4] or range(1, 9), found '{}'", text.substr(0, 60))};
}

}  // namespace

Result<std::vector<TuningValue>> parse_value_list(const std::string& text) {
  if (text.size() > kMaxCharacters) return InputError{"the list of values is longer than a megabyte"};
  try {
    Values distinct;
    std::set<TuningValue> seen;
    for (TuningValue& value : parse(trim(text), 0))
      if (seen.insert(value).second) distinct.push_back(std::move(value));
    if (distinct.empty()) return InputError{"the list of values is empty"};
    return distinct;
  } catch (const ListFault& fault) {
    return InputError{fault.message};
  }
}

}  // namespace ak
