// SPDX-License-Identifier: Apache-2.0
#include "core/text/json_line.h"

#include "core/text/suggest.h"

namespace ak {
namespace {

// Messages nest less than ten deep. Copying and writing JSON takes stack for every level.
constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxReasonBytes = 300;

bool nests_too_deeply(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxNesting) return true;
  }
  return false;
}

}  // namespace

Result<Json> parse_json_line(std::string_view line) {
  if (nests_too_deeply(line))
    return InputError{"the message is nested more than " + std::to_string(kMaxNesting) + " levels deep"};
  try {
    return parse_json(line);
  } catch (const Json::exception& error) {
    return InputError{"the line is not JSON: " + sanitize(error.what(), kMaxReasonBytes)};
  }
}

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace ak
