// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include "db/sqlite.h"

namespace ak::db {

/// The uid of a row that is nothing but its content, so that it is the same in every file: the first 16 bytes of the
/// SHA-256 of `content`.
[[nodiscard]] std::array<unsigned char, 16> content_uid(std::string_view content);

/// Makes content_uid(TEXT) known to the SQL of a connection: a migration uses it. Throws SqliteError.
void define_content_uid(Connection& connection);

}  // namespace ak::db
