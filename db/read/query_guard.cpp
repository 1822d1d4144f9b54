// SPDX-License-Identifier: Apache-2.0
#include "db/read/query_guard.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace ak::db {
namespace {

using std::string_view;

// Pragmas that only describe the file; many others act, even without an argument.
// FTS5 asks for the data version.
constexpr std::array<string_view, 15> kReadingPragmas{
    "application_id",   "compile_options", "data_version", "database_list", "foreign_key_check",
    "foreign_key_list", "index_info",      "index_list",   "index_xinfo",   "integrity_check",
    "quick_check",      "table_info",      "table_list",   "table_xinfo",   "user_version"};
// Those of them that take a value: the name of a table. Of the others a value would be written.
constexpr std::array<string_view, 3> kSettablePragmas{"application_id", "user_version", "compile_options"};

// SQLite's functions that compute a value from their arguments, the time or chance, and those that show matches
// of FTS5. Not here: what loads code (load_extension), hands out or takes pointers (fts3_tokenizer, fts5),
// rewrites an index (optimize), or serves the internals of rtree and ALTER TABLE.
constexpr std::array<string_view, 123> kFunctions{"->",
                                                  "->>",
                                                  "abs",
                                                  "acos",
                                                  "acosh",
                                                  "asin",
                                                  "asinh",
                                                  "atan",
                                                  "atan2",
                                                  "atanh",
                                                  "avg",
                                                  "bm25",
                                                  "ceil",
                                                  "ceiling",
                                                  "changes",
                                                  "char",
                                                  "coalesce",
                                                  "cos",
                                                  "cosh",
                                                  "count",
                                                  "cume_dist",
                                                  "current_date",
                                                  "current_time",
                                                  "current_timestamp",
                                                  "date",
                                                  "datetime",
                                                  "degrees",
                                                  "dense_rank",
                                                  "exp",
                                                  "first_value",
                                                  "floor",
                                                  "format",
                                                  "glob",
                                                  "group_concat",
                                                  "hex",
                                                  "highlight",
                                                  "ifnull",
                                                  "iif",
                                                  "instr",
                                                  "json",
                                                  "json_array",
                                                  "json_array_length",
                                                  "json_error_position",
                                                  "json_extract",
                                                  "json_group_array",
                                                  "json_group_object",
                                                  "json_insert",
                                                  "json_object",
                                                  "json_patch",
                                                  "json_quote",
                                                  "json_remove",
                                                  "json_replace",
                                                  "json_set",
                                                  "json_type",
                                                  "json_valid",
                                                  "julianday",
                                                  "lag",
                                                  "last_insert_rowid",
                                                  "last_value",
                                                  "lead",
                                                  "length",
                                                  "like",
                                                  "likelihood",
                                                  "likely",
                                                  "ln",
                                                  "log",
                                                  "log10",
                                                  "log2",
                                                  "lower",
                                                  "ltrim",
                                                  "match",
                                                  "max",
                                                  "min",
                                                  "mod",
                                                  "nth_value",
                                                  "ntile",
                                                  "nullif",
                                                  "octet_length",
                                                  "percent_rank",
                                                  "pi",
                                                  "pow",
                                                  "power",
                                                  "printf",
                                                  "quote",
                                                  "radians",
                                                  "random",
                                                  "randomblob",
                                                  "rank",
                                                  "replace",
                                                  "round",
                                                  "row_number",
                                                  "rtrim",
                                                  "sign",
                                                  "sin",
                                                  "sinh",
                                                  "snippet",
                                                  "soundex",
                                                  "sqlite_compileoption_get",
                                                  "sqlite_compileoption_used",
                                                  "sqlite_source_id",
                                                  "sqlite_version",
                                                  "sqrt",
                                                  "strftime",
                                                  "string_agg",
                                                  "substr",
                                                  "substring",
                                                  "subtype",
                                                  "sum",
                                                  "tan",
                                                  "tanh",
                                                  "time",
                                                  "timediff",
                                                  "total",
                                                  "total_changes",
                                                  "trim",
                                                  "trunc",
                                                  "typeof",
                                                  "unhex",
                                                  "unicode",
                                                  "unixepoch",
                                                  "unlikely",
                                                  "upper",
                                                  "zeroblob"};

bool contains(const auto& list, string_view name) { return std::ranges::find(list, name) != list.end(); }

bool reads(string_view pragma, bool with_value) {
  return contains(kReadingPragmas, pragma) && !(with_value && contains(kSettablePragmas, pragma));
}

struct Limit {
  int which, value;
};
constexpr std::array kLimits{Limit{SQLITE_LIMIT_LENGTH, kMaxValueBytes},
                             Limit{SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPatternBytes},
                             Limit{SQLITE_LIMIT_SQL_LENGTH, kMaxSqlBytes}, Limit{SQLITE_LIMIT_ATTACHED, 0},
                             Limit{SQLITE_LIMIT_WORKER_THREADS, 0}};

// On or off, whatever the library was built with. Not SQLITE_DBCONFIG_TRUSTED_SCHEMA: it would refuse JSON in our own
// views, and what a hostile view may call is in the list above as well.
constexpr std::array kSwitches{Limit{SQLITE_DBCONFIG_DEFENSIVE, 1},
                               Limit{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                               Limit{SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0}};

}  // namespace

QueryGuard::QueryGuard(sqlite3* connection) : connection_(connection) {
  for (const auto& [which, value] : kSwitches) sqlite3_db_config(connection, which, value, nullptr);
  for (const auto& [which, value] : kLimits) sqlite3_limit(connection, which, value);
  watch();
}

void QueryGuard::watch() { sqlite3_set_authorizer(connection_, authorise, this); }

void QueryGuard::allow_function(std::string name) { own_functions_.insert(std::move(name)); }

QueryGuard::Pause::Pause(QueryGuard& guard) : guard_(guard) {
  sqlite3_set_authorizer(guard.connection_, nullptr, nullptr);
}
QueryGuard::Pause::~Pause() { guard_.watch(); }

bool QueryGuard::allows(int action, const char* first, const char* second) const {
  const string_view name = first != nullptr ? first : "";
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return true;
    case SQLITE_FUNCTION:
      return second != nullptr &&
             (contains(kFunctions, second) || own_functions_.contains(string_view(second)));
    case SQLITE_UPDATE:
      // SQLite asks this when it first declares json_each or pragma_table_info; an UPDATE of the schema table
      // itself it refuses whatever is answered here.
      return name == "sqlite_master";
    case SQLITE_PRAGMA:
      return reads(name, second != nullptr);
    default:
      return false;
  }
}

/// The connection is read-only too; this also refuses ATTACH and pragmas that change the connection.
int QueryGuard::authorise(void* guard, int action, const char* first, const char* second, const char*,
                          const char*) {
  return static_cast<const QueryGuard*>(guard)->allows(action, first, second) ? SQLITE_OK : SQLITE_DENY;
}

}  // namespace ak::db
