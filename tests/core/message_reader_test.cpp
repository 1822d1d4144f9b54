// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "core/message/message_reader.h"
#include "core/text/json_line.h"

using namespace ak;

namespace {

std::vector<std::string> lines_of(MessageReader& reader) {
  std::vector<std::string> lines;
  while (auto line = reader.next()) {
    const auto* text = std::get_if<std::string>(&*line);
    lines.push_back(text != nullptr ? *text : "too long");
  }
  return lines;
}

}  // namespace

TEST_CASE("lines are the same however the bytes arrive, and one that is too long costs only itself") {
  const std::string stream =
      "one\n\n  \r\ntwo\r\n" + std::string(50, 'x') + "\nthree\n" + std::string(20, 'y') + "\nend";
  for (std::size_t step = 1; step < stream.size(); ++step) {
    MessageReader reader(20);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      reader.feed(std::string_view(stream).substr(at, step));
      for (std::string& line : lines_of(reader)) lines.push_back(std::move(line));
    }
    CHECK(lines == std::vector<std::string>{"one", "two\r", "too long", "three", std::string(20, 'y')});
  }
}

TEST_CASE("what a line from outside holds is a value or a reason, and never an exception") {
  CHECK(parse_json_line(R"({"a": [1, "}"]})").value()["a"][0] == 1);
  CHECK(parse_json_line(std::string(64, '[') + std::string(64, ']')).ok());
  for (const std::string& bad : {std::string("{"), std::string(), std::string("\xff\xfe"), std::string("1 2"),
                                 std::string(65, '['), std::string(100'000, '[')}) {
    INFO(bad.substr(0, 10));
    const auto value = parse_json_line(bad);
    REQUIRE_FALSE(value.ok());
    CHECK(value.error().message.size() > 10);
  }
  CHECK(one_line(Json("a\nb\xff")) == "\"a\\nb\xef\xbf\xbd\"");
}
