// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/store.h"
#include "core/text/file.h"

namespace ak::db {

/// Which searches of a database have a process that runs them: each holds a lock on one byte of the file
/// "<database>-running", which the system drops with the process however it ends. One object per store, one
/// thread; several processes, and several objects of a process, see each other's locks.
class ProcessLocks {
 public:
  /// Makes the file where it is missing. Throws Error(database).
  explicit ProcessLocks(const std::filesystem::path& database);

  void hold(RowId search);
  /// False when someone else has it.
  [[nodiscard]] bool try_hold(RowId search);
  void release(RowId search);
  /// Someone else holds the search. Of a search held by this object it knows nothing.
  [[nodiscard]] bool is_held(RowId search) const;

 private:
  std::filesystem::path file_;
  FileDescriptor descriptor_;
};

}  // namespace ak::db
