// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/store.h"

namespace ak::db {

/// Opens (creating and migrating) the performance database. Throws Error(database): not a database, written
/// by a newer version (names both), locked past the timeout, folder not writable, disk full.
[[nodiscard]] std::unique_ptr<VariantStore> open_store(const std::filesystem::path& file);

/// The same file, for audits. Throws as open_store() does.
[[nodiscard]] std::unique_ptr<AuditStore> open_audit_store(const std::filesystem::path& file);

/// $ALPHAKERNEL_DB, else $XDG_DATA_HOME/alphakernel/alphakernel.db, else ~/.local/share/alphakernel/alphakernel.db.
[[nodiscard]] std::filesystem::path default_database();

using Cell = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<unsigned char>>;
struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<Cell>> rows;
  bool truncated = false;  ///< the row limit was reached
};

/// Values of parameters by name, without the colon that they have in SQL.
using QueryValues = std::map<std::string, Cell>;

/// Runs one SELECT on a read-only connection with a time limit. Throws Error(bad_input) for a mistake in the
/// SQL, with the place marked, for a parameter without a value, and for anything that would write;
/// Error(database) when the file is unusable.
[[nodiscard]] Table query(const std::filesystem::path& file, std::string_view sql, std::size_t row_limit,
                          std::chrono::milliseconds time_limit, const QueryValues& values = {});

enum class TableFormat : std::uint8_t { table, csv, json, markdown };
/// `table` aligns columns for a terminal; csv follows RFC 4180; json is an array of objects; BLOBs are
/// shown as x'hex'.
[[nodiscard]] std::string render(const Table& table, TableFormat format);

}  // namespace ak::db
