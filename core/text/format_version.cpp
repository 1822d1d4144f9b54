// SPDX-License-Identifier: Apache-2.0
#include "core/text/format_version.h"

#include <fmt/format.h>

#include "core/text/json_reader.h"

namespace ak {

int version_of(const Format& format, const Json& json) {
  const auto given = JsonReader(json).find(format.key);
  if (!given) return 1;
  const std::int64_t version = given->integer();
  if (version < 1 || version > std::numeric_limits<int>::max())
    given->fail("a version, an integer of at least 1");
  return static_cast<int>(version);
}

Json up_to_date(const Format& format, Json json) {
  const int version = version_of(format, json);
  if (version > format.current())
    throw JsonInputError(fmt::format("{} has format {}; this AlphaKernel reads up to {}: update AlphaKernel",
                                     format.name, version, format.current()));
  if (version < format.oldest)
    throw JsonInputError(fmt::format("{} has format {}; this AlphaKernel reads from {}: {}", format.name,
                                     version, format.oldest, format.renewal));
  for (int step = version; step < format.current(); ++step)
    format.migrations[static_cast<std::size_t>(step - format.oldest)](json);
  if (version < format.current()) set_version(format, json);
  return json;
}

bool says_format(const Json& json, std::string_view format) {
  return json.is_object() && json.value("format", Json()) == Json(format);
}

void set_version(const Format& format, Json& json) { json[std::string(format.key)] = format.current(); }

}  // namespace ak
