// SPDX-License-Identifier: Apache-2.0
#include "core/text/json_line.h"

#include "core/text/json_nesting.h"
#include "core/text/suggest.h"

namespace ak {
namespace {

constexpr std::size_t kMaxReasonBytes = 300;

}  // namespace

Result<Json> parse_json_line(std::string_view line) {
  if (nests_too_deeply(line))
    return InputError{"the message is nested more than " + std::to_string(kMaxJsonNesting) + " levels deep"};
  try {
    return parse_json(line);
  } catch (const Json::exception& error) {
    return InputError{"the line is not JSON: " + sanitize(error.what(), kMaxReasonBytes)};
  }
}

std::string one_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace ak
