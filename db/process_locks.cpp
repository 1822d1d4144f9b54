// SPDX-License-Identifier: Apache-2.0
#include "db/process_locks.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace ak::db {
namespace {

struct flock one_byte(RowId search, int type) {
  struct flock lock = {};
  lock.l_type = static_cast<short>(type);
  lock.l_whence = SEEK_SET;
  lock.l_start = search;
  lock.l_len = 1;
  return lock;
}

/// The same for every name of the database, as SQLite's own companion files are.
std::filesystem::path companion(const std::filesystem::path& database) {
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(database, error);
  if (error) file = database;
  return file += "-running";
}

}  // namespace

// Locks of the open file, not of the process: they do not vanish when another descriptor of it is closed.
ProcessLocks::ProcessLocks(const std::filesystem::path& database)
    : file_(companion(database)),
      descriptor_(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644)) {
  if (!descriptor_) fail(ExitCode::database, "opening {}: {}", file_.string(), std::strerror(errno));
}

bool ProcessLocks::try_hold(RowId search) {
  struct flock lock = one_byte(search, F_WRLCK);
  return ::fcntl(descriptor_.get(), F_OFD_SETLK, &lock) == 0;
}

void ProcessLocks::hold(RowId search) {
  if (!try_hold(search))
    fail(ExitCode::database, "locking search {} in {}: {}", search, file_.string(), std::strerror(errno));
}

void ProcessLocks::release(RowId search) {
  struct flock lock = one_byte(search, F_UNLCK);
  static_cast<void>(::fcntl(descriptor_.get(), F_OFD_SETLK, &lock));
}

bool ProcessLocks::is_held(RowId search) const {
  struct flock lock = one_byte(search, F_WRLCK);
  // Where the system does not say, no search is declared dead.
  return ::fcntl(descriptor_.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace ak::db
