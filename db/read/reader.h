// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "db/database.h"

namespace ak::db {

/// Several questions to one state of the database: a read-only connection in one read transaction, so that
/// what other processes commit meanwhile is not seen and tables of one report agree. Keep it short-lived: the
/// log cannot be shortened behind it. Belongs to one thread at a time.
class Reader {
 public:
  /// A function of SQL: text out of two texts.
  using TextFunction = std::function<std::string(std::string_view, std::string_view)>;

  /// @param time_limit of all questions together, from now
  /// Throws Error(database) when there is no such file or it is unusable.
  Reader(const std::filesystem::path& file, std::chrono::milliseconds time_limit);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Runs one SELECT; at most `row_limit` rows (0: all). Throws Error(bad_input) for a mistake in the SQL,
  /// with the place marked, for a parameter without a value, for anything that would write, and when the time
  /// is over; Error(database) when the file is unusable.
  [[nodiscard]] Table query(std::string_view sql, std::size_t row_limit, const QueryValues& values = {});

  /// From now on an answer that takes more memory than this is an Error(bad_input) of query() that says so.
  void limit_answer(std::size_t bytes);

  /// Makes the rows of `select` a table `name` of this connection alone, for the questions that follow.
  void keep(const std::string& name, std::string_view select, const QueryValues& values = {});

  /// Makes a pure function known to SQL; its exceptions become errors of the query.
  void define(const std::string& name, TextFunction function);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws the Error(bad_input) of a query that took longer than this.
[[noreturn]] void fail_out_of_time(std::chrono::milliseconds limit);

/// What a cell takes in memory, in bytes.
[[nodiscard]] std::size_t memory_of(const Cell& cell);

}  // namespace ak::db
