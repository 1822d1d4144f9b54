// SPDX-License-Identifier: Apache-2.0
#include "db/checked_sum.h"

#include <sqlite3.h>

#include <cstdint>

#include "db/sqlite.h"

namespace ak::db {
namespace {

/// Zero bytes begin one: SQLite allocates it.
struct Sum {
  double real;
  std::int64_t integer;
  std::int64_t count;
  bool inexact;  ///< `integer` is not the sum: something was no integer, or 64 bits did not hold it
};

Sum* sum_of(sqlite3_context* context) {
  return static_cast<Sum*>(sqlite3_aggregate_context(context, sizeof(Sum)));
}

/// Adds a value, or takes one out of the window.
void change(sqlite3_context* context, sqlite3_value* value, bool add) {
  Sum* const sum = sum_of(context);
  const int type = sqlite3_value_numeric_type(value);
  if (sum == nullptr || type == SQLITE_NULL) return;
  sum->count += add ? 1 : -1;
  const double real = sqlite3_value_double(value);
  sum->real += add ? real : -real;
  const std::int64_t integer = type == SQLITE_INTEGER ? sqlite3_value_int64(value) : 0;
  sum->inexact |=
      type != SQLITE_INTEGER || (add ? __builtin_add_overflow(sum->integer, integer, &sum->integer)
                                     : __builtin_sub_overflow(sum->integer, integer, &sum->integer));
}

void step(sqlite3_context* context, int, sqlite3_value** values) { change(context, values[0], true); }
void inverse(sqlite3_context* context, int, sqlite3_value** values) { change(context, values[0], false); }

void result(sqlite3_context* context) {
  const Sum* const sum = static_cast<Sum*>(sqlite3_aggregate_context(context, 0));
  if (sum == nullptr || sum->count == 0) return sqlite3_result_null(context);
  sum->inexact ? sqlite3_result_double(context, sum->real) : sqlite3_result_int64(context, sum->integer);
}

}  // namespace

void replace_sum(sqlite3* connection) {
  const int created = sqlite3_create_window_function(connection, "sum", 1,
                                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                                     nullptr, step, result, result, inverse, nullptr);
  if (created != SQLITE_OK) throw SqliteError(created, "adding the SQL function sum");
}

}  // namespace ak::db
