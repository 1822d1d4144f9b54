// SPDX-License-Identifier: Apache-2.0
#include "core/text/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/text/file_checks.h"
#include "core/text/hash.h"

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

/// Beside a file that is to be replaced, with the rights that the user's umask leaves; without a descriptor where the
/// system refuses it. mkstemp() would leave the owner's alone, and a confined process may not change them.
struct TemporaryFile {
  std::string path;
  FileDescriptor descriptor;
};
TemporaryFile make_temporary(const std::filesystem::path& file) {
  for (;;) {
    TemporaryFile made{fmt::format("{}.{:016x}", file.string(), random_seed()), {}};
    made.descriptor.reset(::open(made.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (made.descriptor || errno != EEXIST) return made;
  }
}

/// Of what is no regular file, with its article.
std::string_view kind_of(mode_t mode) {
  constexpr std::pair<mode_t, std::string_view> kKinds[] = {{S_IFDIR, "a folder"},
                                                            {S_IFIFO, "a pipe"},
                                                            {S_IFSOCK, "a socket"},
                                                            {S_IFCHR, "a device"},
                                                            {S_IFBLK, "a device"}};
  for (const auto& [kind, name] : kKinds)
    if ((mode & S_IFMT) == kind) return name;
  return "no regular file";
}

void check_regular(mode_t mode, const std::filesystem::path& path) {
  if (!S_ISREG(mode))
    fail(ExitCode::bad_input, "cannot read {}: it is {}, a file was expected", path.string(), kind_of(mode));
}

/// A rename would put a file in the place of a device or a pipe.
void check_replaceable(const std::filesystem::path& file) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    fail(ExitCode::output, "cannot write {}: it is {}, a file was expected", file.string(),
         kind_of(info.st_mode));
}

/// To its end. @param expected how many bytes there seem to be, which are then not moved as more come
std::string read_all(int fd, const std::string& name, std::size_t limit_bytes, std::size_t expected = 0) {
  constexpr std::size_t kMostReserved = std::size_t{16} << 20;  // a file may have holes
  std::string content;
  content.reserve(std::min({expected, limit_bytes, kMostReserved}));
  char chunk[64 << 10];
  for (;;) {
    const ssize_t count = ::read(fd, chunk, sizeof chunk);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ExitCode::bad_input, "cannot read {}: {}", name, reason());
    if (count == 0) return content;
    content.append(chunk, static_cast<std::size_t>(count));
    if (content.size() > limit_bytes)
      fail(ExitCode::bad_input, "{} is larger than {} bytes", name, limit_bytes);
  }
}

}  // namespace

void close_descriptor(int fd) noexcept { ::close(fd); }

void require_regular_file(const std::filesystem::path& file) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) == 0) check_regular(info.st_mode, file);
}

// Without O_NONBLOCK opening a pipe waits for somebody who writes.
std::string read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  require_regular_file(path);
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) fail(ExitCode::bad_input, "cannot read {}: {}", path.string(), reason());
  struct stat info = {};
  if (::fstat(fd.get(), &info) == 0) check_regular(info.st_mode, path);  // another file by now
  return read_all(fd.get(), path.string(), limit_bytes, static_cast<std::size_t>(info.st_size));
}

std::string read_standard_input(std::size_t limit_bytes) {
  return read_all(STDIN_FILENO, "standard input", limit_bytes);
}

std::filesystem::path file_inside(const std::filesystem::path& folder, std::string_view name) {
  namespace fs = std::filesystem;
  const fs::path relative(name);
  const auto refuse = [&] [[noreturn]] (std::string_view why) {
    fail(ExitCode::bad_input, "the file '{}' {}: only files in the folder {} are read", name, why,
         folder.string());
  };
  if (relative.empty() || relative.is_absolute()) refuse("is no path within the folder");
  if (std::ranges::find(relative, "..") != relative.end()) refuse("leads out of the folder");
  std::error_code closed;  // to this user, or a link to itself
  const fs::path root = fs::weakly_canonical(folder, closed);
  const fs::path file = closed ? fs::path() : fs::weakly_canonical(folder / relative, closed);
  if (closed) fail(ExitCode::bad_input, "cannot read {}: {}", (folder / relative).string(), closed.message());
  if (std::ranges::mismatch(root, file).in1 != root.end()) refuse("is a link that leads out of the folder");
  return folder / relative;
}

void require_writable(const std::filesystem::path& file) {
  check_replaceable(file);
  const TemporaryFile temporary = make_temporary(file);
  if (!temporary.descriptor) fail(ExitCode::output, "cannot write {}: {}", file.string(), reason());
  ::unlink(temporary.path.c_str());
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  check_replaceable(path);
  const TemporaryFile temporary = make_temporary(path);
  const int fd = temporary.descriptor.get();
  if (!temporary.descriptor) fail(ExitCode::output, "cannot write {}: {}", path.string(), reason());
  try {
    write_all(fd, content, path);
    if (::fsync(fd) != 0 || ::rename(temporary.path.c_str(), path.c_str()) != 0)
      fail(ExitCode::output, "cannot write {}: {}", path.string(), reason());
  } catch (...) {
    ::unlink(temporary.path.c_str());
    throw;
  }
}

}  // namespace ak
