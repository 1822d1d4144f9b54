// SPDX-License-Identifier: Apache-2.0
#include "serve/pages/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/error.h"
#include "db/read/reader.h"

namespace ak::pages {
namespace {

/// A unit that values of at least `from` (in the smallest unit of its kind) are shown in.
struct Step {
  double from, size;
  std::string_view symbol;
};

// In ns. Up to two of the next unit people count in the smaller one: "90 s", "36 h".
constexpr std::array kTimes{
    Step{0, 1, "ns"},         Step{1e3, 1e3, "µs"},      Step{1e6, 1e6, "ms"},        Step{1e9, 1e9, "s"},
    Step{120e9, 60e9, "min"}, Step{7200e9, 3600e9, "h"}, Step{172800e9, 86400e9, "d"}};
constexpr std::array kBytes{Step{0, 1, "B"}, Step{0x1p10, 0x1p10, "KiB"}, Step{0x1p20, 0x1p20, "MiB"},
                            Step{0x1p30, 0x1p30, "GiB"}, Step{0x1p40, 0x1p40, "TiB"}};
constexpr std::array kCounts{Step{1e6, 1e6, "million"}, Step{1e9, 1e9, "billion"}};

struct TimeUnit {
  std::string_view name;
  double ns;
};
constexpr std::array kTimeUnits{TimeUnit{"ns", 1},         TimeUnit{"us", 1e3},
                                TimeUnit{"ms", 1e6},       TimeUnit{"seconds", 1e9},
                                TimeUnit{"minutes", 60e9}, TimeUnit{"hours", 3600e9}};

std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string significant(double value, int digits) {
  const int decimals = std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value)))));
  return without_trailing_zeros(fmt::format("{:.{}f}", value, decimals));
}

/// The largest unit that the value reaches.
const Step& step_of(double value, std::span<const Step> steps) {
  const Step* chosen = &steps.front();
  for (const Step& step : steps)
    if (std::abs(value) >= step.from) chosen = &step;
  return *chosen;
}

std::string scaled(double value, std::span<const Step> steps) {
  const Step& step = step_of(value, steps);
  return fmt::format("{} {}", number_text(value / step.size), step.symbol);
}

/// Kernels differ in the fourth digit; nobody compares durations that closely.
std::string time_text(double ns) {
  if (std::abs(ns) < 1e9) return scaled(ns, kTimes);
  const Step& step = step_of(ns, kTimes);
  return fmt::format("{} {}", significant(ns / step.size, 3), step.symbol);
}

std::string dollars_text(double value) {
  if (value != 0 && std::abs(value) < 0.01) return "US$ " + significant(value, 2);
  const std::string text = fmt::format("{:.2f}", std::abs(value));
  const std::size_t point = text.find('.');
  return fmt::format("US$ {}{}{}", value < 0 ? "-" : "", count_text(std::stoll(text.substr(0, point))),
                     text.substr(point));
}

std::string ratio_text(double value) {
  const double size = std::abs(value);
  return (size >= 100 ? count_text(std::llround(value)) : fmt::format("{:.{}f}", value, size >= 10 ? 1 : 2)) +
         "×";
}

std::string shown_count(double value) {
  return std::abs(value) < 1e6 ? count_text(std::llround(value)) : scaled(value, kCounts);
}

std::string function_quantity(std::string_view value, std::string_view unit) {
  double number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (status != std::errc() || end != value.data() + value.size()) return "–";
  return quantity_text(number, unit);
}

}  // namespace

std::string count_text(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string number_text(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e12) return fmt::format("{:.3e}", value);
  return size >= 1e4 ? count_text(std::llround(value)) : significant(value, 4);
}

std::string quantity_text(double value, std::string_view unit) {
  if (!std::isfinite(value)) return "–";
  if (const auto time = std::ranges::find(kTimeUnits, unit, &TimeUnit::name); time != kTimeUnits.end())
    return time_text(value * time->ns);
  if (unit == "bytes") return scaled(value, kBytes);
  if (unit == "usd" && std::abs(value) < 1e15) return dollars_text(value);
  if (unit == "usd") return fmt::format("US$ {:.3e}", value);
  if (unit == "pct") return (value == 0 ? "0" : significant(value, 3)) + " %";
  if (unit == "ratio") return ratio_text(value);
  if (unit == "count") return shown_count(value);
  fail(ExitCode::bad_input,
       "quantity: the unit is '{}', expected ns, us, ms, seconds, minutes, hours, bytes, usd, pct, ratio or "
       "count",
       unit);
}

std::string cuda_version_text(std::int64_t version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string moment_text(const std::string& text) {
  return text.size() >= 16 && text[10] == 'T' ? text.substr(0, 10) + " " + text.substr(11, 5) : text;
}

void define_quantity(db::Reader& reader) { reader.define("quantity", function_quantity); }

}  // namespace ak::pages
