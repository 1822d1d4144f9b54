// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "core/text/json.h"

namespace ak {

/// Turns an object of one version of a format into the next version. Throws JsonInputError for one that breaks the
/// rules of its own version.
using Migration = void (*)(Json& json);

/// A format of AlphaKernel's own, and what this program reads of it: the versions from `oldest` to current().
struct Format {
  std::string_view name;                       ///< in messages: "problem.json", "a launch plan"
  std::string_view key = "format";             ///< of the integer that is the version; absent: version 1
  std::span<const Migration> migrations = {};  ///< [i] takes version oldest + i to the next one
  int oldest = 1;
  std::string_view renewal = {};  ///< how to replace one older than `oldest`; needed where that is above 1

  [[nodiscard]] constexpr int current() const { return oldest + static_cast<int>(migrations.size()); }
};

/// The version that an object has. Throws JsonInputError when `json` is not an object or its version no integer >= 1.
[[nodiscard]] int version_of(const Format& format, const Json& json);

/// The same contents in the current version, after the migrations that it takes. Throws JsonInputError naming the
/// format and both versions when it is newer than this program, or older than `oldest`.
[[nodiscard]] Json up_to_date(const Format& format, Json json);

/// Whether `json` is an object whose "format" is this text, as files have it whose version has another key.
[[nodiscard]] bool says_format(const Json& json, std::string_view format);

/// Writes the current version into an object.
void set_version(const Format& format, Json& json);

}  // namespace ak
