// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/pch_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/text/file.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderName = "alphakernel-pch-";

// Long after a worker has made its folder it has locked it (chosen).
constexpr std::chrono::minutes kUnlockedAtMost{1};

// Keeps no descriptor but this one, so that it holds no channel open.
[[noreturn]] void remove_when_ended(FileDescriptor worker, const fs::path& folder) {
  ::setsid();  // signals to the worker's group, or from a terminal, are not meant for it
  ::prctl(PR_SET_NAME, "alphakernel-pch");
  const auto kept = static_cast<unsigned>(worker.get());
  if (kept > 0) ::syscall(SYS_close_range, 0U, kept - 1, 0U);
  ::syscall(SYS_close_range, kept + 1, ~0U, 0U);
  if (::chdir("/") != 0) ::_exit(1);
  pollfd ended{worker.get(), POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  std::error_code error;
  fs::remove_all(folder, error);
  ::_exit(0);
}

// By process, not by a pipe: a worker that was taken over could close its end and live on.
void have_removed_at_end(const fs::path& folder) {
  FileDescriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U)));
  if (self && ::fork() == 0) remove_when_ended(std::move(self), folder);
}

fs::path temporary_folder() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  return error ? "/tmp" : base;
}

FileDescriptor open_folder(const fs::path& folder) {
  return FileDescriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Another user's folder is none of ours, and one of another container is locked there.
bool is_left_over(const fs::path& folder) {
  const FileDescriptor opened = open_folder(folder);
  struct stat info {};
  if (!opened || ::fstat(opened.get(), &info) != 0 || info.st_uid != ::geteuid()) return false;
  const auto changed = std::chrono::system_clock::from_time_t(info.st_mtim.tv_sec);
  return std::chrono::system_clock::now() - changed > kUnlockedAtMost &&
         ::flock(opened.get(), LOCK_EX | LOCK_NB) == 0;
}

bool is_pch_folder(const fs::path& path) { return path.filename().string().starts_with(kFolderName); }

}  // namespace

fs::path pch_folder(int pid) {
  std::error_code error;
  const std::string beginning = fmt::format("{}{}-", kFolderName, pid);
  for (const auto& entry : fs::directory_iterator(temporary_folder(), error))
    if (entry.path().filename().string().starts_with(beginning)) return entry.path();
  return {};
}

fs::path make_pch_folder() {
  std::error_code error;
  std::random_device random;
  const fs::path folder = fs::absolute(temporary_folder(), error) /
                          fmt::format("{}{}-{:08x}{:08x}", kFolderName, ::getpid(), random(), random());
  // Who removes it is there first: a worker may be killed at any instant.
  have_removed_at_end(folder);
  if (error || ::mkdir(folder.c_str(), S_IRWXU) != 0) return {};
  static FileDescriptor lock;  // as long as this process lives
  lock = open_folder(folder);
  if (!lock || ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return {};
  return folder;
}

void remove_stale_pch_folders() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(temporary_folder(), error))
    if (is_pch_folder(entry.path()) && is_left_over(entry.path())) fs::remove_all(entry.path(), error);
}

}  // namespace ak::runtime
