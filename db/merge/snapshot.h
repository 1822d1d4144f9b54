// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/text/file.h"

namespace ak::db {

/// A copy of a database that may be in use, of this program's schema; removed at the end. One whose process was killed is
/// removed by the next that is made near the same file.
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
  void fill(const std::filesystem::path& of) const;

  std::filesystem::path file_;
  FileDescriptor lock_;  ///< of the file, as long as it is in use
};

}  // namespace ak::db
