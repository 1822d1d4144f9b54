// SPDX-License-Identifier: Apache-2.0
#include "serve/dashboard/database_watch.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "db/sqlite.h"

namespace ak::dashboard {
namespace {

/// Which file a name means now: it may be replaced by another.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity_of(const std::filesystem::path& file) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) return {};
  return {.device = status.st_dev, .inode = status.st_ino};
}

/// A connection and what it saw last. A failure to look (a lock, a file that is away) is not news: the next
/// look begins again.
class Look {
 public:
  explicit Look(const std::filesystem::path& file) : file_(file) {}

  /// True where something was committed, or the file replaced, since the last look; false the first time.
  bool changed() {
    try {
      const Identity identity = identity_of(file_);
      const bool replaced = connection_ && identity != identity_;
      if (!connection_ || replaced) {
        connection_.emplace(file_, db::OpenMode::read_only);
        identity_ = identity;
        version_ = connection_->pragma("data_version");
        return std::exchange(begun_, true);
      }
      const std::int64_t version = connection_->pragma("data_version");
      return version != std::exchange(version_, version);
    } catch (const Error&) {
      connection_.reset();
      return false;
    }
  }

 private:
  const std::filesystem::path& file_;
  std::optional<db::Connection> connection_;
  Identity identity_;
  std::int64_t version_ = 0;
  bool begun_ = false;
};

}  // namespace

DatabaseWatch::DatabaseWatch(std::filesystem::path file, std::chrono::milliseconds interval,
                             std::function<void(std::int64_t)> changed)
    : file_(std::move(file)),
      interval_(interval),
      changed_(std::move(changed)),
      thread_([this] { watch(); }) {}

DatabaseWatch::~DatabaseWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ending_now_.notify_all();
  thread_.join();
}

void DatabaseWatch::watch() {
  Look look(file_);
  std::int64_t revision = 0;
  do {
    if (look.changed()) changed_(++revision);
  } while (pause());
}

/// False when the watch ends.
bool DatabaseWatch::pause() {
  std::unique_lock lock(mutex_);
  return !ending_now_.wait_for(lock, interval_, [this] { return ending_; });
}

}  // namespace ak::dashboard
