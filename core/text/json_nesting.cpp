// SPDX-License-Identifier: Apache-2.0
#include "core/text/json_nesting.h"

namespace ak {
namespace {

/// Where the string that begins at `quote` ends, or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t quote) {
  for (std::size_t end = quote;;) {
    end = text.find('"', end + 1);
    if (end == std::string_view::npos) return text.size();
    std::size_t backslashes = 0;
    while (text[end - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return end;
  }
}

}  // namespace

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') i = end_of_string(text, i);
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxJsonNesting) return true;
  }
  return false;
}

}  // namespace ak
