// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "core/text/json.h"
#include "db/database.h"

namespace ak::db::test {
namespace {

Table table_of(std::vector<std::string> columns, std::vector<std::vector<Cell>> rows) {
  return {.columns = std::move(columns), .rows = std::move(rows), .truncated = false};
}

std::string show(const Cell& cell, TableFormat format) { return render(table_of({"x"}, {{cell}}), format); }

TEST_CASE("a table aligns names to the left and numbers to the right") {
  const Table table =
      table_of({"name", "time_us"}, {{std::string("a"), 1.5}, {std::string("longer"), std::int64_t{12345}}});
  CHECK(render(table, TableFormat::table) ==
        "name    time_us\n"
        "------  -------\n"
        "a           1.5\n"
        "longer    12345\n");
}

TEST_CASE("a table keeps a hostile cell on its line and within its column") {
  const std::string shown = show(std::string("a\nb\x1b[31m\tc") + std::string(200, 'y'), TableFormat::table);
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 3);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find("...") != std::string::npos);
  CHECK(shown.size() < 200);
}

TEST_CASE("a table counts characters, not bytes, and never cuts one in half") {
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\xC3\xA9";
  const std::string shown = show(accents, TableFormat::table);
  const std::string line = shown.substr(shown.rfind('\n', shown.size() - 2) + 1);
  CHECK(line == accents.substr(0, 2 * 57) + "...\n");
}

TEST_CASE("csv quotes what RFC 4180 says, ends lines with CRLF and keeps numbers exact") {
  const Table table = table_of({"a", "b,c"}, {{std::string("x"), std::string("say \"hi\"")},
                                              {std::string("two\nlines"), std::monostate{}},
                                              {0.1, std::int64_t{-9223372036854775807LL - 1}}});
  CHECK(render(table, TableFormat::csv) ==
        "a,\"b,c\"\r\n"
        "x,\"say \"\"hi\"\"\"\r\n"
        "\"two\nlines\",\r\n"
        "0.1,-9223372036854775808\r\n");
  CHECK(show(1.0 / 3, TableFormat::csv) == "x\r\n0.3333333333333333\r\n");
}

TEST_CASE("json is an array of objects in column order, with NULL as null and a name for every column") {
  const Table table =
      table_of({"n", "n", "s", "e"}, {{std::int64_t{1}, 2.5, std::string("a\"b\xff"), std::monostate{}}});
  const std::string text = render(table, TableFormat::json);
  const Json json = parse_json(text);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["n"] == 1);
  CHECK(json[0]["n_2"] == 2.5);
  CHECK(json[0]["s"] == "a\"b\xEF\xBF\xBD");
  CHECK(json[0]["e"].is_null());
  CHECK(parse_json(render(table_of({"x"}, {}), TableFormat::json)) == Json::array());
}

TEST_CASE("markdown escapes what would end a cell or become a tag") {
  CHECK(show(std::string("a|b <img>\nc"), TableFormat::markdown) == "| x |\n| --- |\n| a\\|b \\<img> c |\n");
}

TEST_CASE("blobs are shown in hexadecimal in every format") {
  const Cell blob = std::vector<unsigned char>{0x00, 0xab};
  for (const TableFormat format :
       {TableFormat::table, TableFormat::csv, TableFormat::json, TableFormat::markdown})
    CHECK(show(blob, format).find("x'00ab'") != std::string::npos);
}

}  // namespace
}  // namespace ak::db::test
