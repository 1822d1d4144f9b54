// SPDX-License-Identifier: Apache-2.0
#include "db/merge/snapshot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"

namespace ak::db {
namespace {

namespace fs = std::filesystem;

// Of a hash: enough that no two copies have one name.
constexpr std::size_t kNameDigits = 16;

std::string random_name() {
  const auto uid = random_uid();
  return sha256_hex({reinterpret_cast<const char*>(uid.data()), uid.size()}).substr(0, kNameDigits);
}

/// Before the hash of each copy's name.
std::string prefix_of(const fs::path& near) { return near.filename().string() + ".copy-"; }

void remove_copy(const fs::path& file) {
  std::error_code ignored;
  for (const char* end : {"-wal", "-shm", "-journal", ""}) fs::remove(file.string() + end, ignored);
}

/// Copies that no process has locked. Two processes may remove the same one.
void remove_left_behind(const fs::path& near) {
  const fs::path folder = near.has_parent_path() ? near.parent_path() : fs::path(".");
  const std::string prefix = prefix_of(near);
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.size() != prefix.size() + kNameDigits) continue;
    const FileDescriptor fd(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) remove_copy(entry.path());
  }
}

/// An empty file, which VACUUM takes for its own, and its lock. Where another process took it for one left behind before it
/// was locked, another name is tried.
std::pair<fs::path, FileDescriptor> new_file(const fs::path& near) {
  while (true) {
    const fs::path file = near.parent_path() / (prefix_of(near) + random_name());
    FileDescriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!fd) fail(ExitCode::database, "cannot write {}: {}", near.string(), std::strerror(errno));
    struct stat info = {};
    // A file system without locks has none to ask for either: nothing is removed there.
    if (::flock(fd.get(), LOCK_EX) != 0 || (::fstat(fd.get(), &info) == 0 && info.st_nlink > 0))
      return {file, std::move(fd)};
  }
}

}  // namespace

Snapshot::Snapshot(const std::filesystem::path& of, const std::filesystem::path& near) {
  remove_left_behind(near);
  std::tie(file_, lock_) = new_file(near);
  try {
    fill(of);
  } catch (...) {
    remove_copy(file_);
    throw;
  }
}

void Snapshot::fill(const std::filesystem::path& of) const {
  Connection source(of, OpenMode::read_only);
  check_database(source, of);
  run(source, "VACUUM INTO :file", {{"file", file_.string()}});
  Connection copy(file_, OpenMode::create);
  // No one else has the copy, and one that was not finished is thrown away.
  copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON");
  migrate(copy);
  copy.execute("PRAGMA journal_mode = DELETE");
}

Snapshot::~Snapshot() { remove_copy(file_); }

}  // namespace ak::db
