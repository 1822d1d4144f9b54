// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <limits>
#include <optional>

#include "db/read/query_guard.h"
#include "db/read/reader.h"
#include "db/read/row_error.h"
#include "db/read/sample_values.h"
#include "db/sqlite.h"
#include "db/upgrade.h"

namespace ak::db {

using std::chrono::steady_clock;

/// Address-stable: SQLite keeps a pointer to the deadline.
struct Reader::State {
  explicit State(const std::filesystem::path& file) : connection(open_to_read(file)) {}
  std::vector<std::unique_ptr<TextFunction>> functions;  // outlive the connection, which calls them
  std::chrono::milliseconds time_limit{0};
  steady_clock::time_point deadline;
  std::size_t answer_limit_bytes = std::numeric_limits<std::size_t>::max();
  Connection connection;
  std::optional<QueryGuard> guard;  // from when the connection is set up
};

namespace {

// SQLite calls back every so many virtual machine steps; a step takes well under a microsecond.
constexpr int kStepsBetweenClockReads = 10'000;

int past_deadline(void* deadline) {
  return steady_clock::now() > *static_cast<const steady_clock::time_point*>(deadline) ? 1 : 0;
}

/// The line of `sql` around `offset`, with a caret below the place.
std::string point_at(std::string_view sql, int offset) {
  if (offset < 0) return "";
  const auto at = std::min(static_cast<std::size_t>(offset), sql.size());
  const std::size_t newline = at == 0 ? std::string_view::npos : sql.rfind('\n', at - 1);
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t end = std::min(sql.find('\n', at), sql.size());
  std::string blanks;  // a tab stays a tab and a UTF-8 sequence is one column, so that the caret lines up
  for (const char c : sql.substr(begin, at - begin)) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) blanks += c == '\t' ? '\t' : ' ';
  }
  return fmt::format("\n  {}\n  {}^", sql.substr(begin, end - begin), blanks);
}

/// What to add to a message of SQLite's: what is allowed instead.
std::string hint_of(std::string_view message) {
  if (message.find("string or blob too big") != std::string_view::npos)
    return fmt::format("\nA value has at most {} MiB: shorten it with substr(), or select less of it.",
                       kMaxValueBytes >> 20);
  if (message.find("pattern too complex") != std::string_view::npos)
    return fmt::format("\nA pattern of LIKE or GLOB has at most {} bytes.", kMaxPatternBytes);
  if (message.find("statement too long") != std::string_view::npos)
    return fmt::format("\nA statement has at most {} bytes: give a long list as a parameter to json_each().",
                       kMaxSqlBytes);
  if (message.find("not authorized to use function") != std::string_view::npos)
    return "\nQueries may call SQLite's functions that compute, and sample_values(): see docs/queries.md.";
  // SQL of the time before schema version 18, when a search was called a session.
  const bool former = message.starts_with("no such column: ") &&
                      (message.ends_with("session") || message.ends_with("session_id"));
  return former ? "\nOne run of the loop is called a search since schema version 18: see docs/schema.md."
                : "";
}

constexpr const char* kOnlySelect = "query: only SELECT is allowed: the database is opened for reading";

/// What a statement does that begins so. Of a table that is not there SQLite says that first.
bool would_write(std::string_view sql) {
  constexpr std::array<std::string_view, 17> kWords{
      "alter",  "analyze", "attach",  "begin",   "commit",   "create",    "delete", "detach", "drop",
      "insert", "reindex", "release", "replace", "rollback", "savepoint", "update", "vacuum"};
  const std::size_t begin = std::min(sql.find_first_not_of(" \t\r\n;"), sql.size());
  std::string word;
  for (const char c : sql.substr(begin)) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::ranges::find(kWords, word) != kWords.end();
}

/// Throws what a failed call means: a mistake in the SQL, or a file that cannot be read.
[[noreturn]] void fail_query(Connection& connection, int result, std::string_view sql) {
  if ((result & 0xff) == SQLITE_ERROR && would_write(sql)) fail(ExitCode::bad_input, "{}", kOnlySelect);
  switch (result & 0xff) {
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      fail(ExitCode::bad_input, "{}", kOnlySelect);
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:  // a mistake too, where another process changed the schema meanwhile
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
      fail(ExitCode::bad_input, "query: {}{}{}", sqlite3_errmsg(connection.get()),
           point_at(sql, sqlite3_error_offset(connection.get())), hint_of(sqlite3_errmsg(connection.get())));
    default:
      throw SqliteError(result, fmt::format("reading the database: {}", sqlite3_errmsg(connection.get())));
  }
}

/// Throws what a failed step means: a row that the SQL cannot take, or what fail_query() says.
[[noreturn]] void fail_row(Connection& connection, int result, std::string_view sql, Table before) {
  constexpr std::array kOfValues{SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_MISMATCH, SQLITE_RANGE};
  if (std::ranges::find(kOfValues, result & 0xff) == kOfValues.end()) fail_query(connection, result, sql);
  const std::string_view words = sqlite3_errmsg(connection.get());
  throw RowError(fmt::format("query: {}{}", words, hint_of(words)), std::move(before));
}

/// True when `sql` holds a statement, not just blanks, semicolons and comments.
bool has_statement(Connection& connection, std::string_view sql) {
  while (!sql.empty()) {
    sqlite3_stmt* raw = nullptr;
    const char* rest = nullptr;
    const int result =
        sqlite3_prepare_v2(connection.get(), sql.data(), static_cast<int>(sql.size()), &raw, &rest);
    const StatementHandle statement(raw);
    if (result != SQLITE_OK || raw != nullptr) return true;
    sql.remove_prefix(static_cast<std::size_t>(rest - sql.data()));
  }
  return false;
}

StatementHandle prepare(Connection& connection, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int result =
      sqlite3_prepare_v2(connection.get(), sql.data(), static_cast<int>(sql.size()), &raw, &rest);
  StatementHandle statement(raw);
  if (result != SQLITE_OK) fail_query(connection, result, sql);
  if (!statement) fail(ExitCode::bad_input, "query: expected a SELECT, got nothing");
  if (has_statement(connection, sql.substr(static_cast<std::size_t>(rest - sql.data()))))
    fail(ExitCode::bad_input, "query: expected one statement, got several");
  if (sqlite3_stmt_readonly(raw) == 0) fail(ExitCode::bad_input, "{}", kOnlySelect);
  return statement;
}

void bind_cell(sqlite3_stmt* statement, int index, const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) sqlite3_bind_int64(statement, index, *integer);
  if (const auto* real = std::get_if<double>(&cell)) sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&cell))
    sqlite3_bind_text(statement, index, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
}

/// An unbound parameter would silently be NULL.
void bind(sqlite3_stmt* statement, const QueryValues& values) {
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement); ++i) {
    const char* name = sqlite3_bind_parameter_name(statement, i);
    const auto value = values.find(name != nullptr ? name + 1 : "");
    if (value == values.end())
      fail(ExitCode::bad_input, "query: nothing is given for the parameter {}; add NAME=VALUE",
           name != nullptr ? name : "?");
    bind_cell(statement, i, value->second);
  }
}

Cell read_cell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(statement, column));
      return std::vector<unsigned char>(bytes, bytes + sqlite3_column_bytes(statement, column));
    }
    default:
      return std::monostate{};
  }
}

[[noreturn]] void fail_answer(std::size_t limit_bytes) {
  fail(ExitCode::bad_input,
       "query: the answer has more than {} MiB; select fewer columns or rows, or ask for it in parts with "
       "LIMIT and OFFSET",
       limit_bytes >> 20);
}

/// Calls a TextFunction of two texts; NULL where either is.
void call_text_function(sqlite3_context* context, int, sqlite3_value** values) {
  std::array<std::string_view, 2> texts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (sqlite3_value_type(values[i]) == SQLITE_NULL) return;
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(values[i]));
    texts[i] = {text, static_cast<std::size_t>(sqlite3_value_bytes(values[i]))};
  }
  try {
    const std::string result =
        (*static_cast<Reader::TextFunction*>(sqlite3_user_data(context)))(texts[0], texts[1]);
    sqlite3_result_text(context, result.data(), static_cast<int>(result.size()), SQLITE_TRANSIENT);
  } catch (const std::exception& error) {  // must not cross SQLite's C frames
    sqlite3_result_error(context, error.what(), -1);
  }
}

}  // namespace

void fail_out_of_time(std::chrono::milliseconds limit) {
  fail(ExitCode::bad_input,
       "query: stopped after {} ms; narrow it (WHERE, LIMIT); the command line alone allows more: --timeout",
       limit.count());
}

std::size_t memory_of(const Cell& cell) {
  std::size_t bytes = sizeof(Cell);
  if (const auto* text = std::get_if<std::string>(&cell)) bytes += text->size();
  if (const auto* blob = std::get_if<std::vector<unsigned char>>(&cell)) bytes += blob->size();
  return bytes;
}

Reader::Reader(const std::filesystem::path& file, std::chrono::milliseconds time_limit) {
  state_ = std::make_unique<State>(file);
  Connection& connection = state_->connection;
  add_sample_values(connection);
  connection.execute("BEGIN");
  // Begins the snapshot. SQLite calls a mistake in the first statement "schema changed" unless it has read
  // the schema before.
  static_cast<void>(Statement(connection.get(), "SELECT 1 FROM sqlite_schema").step());
  state_->time_limit = time_limit;
  state_->deadline = steady_clock::now() + time_limit;
  sqlite3_progress_handler(connection.get(), kStepsBetweenClockReads, past_deadline, &state_->deadline);
  state_->guard.emplace(connection.get());
  state_->guard->allow_function("sample_values");
}

Reader::~Reader() = default;

void Reader::limit_answer(std::size_t bytes) { state_->answer_limit_bytes = bytes; }

Table Reader::query(std::string_view sql, std::size_t row_limit, const QueryValues& values) {
  Connection& connection = state_->connection;
  const StatementHandle statement = prepare(connection, sql);
  bind(statement.get(), values);
  Table table;
  std::size_t bytes = 0;
  const int columns = sqlite3_column_count(statement.get());
  for (int i = 0; i < columns; ++i) table.columns.emplace_back(sqlite3_column_name(statement.get(), i));
  for (;;) {
    const int result = sqlite3_step(statement.get());
    if (result == SQLITE_DONE) return table;
    if ((result & 0xff) == SQLITE_INTERRUPT) fail_out_of_time(state_->time_limit);
    if (result != SQLITE_ROW) fail_row(connection, result, sql, std::move(table));
    if (row_limit > 0 && table.rows.size() == row_limit) {
      table.truncated = true;
      return table;
    }
    std::vector<Cell>& row = table.rows.emplace_back();
    for (int i = 0; i < columns; ++i) {
      bytes += memory_of(row.emplace_back(read_cell(statement.get(), i)));
      if (bytes > state_->answer_limit_bytes) fail_answer(state_->answer_limit_bytes);
    }
  }
}

void Reader::keep(const std::string& name, std::string_view select, const QueryValues& values) {
  const QueryGuard::Pause pause(*state_->guard);
  Statement create(state_->connection.get(), fmt::format("CREATE TEMP TABLE {} AS {}", name, select));
  bind(create.get(), values);
  create.run();
}

void Reader::define(const std::string& name, TextFunction function) {
  state_->functions.push_back(std::make_unique<TextFunction>(std::move(function)));
  const int result = sqlite3_create_function_v2(
      state_->connection.get(), name.c_str(), 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
      state_->functions.back().get(), call_text_function, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) throw SqliteError(result, fmt::format("defining the SQL function {}", name));
  state_->guard->allow_function(name);
}

Table query(const std::filesystem::path& file, std::string_view sql, std::size_t row_limit,
            std::chrono::milliseconds time_limit, const QueryValues& values) {
  return Reader(file, time_limit).query(sql, row_limit, values);
}

}  // namespace ak::db
