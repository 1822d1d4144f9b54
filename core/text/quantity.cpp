// SPDX-License-Identifier: Apache-2.0
#include "core/text/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "core/text/characters.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

constexpr std::size_t kShownTextBytes = 60;  // enough to recognise a value, short enough for one line

struct Unit {
  std::string_view name;
  double factor;  ///< seconds, or bytes
};
constexpr std::array kTimes{Unit{"ms", 1e-3}, Unit{"s", 1},    Unit{"m", 60},
                            Unit{"min", 60},  Unit{"h", 3600}, Unit{"d", 86'400}};
constexpr std::array kSizes{Unit{"B", 1},       Unit{"K", 0x1p10},   Unit{"KB", 0x1p10},  Unit{"KiB", 0x1p10},
                            Unit{"M", 0x1p20},  Unit{"MB", 0x1p20},  Unit{"MiB", 0x1p20}, Unit{"G", 0x1p30},
                            Unit{"GB", 0x1p30}, Unit{"GiB", 0x1p30}, Unit{"T", 0x1p40},   Unit{"TB", 0x1p40},
                            Unit{"TiB", 0x1p40}};

/// The factor of a unit by its name; nothing for what is none.
std::optional<double> factor_of(std::span<const Unit> units, std::string_view name) {
  const auto found = std::ranges::find(units, name, &Unit::name);
  return found == units.end() ? std::nullopt : std::optional(found->factor);
}

/// Takes a finite decimal number from the front of `text`; nothing where none begins there.
std::optional<double> take_number(std::string_view& text) {
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  if (first == text.size() || !(is_digit(text[first]) || text[first] == '.')) return std::nullopt;
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Takes the letters of a unit, with at most one blank before them.
std::string_view take_unit(std::string_view& text) {
  if (text.size() > 1 && text[0] == ' ' && is_word_start(text[1])) text.remove_prefix(1);
  const auto end = std::ranges::find_if_not(text, is_word_start);
  const std::string_view unit = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(unit.size());
  return unit;
}

/// The whole text as a number without a unit.
std::optional<double> plain_number(std::string_view text) {
  const auto value = take_number(text);
  return text.empty() ? value : std::nullopt;
}

/// "1h30m" in seconds, or "4G" in bytes: the sum of numbers with units, each smaller than the one before.
std::optional<double> with_units(std::string_view text, std::span<const Unit> units) {
  double sum = 0, last_factor = std::numeric_limits<double>::infinity();
  do {
    const auto value = take_number(text);
    const auto factor = factor_of(units, take_unit(text));
    if (!value || *value < 0 || !factor || *factor >= last_factor) return std::nullopt;
    sum += *value * *factor;
    last_factor = *factor;
  } while (!text.empty());
  return sum;
}

std::optional<double> measured(std::string_view text, std::span<const Unit> units,
                               std::string_view own_unit) {
  if (const auto plain = plain_number(text)) return plain;
  const auto sum = with_units(text, units);
  return sum ? std::optional(*sum / *factor_of(units, own_unit)) : std::nullopt;
}

std::optional<double> dollars(std::string_view text) {
  for (const std::string_view sign : {"US$", "$"}) {
    if (!text.starts_with(sign)) continue;
    const auto value = plain_number(text.substr(sign.size()));
    return value && *value >= 0 ? value : std::nullopt;
  }
  const auto value = take_number(text);
  const std::string_view currency = take_unit(text);
  const bool good = text.empty() && (currency.empty() || currency == "USD" || currency == "usd");
  return good ? value : std::nullopt;
}

/// "1%", "0.5 %" or "1".
std::optional<double> percent(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(text.ends_with(" %") ? 2 : 1);
  return plain_number(text);
}

std::optional<double> value_of(std::string_view text, const QuantityRange& quantity) {
  switch (quantity.kind) {
    case QuantityRange::Kind::number:
      return plain_number(text);
    case QuantityRange::Kind::time:
      return measured(text, kTimes, quantity.unit);
    case QuantityRange::Kind::money:
      return dollars(text);
    case QuantityRange::Kind::size:
      return measured(text, kSizes, quantity.unit);
    case QuantityRange::Kind::share:
      return percent(text);
  }
  return std::nullopt;
}

InputError input_error(const std::string& expectation, std::string_view text) {
  return {fmt::format("expected {}, got '{}'", expectation, sanitize(text, kShownTextBytes))};
}

/// A bound as people write it: no exponents.
std::string bound(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

}  // namespace

std::string expected(const IntegerRange& range) {
  return range.max == INT64_MAX ? fmt::format("an integer of at least {}", range.min)
                                : fmt::format("an integer from {} to {}", range.min, range.max);
}

std::string expected(const QuantityRange& quantity) {
  const std::string range =
      quantity.above_min ? fmt::format("above {} and at most {}", bound(quantity.min), bound(quantity.max))
                         : fmt::format("from {} to {}", bound(quantity.min), bound(quantity.max));
  switch (quantity.kind) {
    case QuantityRange::Kind::number:
      return fmt::format("a number {}", range);
    case QuantityRange::Kind::time:
      return fmt::format("a time {0} {1}, such as 90s, 2h or 1h30m (without a unit: {1})", range,
                         quantity.unit);
    case QuantityRange::Kind::money:
      return fmt::format("US dollars {}, such as 5, 0.50, $5 or '5 USD'", range);
    case QuantityRange::Kind::size:
      return fmt::format("a size {0} {1}, such as 512M or 4G (without a unit: {1})", range, quantity.unit);
    case QuantityRange::Kind::share:
      return fmt::format("a share {} %, such as 1% or 0.5%", range);
  }
  return range;
}

Result<std::int64_t> parse_integer(std::string_view text, const IntegerRange& range) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = status == std::errc() && end == text.data() + text.size();
  if (whole && value >= range.min && value <= range.max) return value;
  return input_error(expected(range), text);
}

Result<double> parse_quantity(std::string_view text, const QuantityRange& quantity) {
  const auto value = value_of(text, quantity);
  if (value && is_within(*value, quantity)) return *value;
  return input_error(expected(quantity), text);
}

bool is_within(double value, const QuantityRange& quantity) {
  return value <= quantity.max && (quantity.above_min ? value > quantity.min : value >= quantity.min);
}

}  // namespace ak
