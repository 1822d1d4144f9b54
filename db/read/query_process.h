// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "db/database.h"

namespace ak::db {

/// What a query in a process of its own may use; docs/queries.md names each.
inline constexpr std::size_t kMaxQueryHeapBytes = std::size_t{256} << 20;    ///< of SQLite
inline constexpr std::size_t kMaxQueryAnswerBytes = std::size_t{256} << 20;  ///< of the table, in memory
inline constexpr std::size_t kMaxQueryFileBytes = std::size_t{2} << 30;      ///< of one temporary file
inline constexpr std::size_t kMaxQueryProcessBytes = std::size_t{1} << 30;   ///< of address space, all in all
inline constexpr std::uint64_t kMaxQueryFiles =
    32;  ///< open at once: the database, and some 25 temporary ones

struct QueryBounds {
  std::size_t rows = 0;  ///< more are left out, and Table::truncated says so; 0: all
  std::chrono::milliseconds time{0};
  std::size_t answer_bytes = kMaxQueryAnswerBytes;  ///< of the table in memory; more is an error
};

/// Runs one SELECT that is not of the program's own in a child process (`alphakernel run-query`), whose memory,
/// processor time, clock time and temporary files are bounded by the system: whatever the SQL does, it ends in
/// time, and this process keeps its memory. From any thread; blocks. Throws as query() does, Error(bad_input)
/// naming the limit that was reached, and Error(environment) when there is no such child.
[[nodiscard]] Table query_apart(const std::filesystem::path& file, std::string_view sql,
                                const QueryBounds& bounds, const QueryValues& values = {});

/// The child: bounds this process for good, reads a request from `input` to its end and writes the answer to
/// `output`. Throws Error(environment) where these descriptors fail.
void run_query_child(int input, int output);

}  // namespace ak::db
