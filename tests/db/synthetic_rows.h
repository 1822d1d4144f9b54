// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "db/sqlite.h"

namespace ak::db::test {

/// The same numbers for the same seed with every compiler and library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15ull); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  ///< in [0, 1)
  double between(double low, double high) { return low + (high - low) * uniform(); }
  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
  std::int64_t within(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(double share) { return uniform() < share; }
  template <class List>
  auto& pick(List& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  std::array<unsigned char, 16> uid() {
    std::array<unsigned char, 16> bytes{};
    for (std::size_t half = 0; half < 2; ++half)
      for (std::uint64_t value = next(), i = 0; i < 8; ++i, value >>= 8)
        bytes[8 * half + i] = static_cast<unsigned char>(value);
    return bytes;
  }

  /// Finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a hash of one number.
  static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// INSERT into one table, prepared once.
class Insert {
 public:
  /// `columns`: names with commas, in the order of the values; `uid` before them where `uids` is given.
  Insert(Connection& connection, Random* uids, std::string_view table, std::string columns)
      : connection_(connection),
        uids_(uids),
        statement_(connection.get(), sql(table, uids, std::move(columns))) {}

  /// Number of the new row.
  template <class... Values>
  std::int64_t operator()(const Values&... values) {
    int index = 0;
    if (uids_ != nullptr) {
      const auto uid = uids_->uid();
      statement_.bind(++index, Blob(uid));
    }
    (statement_.bind(++index, values), ...);
    statement_.run();
    return connection_.last_row_id();
  }

 private:
  static std::string sql(std::string_view table, const Random* uids, std::string columns) {
    if (uids != nullptr) columns = "uid, " + columns;
    std::string marks = "?";
    for (const char c : columns)
      if (c == ',') marks += ",?";
    return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, columns, marks);
  }

  Connection& connection_;
  Random* uids_;
  Statement statement_;
};

}  // namespace ak::db::test
