// SPDX-License-Identifier: Apache-2.0
#include "core/text/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace ak {
namespace {

std::string reason() { return std::strerror(errno); }

void write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(ExitCode::output, "cannot write {}: {}", path.string(), reason());
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void close_descriptor(int fd) noexcept { ::close(fd); }

std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) fail(ExitCode::bad_input, "cannot read {}: {}", path.string(), reason());
  struct stat info = {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    fail(ExitCode::bad_input, "cannot read {}: it is a folder, a file was expected", path.string());
  }
  std::string content;
  char chunk[64 << 10];
  for (;;) {
    const ssize_t count = ::read(fd.get(), chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ExitCode::bad_input, "cannot read {}: {}", path.string(), reason());
    if (count == 0) return content;
    content.append(chunk, static_cast<std::size_t>(count));
    if (content.size() > limit_bytes) {
      fail(ExitCode::bad_input, "{} is larger than {} bytes", path.string(), limit_bytes);
    }
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + ".XXXXXX";
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) fail(ExitCode::output, "cannot write {}: {}", path.string(), reason());
  try {
    write_all(fd.get(), content, path);
    if (::fchmod(fd.get(), 0644) != 0 || ::fsync(fd.get()) != 0 ||
        ::rename(temporary.c_str(), path.c_str()) != 0) {
      fail(ExitCode::output, "cannot write {}: {}", path.string(), reason());
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace ak
