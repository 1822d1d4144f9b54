// SPDX-License-Identifier: Apache-2.0
#include "core/text/suggest.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace ak;

TEST_CASE("a misspelt name is answered with the nearest known one") {
  const std::vector<std::string> known{"softmax", "reduce_sum", "vector_add"};
  CHECK(did_you_mean("sofmax", known) == "; did you mean 'softmax'?");
  CHECK(did_you_mean("redcue_sum", known) == "; did you mean 'reduce_sum'?");
  CHECK(did_you_mean("vectoradd", known) == "; did you mean 'vector_add'?");
}

TEST_CASE("neighbours that changed places are one mistake, capitals none, and a part of a name is enough") {
  const std::vector<std::string> known{"bf16", "fp16", "bayesian", "flash_attention", "random"};
  CHECK(did_you_mean("bf61", known) == "; did you mean 'bf16'?");
  CHECK(did_you_mean("FP16", known) == "; did you mean 'fp16'?");
  CHECK(did_you_mean("bayes", known) == "; did you mean 'bayesian'?");
  CHECK(did_you_mean("attention", known) == "; did you mean 'flash_attention'?");
  CHECK(did_you_mean("an", known).empty());  // in several names by chance
}

TEST_CASE("nothing is suggested when every known name is far away") {
  const std::vector<std::string> known{"softmax", "gemm"};
  CHECK(did_you_mean("attention", known).empty());
  CHECK(did_you_mean("", known).empty());
  CHECK(did_you_mean("softmax", std::vector<std::string>{}).empty());
  CHECK(did_you_mean("gexx", known).empty());  // two edits of four letters
}

TEST_CASE("control characters are replaced, newline and tab stay") {
  CHECK(sanitize("a\tb\nc") == "a\tb\nc");
  CHECK(sanitize("\x1b[31mred\x07\r\x7f") == "?[31mred???");
  CHECK(sanitize(std::string_view("a\0b", 3)) == "a?b");
  CHECK(sanitize("\xC2\x9B"
                 "31m") == "??31m");  // the one-character form of ESC [
}

TEST_CASE("text that is not UTF-8 becomes UTF-8, and UTF-8 stays") {
  CHECK(sanitize("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(sanitize("gr\xFC\xDF") == "gr??");
  CHECK(sanitize("\xC0\xAF") == "??");       // overlong
  CHECK(sanitize("\xED\xA0\x80") == "???");  // a surrogate
  CHECK(sanitize("\xE2\x82") == "??");       // cut off
}

TEST_CASE("characters that reorder or hide what is around them are replaced, letters of any script are not") {
  CHECK(sanitize("ok\u202Eko") == "ok???ko");              // right-to-left override
  CHECK(sanitize("\u2066a\u2069\u200B") == "???a??????");  // an isolate, a space without width
  CHECK(sanitize("\U000E0041") == "????");                 // a tag
  CHECK(sanitize("\u00AD\uFEFF") == "?????");
  CHECK(sanitize("\u05E9\u05DC\u05D5\u05DD \u4F60\u597D \u2014") ==
        "\u05E9\u05DC\u05D5\u05DD \u4F60\u597D \u2014");
}

TEST_CASE("text is cut at the limit, never inside a character") {
  CHECK(sanitize("abcdef", 3) == "abc");
  CHECK(sanitize("ab\xE2\x82\xAC", 4) == "ab");
  CHECK(sanitize("ab\xE2\x82\xAC", 5) == "ab\xE2\x82\xAC");
}
