// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

struct sqlite3;

namespace ak::db {

/// The longest value that a query makes or reads: twice the longest that is stored, a model's answer of 16 MiB.
inline constexpr int kMaxValueBytes = 32 << 20;
/// The longest pattern of LIKE and GLOB, whose cost is the length of the pattern times that of the text. Far
/// above what anyone searches for; chosen.
inline constexpr int kMaxPatternBytes = 1'000;
/// The longest statement: SQLite's own default, which distributions raise.
inline constexpr int kMaxSqlBytes = 1'000'000;

/// Restricts a connection to reading: its statements, pragmas and functions are those of allow-lists, its values,
/// patterns and statements have limits, and the schema of the file, which someone else may have written, is not
/// trusted. Must not outlive the connection.
class QueryGuard {
 public:
  explicit QueryGuard(sqlite3* connection);
  QueryGuard(const QueryGuard&) = delete;
  QueryGuard& operator=(const QueryGuard&) = delete;

  /// Lets queries call a function of the program's own.
  void allow_function(std::string name);

  /// While one exists, statements of the program's own may write to temporary tables.
  class Pause {
   public:
    explicit Pause(QueryGuard& guard);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    QueryGuard& guard_;
  };

 private:
  void watch();
  [[nodiscard]] bool allows(int action, const char* first, const char* second) const;
  static int authorise(void* guard, int action, const char* first, const char* second, const char*,
                       const char*);

  sqlite3* connection_;
  std::set<std::string, std::less<>> own_functions_;
};

}  // namespace ak::db
