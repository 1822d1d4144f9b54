// SPDX-License-Identifier: Apache-2.0
#include "agent/llm/api/sse.h"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

namespace ak::agent {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

Events parse(const std::vector<std::string>& pieces) {
  Events events;
  SseParser parser([&](const SseEvent& event) { events.emplace_back(event.name, event.data); });
  for (const std::string& piece : pieces) parser.feed(piece);
  parser.finish();
  return events;
}

const std::string kStream =
    "\xef\xbb\xbf: a comment\nevent: one\ndata: {\"a\": \"\xc3\xa9\"}\n\n"
    "data:no space\r\ndata:  two spaces\r\n\r\n"
    "event: empty\n\n"
    "id: 7\rdata: cr\r\r"
    "data\n\n"
    "event: last\ndata: unfinished";

const Events kExpected{{"one", "{\"a\": \"\xc3\xa9\"}"},
                       {"", "no space\n two spaces"},
                       {"", "cr"},
                       {"", ""},
                       {"last", "unfinished"}};

TEST_CASE("a stream of events is the same wherever the bytes are split") {
  CHECK(parse({kStream}) == kExpected);
  for (std::size_t i = 0; i <= kStream.size(); ++i) {
    for (std::size_t j = i; j <= kStream.size(); ++j)
      REQUIRE(parse({kStream.substr(0, i), kStream.substr(i, j - i), kStream.substr(j)}) == kExpected);
  }
}

TEST_CASE("random bytes as a stream of events are read the same whole and byte by byte") {
  std::mt19937 random(1);
  const std::string alphabet = "data:event \r\n\xef\xbb\xbf{}x";
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += alphabet[random() % alphabet.size()];
    std::vector<std::string> bytes;
    for (const char c : text) bytes.emplace_back(1, c);
    REQUIRE(parse({text}) == parse(bytes));
  }
}

}  // namespace
}  // namespace ak::agent
