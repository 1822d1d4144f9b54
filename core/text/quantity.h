// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace ak {

// Numbers, times, amounts of money and sizes that people write: on command lines, and as texts in JSON files.
// What is read is finite and within its range; nothing else is a number here: no "nan", "inf", hexadecimal digits,
// signs of plus, separators of thousands, or blanks around it.

/// More than any run counts, and so few that sums of them stay far from the limits of 64 bits.
inline constexpr std::int64_t kMaxCount = 1'000'000'000'000;

/// The integers that make sense.
struct IntegerRange {
  std::int64_t min = 1, max = kMaxCount;
};

/// A number with a fraction, and which make sense. All bounds are in the unit of a number without one.
struct QuantityRange {
  enum class Kind : std::uint8_t {
    number,
    time,   ///< "90s", "2h", "1h30m", "2.5h", "250ms", "1d"
    money,  ///< US dollars: "5", "0.50", "$5", "5 USD"
    size,   ///< "512M", "4G", "4 GiB": powers of 1024
    share,  ///< "1%", "0.5 %", "1": in percent
  };
  Kind kind = Kind::number;
  double min = 0, max = 1e15;
  bool above_min = false;      ///< `min` itself makes no sense
  std::string_view unit = {};  ///< of a time or size without one: "s", "min"; "M"
};

/// A year: longer than any search or session, and far from the limits of clocks.
inline constexpr QuantityRange kMinutes{
    .kind = QuantityRange::Kind::time, .max = 525'600, .above_min = true, .unit = "min"};
/// For how long a program may be asked to wait: a day.
inline constexpr QuantityRange kSeconds{
    .kind = QuantityRange::Kind::time, .max = 86'400, .above_min = true, .unit = "s"};
/// A part of something that is not all of it.
inline constexpr QuantityRange kPercent{.kind = QuantityRange::Kind::share, .max = 100, .above_min = true};
/// Relative errors: a result that is off by all of its size is none.
inline constexpr QuantityRange kErrors{.kind = QuantityRange::Kind::number, .max = 1, .above_min = true};
/// More than anyone spends on kernels.
inline constexpr QuantityRange kDollars{.kind = QuantityRange::Kind::money, .max = 1e9};

/// "an integer from 1 to 16", for the middle of a message.
[[nodiscard]] std::string expected(const IntegerRange& range);
/// "a time above 0 and at most 525600 min, such as 90s, 2h or 1h30m (without a unit: min)".
[[nodiscard]] std::string expected(const QuantityRange& quantity);

/// The number that the whole text is, or "expected ..., got '...'".
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text, const IntegerRange& range);
/// In the unit of a number without one.
[[nodiscard]] Result<double> parse_quantity(std::string_view text, const QuantityRange& quantity);

/// Whether a number is one of those that make sense; NaN is not.
[[nodiscard]] bool is_within(double value, const QuantityRange& quantity);

}  // namespace ak
