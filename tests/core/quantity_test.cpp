// SPDX-License-Identifier: Apache-2.0
#include "core/text/quantity.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "core/text/json_quantity.h"

namespace ak {
namespace {

constexpr IntegerRange kAll{.min = INT64_MIN, .max = INT64_MAX};
constexpr QuantityRange kNumber{.min = -1e6, .max = 1e6};
constexpr QuantityRange kSize{.kind = QuantityRange::Kind::size, .max = 0x1p30, .unit = "M"};

/// What no number of any kind is.
const std::vector<std::string> kNoNumbers{
    "",     " ",     "nan",    "NaN",   "-nan", "inf", "-inf",   "infinity", "1e999", "-1e999",
    "0x10", "1,000", "1_000",  "1 000", " 5",   "5 ",  "5\n",    "+5",       "--5",   "5.5.5",
    "five", "5x",    "1e",     "e5",    ".",    "-",   "٣",      "5;rm",     "$",     "1h30",
    "h",    "2 h h", "$5 USD", "5 EUR", "-$5",  "$-5", "1h-30m", "4GG",      "5 G B"};

template <class T>
std::string error_of(const Result<T>& number) {
  return number ? "" : number.error().message;
}

}  // namespace

TEST_CASE("times are read with units, and without one in their own") {
  const auto minutes = [](const char* text) { return parse_quantity(text, kMinutes).value(); };
  CHECK(minutes("30") == 30);
  CHECK(minutes("0.5") == 0.5);
  CHECK(minutes("90s") == 1.5);
  CHECK(minutes("2h") == 120);
  CHECK(minutes("1h30m") == 90);
  CHECK(minutes("1h30min") == 90);
  CHECK(minutes("2.5h") == 150);
  CHECK(minutes("1 h") == 60);
  CHECK(minutes("1d") == 1440);
  CHECK(minutes("60000ms") == 1);
  for (const char* wrong : {"1h1h", "30m1h", "1m60s1s", "1h 30", "h", "1x"}) {
    INFO(wrong);
    CHECK_FALSE(parse_quantity(wrong, kMinutes));
  }
  CHECK(parse_quantity("2h", kSeconds).value() == 7200);
  CHECK(parse_quantity("30", kSeconds).value() == 30);
}

TEST_CASE("money is read with its currency or without") {
  const auto dollars = [](const char* text) { return parse_quantity(text, kDollars).value(); };
  CHECK(dollars("5") == 5);
  CHECK(dollars("0.50") == 0.5);
  CHECK(dollars("$5") == 5);
  CHECK(dollars("US$5") == 5);
  CHECK(dollars("5 USD") == 5);
  CHECK(dollars("5USD") == 5);
  CHECK(dollars("0") == 0);
  CHECK(dollars("1e-05") == 1e-5);
}

TEST_CASE("shares are in percent, with the sign or without") {
  for (const auto& [text, percent] : {std::pair("1%", 1.0), std::pair("0.5 %", 0.5), std::pair("2", 2.0)})
    CHECK(parse_quantity(text, kPercent).value() == percent);
  for (const char* wrong : {"0%", "101%", "1%%", "%", "1  %", "-1%", "one"})
    CHECK_FALSE(parse_quantity(wrong, kPercent));
  CHECK_THAT(error_of(parse_quantity("0", kPercent)), Catch::StartsWith("expected a share"));
}

TEST_CASE("sizes are powers of 1024") {
  CHECK(parse_quantity("512", kSize).value() == 512);
  CHECK(parse_quantity("4G", kSize).value() == 4096);
  CHECK(parse_quantity("4 GiB", kSize).value() == 4096);
  CHECK(parse_quantity("1.5G", kSize).value() == 1536);
  CHECK(parse_quantity("1048576B", kSize).value() == 1);
}

TEST_CASE("what is no number is refused in every kind, with what was expected and what was given") {
  for (const std::string& text : kNoNumbers) {
    INFO("'" << text << "'");
    CHECK_THAT(error_of(parse_integer(text, kAll)), Catch::StartsWith("expected an integer"));
    CHECK_THAT(error_of(parse_quantity(text, kNumber)), Catch::StartsWith("expected a number"));
    CHECK_THAT(error_of(parse_quantity(text, kMinutes)), Catch::StartsWith("expected a time"));
    CHECK_THAT(error_of(parse_quantity(text, kDollars)), Catch::StartsWith("expected US dollars"));
    CHECK_THAT(error_of(parse_quantity(text, kSize)), Catch::StartsWith("expected a size"));
  }
  CHECK(error_of(parse_quantity("1h30", kMinutes)) ==
        "expected a time above 0 and at most 525600 min, such as 90s, 2h or 1h30m (without a unit: min), got "
        "'1h30'");
  CHECK(error_of(parse_integer("1.5", {.max = 16})) == "expected an integer from 1 to 16, got '1.5'");
  CHECK_THAT(error_of(parse_quantity("\x1b[31m", kDollars)), !Catch::Contains("\x1b"));
}

TEST_CASE("numbers outside of their range are refused, and the bounds themselves are not") {
  CHECK(parse_integer("9223372036854775807", kAll).value() == INT64_MAX);
  CHECK(parse_integer("-9223372036854775808", kAll).value() == INT64_MIN);
  CHECK_FALSE(parse_integer("9223372036854775808", kAll));
  CHECK_FALSE(parse_integer("-1", {.min = 0}));
  CHECK(parse_integer("0", {.min = 0}));
  CHECK_FALSE(parse_integer("1000000000001", {}));
  CHECK_FALSE(parse_quantity("0", kMinutes));
  CHECK_FALSE(parse_quantity("-1h", kMinutes));
  CHECK_FALSE(parse_quantity("366d", kMinutes));
  CHECK(parse_quantity("365d", kMinutes));
  CHECK_FALSE(parse_quantity("-0.01", kDollars));
  CHECK_FALSE(is_within(std::nan(""), kNumber));
}

TEST_CASE("a number that is written with any digits and unit is read as what it is") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 40), -static_cast<int>(random() % 24));
    if (value <= 0 || value > kSeconds.max) continue;
    CHECK(parse_quantity(fmt::format("{}", value), kSeconds).value() == value);
    CHECK(parse_quantity(fmt::format("{}s", value), kSeconds).value() == value);
    CHECK(parse_quantity(fmt::format("${}", value), kDollars).value() == value);
    CHECK(parse_quantity(fmt::format("{}ms", value), kSeconds).value() == Approx(value / 1000));
  }
}

TEST_CASE("JSON has the same numbers and ranges, and units as texts") {
  const auto minutes = [](const char* json) {
    return quantity_in(JsonReader(parse_json(json), "x"), kMinutes);
  };
  CHECK(minutes("90") == 90);
  CHECK(minutes("\"1h30m\"") == 90);
  for (const char* wrong : {"0", "-1", "1e300", "\"nan\"", "\"\"", "null", "true", "[1]", "{}"})
    CHECK_THROWS_WITH(minutes(wrong), Catch::StartsWith("x: expected a time above 0"));
  const auto count = [](const char* json) {
    return integer_in(JsonReader(parse_json(json), "x"), {.max = 16});
  };
  CHECK(count("16") == 16);
  for (const char* wrong :
       {"0", "17", "-1", "1.0", "1e3", "18446744073709551615", "9223372036854775808", "\"5\"", "null"})
    CHECK_THROWS_WITH(count(wrong), Catch::StartsWith("x: expected an integer from 1 to 16, got"));
}

}  // namespace ak
