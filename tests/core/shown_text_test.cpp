// SPDX-License-Identifier: Apache-2.0
#include "core/text/shown_text.h"

#include <catch2/catch.hpp>

#include "core/text/json.h"

namespace ak {
namespace {

TEST_CASE("what a terminal would obey is written out, and all else stays") {
  CHECK(shown_text("a\x1b[31mred\x07\x7f") == "a\\u001b[31mred\\u0007\\u007f");
  CHECK(shown_text("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\ttab\nline\r\n") ==
        "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\ttab\nline\r\n");
  CHECK(shown_text("over\rwritten") == "over\\u000dwritten");
  CHECK(shown_text("\xC2\x9B"
                   "31m") == "\\u009b31m");  // CSI of C1
  CHECK(shown_text("a\xE2\x80\xAE"
                   "b\xE2\x81\xA6") == "a\\u202eb\\u2066");  // turn the direction
  CHECK(shown_text("\xE2\x80\x8B\xEF\xBB\xBF\xE2\x80\xA8") == "\\u200b\\ufeff\\u2028");
  CHECK(shown_text("\xF3\xA0\x81\x81") == "\\udb40\\udc41");  // an invisible tag
  CHECK(shown_text("\x9b\xFF\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(shown_text(std::string("a\0b", 3)) == "a\\u0000b");
}

TEST_CASE("JSON means the same when it is shown") {
  const Json json{{"name", "a\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE\xF3\xA0\x81\x81z"}};
  const std::string shown = shown_text(json.dump());
  CHECK(shown.find("\xC2\x9B") == std::string::npos);
  CHECK(parse_json(shown) == json);
}

TEST_CASE("a line that is too long is cut, and says by how much") {
  CHECK(shown_text("abcdef\nxy\n", 4) == "abcd... (2 bytes more)\nxy\n");
  CHECK(shown_text("abcd", 4) == "abcd");
}

}  // namespace
}  // namespace ak
