// SPDX-License-Identifier: Apache-2.0
#include "core/text/written_json.h"

#include <catch2/catch.hpp>

#include "core/plan/candidate.h"
#include "core/text/json_reader.h"

namespace ak {
namespace {

using Catch::Contains;

std::string repeated(std::string_view text) {
  try {
    static_cast<void>(parse_written_json(text));
  } catch (const JsonInputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a number that no double holds is no JSON, and the message says which number and where") {
  for (const char* text : {"1e999", "[1, -1e999]", "{\"a\": {\"b\": [1e400]}}", "1e99999999999999999999"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_json(text), Json::parse_error);
    CHECK(try_parse_json(text).is_discarded());
  }
  CHECK_THROWS_WITH(parse_json("{\"a\": 1,\n \"b\": 1e999}"),
                    Contains("line 2, column 7") && Contains("the number 1e999"));
}

TEST_CASE("a key that an object has twice is refused with its lines") {
  CHECK(repeated("{\n  \"a\": 1,\n  \"b\": {\"c\": 1,\n    \"c\": 2}}") ==
        "line 4: the key 'c' is there twice, first in line 3");
  CHECK(repeated(R"({"a": 1, "a": 1})") == "the key 'a' is there twice");
  CHECK(repeated(R"({"a": 1, "\u0061": 2})") == "the key 'a' is there twice");
  CHECK(repeated(R"([{"x": [{"a": 1, "a": 2}]}])") == "the key 'a' is there twice");
  CHECK(repeated(R"({"": 1, "": 2})") == "the key '' is there twice");
}

TEST_CASE("keys of different objects, and texts that look like keys, repeat as they like") {
  for (const char* text : {R"({"a": {"a": {"a": 1}}, "b": {"a": 2}})", R"([{"a": 1}, {"a": 2}])",
                           R"({"a": "a\": 1, \"a", "b": "a"})", R"({"a": ["a", "a", "b"], "b": "\\"})", "[]",
                           "\"a\"", "1", R"({"a" : 1 , "A" : 2})"}) {
    INFO(text);
    CHECK(repeated(text).empty());
    CHECK(parse_written_json(text) == parse_json(text));
  }
}

TEST_CASE("a launch plan with a key twice is refused at its line") {
  const std::string source =
      "/* alphakernel\n{\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [32],\n"
      "   \"block\": [64], \"args\": []}]}\n*/\nextern \"C\" __global__ void k() {}\n";
  const Result<Candidate> candidate = parse_candidate("k.cu", source);
  REQUIRE_FALSE(candidate);
  CHECK(candidate.error().message ==
        "the launch plan has the key 'block' twice in one object, first in line 2");
  CHECK(candidate.error().line == 3);
}

}  // namespace ak
