// SPDX-License-Identifier: Apache-2.0
#include "db/content_uid.h"

#include <sqlite3.h>

#include <charconv>
#include <string>

#include "core/text/hash.h"

namespace ak::db {
namespace {

void call_content_uid(sqlite3_context* context, int, sqlite3_value** values) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[0]));
  if (text == nullptr) return;
  const auto uid = content_uid({text, static_cast<std::size_t>(sqlite3_value_bytes(values[0]))});
  sqlite3_result_blob(context, uid.data(), static_cast<int>(uid.size()), SQLITE_TRANSIENT);
}

}  // namespace

std::array<unsigned char, 16> content_uid(std::string_view content) {
  const std::string hex = sha256_hex(content);
  std::array<unsigned char, 16> uid{};
  for (std::size_t i = 0; i < uid.size(); ++i)
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, uid[i], 16);
  return uid;
}

void define_content_uid(Connection& connection) {
  const int result =
      sqlite3_create_function_v2(connection.get(), "content_uid", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                 nullptr, call_content_uid, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw SqliteError(result, "defining the SQL function content_uid");
}

}  // namespace ak::db
