// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

namespace ak::runtime {
namespace {

// Short against a timing (milliseconds to seconds), long against a system call.
constexpr std::chrono::milliseconds kRetry{2};
constexpr std::chrono::seconds kReportInterval{1};
constexpr mode_t kAnybodyMayLock = 0444;  // flock needs no right to write

std::string file_of(const std::string& uuid) {
  const char* folder = std::getenv("ALPHAKERNEL_LOCKS");
  return fmt::format("{}/alphakernel-gpu-{}.lock", folder != nullptr && *folder != 0 ? folder : "/tmp", uuid);
}

/// Another user's file is opened, never made again: in a folder that everybody may write to, systems refuse
/// O_CREAT on it. No one's link is followed.
FileDescriptor open_lock(const std::string& file) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  for (int attempt = 0; attempt < 2; ++attempt) {  // someone may make it in between
    FileDescriptor existing(::open(file.c_str(), kFlags));
    if (existing || errno != ENOENT) return existing;
    FileDescriptor made(::open(file.c_str(), kFlags | O_CREAT | O_EXCL, kAnybodyMayLock));
    if (made) static_cast<void>(::fchmod(made.get(), kAnybodyMayLock));  // whatever the umask
    if (made || errno != EEXIST) return made;
  }
  return {};
}

}  // namespace

DeviceLock::DeviceLock(const std::string& uuid) {
  if (uuid.empty()) return;
  const std::string file = file_of(uuid);
  descriptor_ = open_lock(file);
  struct stat info = {};
  if (!descriptor_) {
    unavailable_reason_ = fmt::format("cannot open {}: {}", file, std::strerror(errno));
  } else if (::fstat(descriptor_.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    unavailable_reason_ = fmt::format("{} is not a regular file", file);
    descriptor_.reset();
  }
}

void DeviceLock::take(Turn turn, const std::function<void()>& on_wait) {
  const int kind = turn == Turn::alone ? LOCK_EX : LOCK_SH;
  auto next_report = std::chrono::steady_clock::time_point::min();
  while (descriptor_ && ::flock(descriptor_.get(), kind | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      unavailable_reason_ = fmt::format("locking failed: {}", std::strerror(errno));
      return descriptor_.reset();
    }
    if (const auto now = std::chrono::steady_clock::now(); now >= next_report) {
      next_report = now + kReportInterval;
      on_wait();
    }
    std::this_thread::sleep_for(kRetry);
  }
}

void DeviceLock::release() noexcept {
  if (descriptor_) ::flock(descriptor_.get(), LOCK_UN);
}

DeviceLock& device_lock(const std::string& uuid) {
  static std::map<std::string, DeviceLock> locks;
  return locks.try_emplace(uuid, uuid).first->second;
}

}  // namespace ak::runtime
