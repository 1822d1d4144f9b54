// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "db/database.h"

namespace ak::db {

// What a process and the child that runs its query tell each other: numbers of this machine and texts with
// their sizes, so that every cell arrives as it was.

struct QueryRequest {
  std::string file, sql;
  std::uint64_t row_limit = 0;  ///< 0: all
  std::uint64_t answer_limit_bytes = 0;
  std::chrono::milliseconds time_limit{0};
  QueryValues values;
};

[[nodiscard]] std::string encode(const QueryRequest& request);
/// Throws Error(environment) for what is not one.
[[nodiscard]] QueryRequest decode_request(std::string_view bytes);

// An answer is a sequence of frames: columns, rows and an end; or a failure at any place.
[[nodiscard]] std::string columns_frame(const std::vector<std::string>& columns);
[[nodiscard]] std::string row_frame(const std::vector<Cell>& row);
[[nodiscard]] std::string end_frame(bool truncated);
[[nodiscard]] std::string failure_frame(ExitCode code, std::string_view message);

/// Takes an answer in pieces of any size.
class AnswerReader {
 public:
  /// @param limit_bytes of the table in memory
  explicit AnswerReader(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Throws the failure that the answer holds, and Error(environment) for bytes that are none or too many.
  void feed(std::string_view bytes);
  /// The table, once its end has come; else nothing.
  [[nodiscard]] std::optional<Table> take();

 private:
  void take_frame(std::string_view frame);
  void take_row(std::string_view cells);

  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  std::string buffer_;
  Table table_;
  bool ended_ = false;
};

}  // namespace ak::db
