// SPDX-License-Identifier: Apache-2.0
#include "db/read/sample_values.h"

#include <catch2/catch.hpp>

namespace ak::db::test {
namespace {

std::string answer(const std::string& sql) {
  Connection connection(":memory:", OpenMode::create);
  add_sample_values(connection);
  Statement statement(connection.get(), sql);
  const bool row = statement.step();  // outside of REQUIRE, which would take an exception for a failure
  REQUIRE(row);
  return statement.text(0);
}

TEST_CASE("packed samples are an array of numbers in SQL") {
  CHECK(answer("SELECT sample_values(x'01000000ffffffff00020000')") == "[1,4294967295,512]");
  CHECK(answer("SELECT sample_values(x'')") == "[]");
  CHECK(answer("SELECT coalesce(sample_values(NULL), 'none')") == "none");
  CHECK(answer("SELECT sum(value) FROM json_each(sample_values(x'0100000002000000'))") == "3");
}

TEST_CASE("what holds no whole samples is refused with what was expected") {
  for (const char* value : {"x'010203'", "'text'", "1"})
    CHECK_THROWS_WITH(answer("SELECT sample_values(" + std::string(value) + ")"),
                      Catch::Contains("expected a blob of 32-bit samples"));
}

}  // namespace
}  // namespace ak::db::test
