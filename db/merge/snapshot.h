// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace ak::db {

/// A copy of a database that may be in use, of this program's schema; removed at the end.
class Snapshot {
 public:
  /// @param near what the copy is written alongside, under another name
  /// Throws Error(database).
  Snapshot(const std::filesystem::path& of, const std::filesystem::path& near);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace ak::db
