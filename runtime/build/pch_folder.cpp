// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/pch_folder.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>

#include "core/text/file.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderName = "alphakernel-pch-";

// Keeps no descriptor but the worker's, so that it holds no channel open, and no folder busy.
[[noreturn]] void remove_when_ended(int worker, const fs::path& folder) {
  ::setsid();  // signals to the worker's group, or from a terminal, are not meant for it
  ::prctl(PR_SET_NAME, "alphakernel-pch");
  const auto kept = static_cast<unsigned>(worker);
  if (kept > 0) ::syscall(SYS_close_range, 0U, kept - 1, 0U);
  ::syscall(SYS_close_range, kept + 1, ~0U, 0U);
  if (::chdir("/") != 0) ::_exit(1);
  pollfd ended{worker, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  std::error_code error;
  fs::remove_all(folder, error);
  ::_exit(0);
}

// By process, not by a pipe: a worker that was taken over could close its end and live on.
void have_removed_at_end(const fs::path& folder) {
  const FileDescriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U)));
  if (!self) return;
  std::error_code error;
  const fs::path absolute = fs::absolute(folder, error);
  if (!error && ::fork() == 0) remove_when_ended(self.get(), absolute);
}

}  // namespace

fs::path pch_folder(int pid) {
  std::error_code error;
  fs::path base = fs::temp_directory_path(error);
  if (error) base = "/tmp";
  return base / (std::string(kFolderName) + std::to_string(pid));
}

fs::path make_pch_folder() {
  const fs::path folder = pch_folder(::getpid());
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return {};
  have_removed_at_end(folder);
  return folder;
}

void remove_stale_pch_folders() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(pch_folder(0).parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    int pid = 0;
    if (!name.starts_with(kFolderName)) continue;
    std::from_chars(name.data() + kFolderName.size(), name.data() + name.size(), pid);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), error);
  }
}

}  // namespace ak::runtime
