// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ak::db {

/// A string literal of SQL that holds `text`.
[[nodiscard]] inline std::string sql_text(const std::string& text) {
  std::string literal = "'";
  for (const char c : text) literal += c == '\'' ? "''" : std::string(1, c);
  return literal + "'";
}

}  // namespace ak::db
