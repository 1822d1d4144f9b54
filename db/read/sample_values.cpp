// SPDX-License-Identifier: Apache-2.0
#include "db/read/sample_values.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <string>

namespace ak::db {
namespace {

constexpr std::size_t kSampleBytes = 4;  // little-endian unsigned (docs/schema.md)

std::string json_array(Blob samples) {
  std::string json = "[";
  for (std::size_t i = 0; i < samples.size(); i += kSampleBytes) {
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < kSampleBytes; ++byte)
      value |= static_cast<std::uint32_t>(samples[i + byte]) << (8 * byte);
    json += fmt::format("{}{}", i == 0 ? "" : ",", value);
  }
  return json + "]";
}

void sample_values(sqlite3_context* context, int, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) return sqlite3_result_null(context);
  const auto size = static_cast<std::size_t>(sqlite3_value_bytes(values[0]));
  if (sqlite3_value_type(values[0]) != SQLITE_BLOB || size % kSampleBytes != 0)
    return sqlite3_result_error(context, "sample_values: expected a blob of 32-bit samples", -1);
  const std::string json =
      json_array({static_cast<const unsigned char*>(sqlite3_value_blob(values[0])), size});
  sqlite3_result_text64(context, json.data(), json.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace

void add_sample_values(Connection& connection) {
  const int result =
      sqlite3_create_function_v2(connection.get(), "sample_values", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                 nullptr, sample_values, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw SqliteError(result, "adding the SQL function sample_values");
}

}  // namespace ak::db
