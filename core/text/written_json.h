// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/text/json.h"

namespace ak {

// JSON that people write. A key that an object has twice is a mistake there: one of the two values would count, and no
// one knows which.

/// A key that an object has twice: its lines in the text, from 1.
struct RepeatedKey {
  std::string key;  ///< safe to show
  int line = 0, first_line = 0;
};
/// The first one of a text that is JSON.
[[nodiscard]] std::optional<RepeatedKey> find_repeated_key(std::string_view json);

/// Throws Json::parse_error where `text` is not JSON, JsonInputError for a repeated key.
[[nodiscard]] Json parse_written_json(std::string_view text);

/// The JSON in a file. Throws Error(bad_input) naming the file, the line and what was expected.
[[nodiscard]] Json read_written_json(const std::filesystem::path& file);

}  // namespace ak
