// SPDX-License-Identifier: Apache-2.0
#include "core/text/json.h"

#include <catch2/catch.hpp>

#include "core/text/json_nesting.h"

namespace ak {
namespace {

std::string nested(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_json(text));
  } catch (const Json::parse_error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a JSON text that is nested too deeply for the stack is refused before it is read") {
  CHECK(parse_json(nested(kMaxJsonNesting)).size() == 1);
  for (const int levels : {kMaxJsonNesting + 1, 1'000'000}) {
    CHECK_THAT(refusal(nested(levels)), Catch::Contains("nested more than 64 levels deep"));
    CHECK(try_parse_json(nested(levels)).is_discarded());
  }
  CHECK(try_parse_json(std::string(1'000'000, '{')).is_discarded());
}

TEST_CASE("brackets within strings are no levels, wherever the string ends") {
  const std::string many(1000, '[');
  CHECK_FALSE(nests_too_deeply('"' + many + '"'));
  CHECK_FALSE(nests_too_deeply(R"({"a\"b": ")" + many + R"(\\"})"));
  CHECK_FALSE(nests_too_deeply('"' + many));
  CHECK(nests_too_deeply(R"(["\\",)" + many));
  CHECK(nests_too_deeply(R"(["\\\"",)" + many));
  CHECK(parse_json(R"([")" + many + R"(\"", "]"])").at(0).get<std::string>().size() == many.size() + 1);
}

TEST_CASE("a text with a NUL byte is no JSON, whatever stands before and after it") {
  for (const std::string_view text : {std::string_view("2\0]]", 4), std::string_view("{}\0", 3),
                                      std::string_view("\0{}", 3), std::string_view("[\"a\0\"]", 6)}) {
    CHECK_THAT(refusal(std::string(text)), Catch::Contains("NUL byte"));
    CHECK(try_parse_json(text).is_discarded());
  }
}

TEST_CASE("a number that no double holds makes a text no JSON") {
  CHECK_THAT(refusal(R"({"max_cost_usd": 1e999})"), Catch::Contains("1e999"));
  CHECK(try_parse_json("[1e999]").is_discarded());
  CHECK(parse_json("[1e308]").at(0).get<double>() == 1e308);
}

}  // namespace ak
