// SPDX-License-Identifier: Apache-2.0
#include "db/checked_sum.h"

#include <catch2/catch.hpp>

#include "db/sqlite.h"

namespace ak::db {
namespace {

/// "type value" of the sum over `values`, SQL of rows.
std::string sum_of(const std::string& values, const std::string& call = "sum(x)") {
  Connection connection(":memory:", OpenMode::create);
  Statement statement(connection.get(), "WITH v(x) AS (VALUES " + values +
                                            ") SELECT typeof(s) || ' ' || s FROM (SELECT " + call +
                                            " AS s FROM v)");
  return statement.step() ? statement.text(0) : "no row";
}

}  // namespace

TEST_CASE("a sum of integers is an integer while 64 bits hold it, and a real number beyond") {
  CHECK(sum_of("(1), (2), (NULL), (3)") == "integer 6");
  CHECK(sum_of("(9223372036854775806), (1)") == "integer 9223372036854775807");
  CHECK(sum_of("(9223372036854775807), (9223372036854775807), (1)") == "real 1.84467440737096e+19");
  CHECK(sum_of("(-9223372036854775807 - 1), (-1)") == "real -9.22337203685478e+18");
}

TEST_CASE("sums of what is no integer are as SQLite has them") {
  CHECK(sum_of("(1), (0.5)") == "real 1.5");
  CHECK(sum_of("(1), ('many')") == "real 1.0");
  CHECK(sum_of("(1), ('2')") == "integer 3");
  CHECK(sum_of("(1), (x'00')") == "real 1.0");
  CHECK(sum_of("(9e999), (1)") == "real Inf");
  CHECK(sum_of("(NULL)", "coalesce(sum(x), 'nothing')") == "text nothing");
  CHECK(sum_of("(1)", "coalesce(sum(x) FILTER (WHERE x > 1), 'nothing')") == "text nothing");
  CHECK(sum_of("(1), (1), (2)", "sum(DISTINCT x)") == "integer 3");
}

TEST_CASE("a window's sum takes back what has left the window") {
  Connection connection(":memory:", OpenMode::create);
  Statement statement(
      connection.get(),
      "WITH v(i, x) AS (VALUES (1, 1), (2, 20), (3, 300), (4, NULL)) SELECT group_concat(s, ',') FROM "
      "(SELECT sum(x) OVER (ORDER BY i ROWS 1 PRECEDING) AS s FROM v)");
  REQUIRE(statement.step());
  CHECK(statement.text(0) == "1,21,320,300");
}

}  // namespace ak::db
