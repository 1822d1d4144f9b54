// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/text/json_reader.h"
#include "core/text/quantity.h"
#include "core/text/written_json.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ak::fuzz {
namespace {

constexpr QuantityRange kSizes{.kind = QuantityRange::Kind::size, .max = 1e9, .unit = "M"};
constexpr std::array kKinds{QuantityRange{}, kMinutes, kSeconds, kDollars, kSizes, kPercent};

}  // namespace

void read_quantities(std::string_view input) {
  for (const QuantityRange& kind : kKinds) {
    const Result<double> number = parse_quantity(input, kind);
    AK_ASSERT(!number || is_within(*number, kind), "a number that was read is within its range");
    AK_ASSERT(number || number.error().message.starts_with("expected "), "a refusal says what was expected");
  }
  const Result<std::int64_t> integer = parse_integer(input, {});
  AK_ASSERT(!integer || (*integer >= 1 && *integer <= kMaxCount),
            "an integer that was read is within its range");
}

void read_written_texts(std::string_view input) {
  const Json json = try_parse_json(input);
  try {
    AK_ASSERT(parse_written_json(input) == json, "a text without repeated keys is read as ever");
  } catch (const Json::parse_error&) {
    AK_ASSERT(json.is_discarded(), "what is JSON is read");
  } catch (const JsonInputError&) {
    AK_ASSERT(find_repeated_key(input).has_value(), "a repeated key is found");
  }
}

}  // namespace ak::fuzz
