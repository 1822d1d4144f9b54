// SPDX-License-Identifier: Apache-2.0
#include "db/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/text/hash.h"
#include "db/rows.h"

namespace ak::db {
namespace {

/// A file under another name until it is whole; removed where it never is.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::filesystem::path file) : file_(std::move(file)) {}
  ~UnfinishedFile() {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path file_;
};

/// On the disk before the file that it is of is changed.
void write_through(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!synced)
    fail(ExitCode::database, "cannot write the backup {}: {}", file.string(), std::strerror(error));
}

/// Copying can hide damage, so that the file itself is looked at, too.
void require_sound(Connection& connection) {
  const auto lines = select_texts(connection, "SELECT * FROM pragma_integrity_check(1)");
  if (lines.size() != 1 || lines.front() != "ok")
    fail(ExitCode::database,
         "the database is damaged ({}), so it is not upgraded: restore a copy, or give another --db",
         lines.empty() ? "no answer" : lines.front());
}

/// Gives the file the first name that is free; a link never replaces what is there.
std::filesystem::path give_name(const std::filesystem::path& copy, const std::filesystem::path& file,
                                std::int64_t version) {
  constexpr int kMaxBackups = 1000;  // of one version: each is a restored file that was upgraded again
  for (int number = 1; number <= kMaxBackups; ++number) {
    const std::filesystem::path name = fmt::format("{}.schema-{}.backup{}", file.string(), version,
                                                   number == 1 ? "" : fmt::format("-{}", number));
    if (link(copy.c_str(), name.c_str()) == 0) return name;
    if (errno != EEXIST)
      fail(ExitCode::database, "cannot keep the backup {}: {}", name.string(), std::strerror(errno));
  }
  fail(ExitCode::database, "{} has {} backups: remove some of them", file.string(), kMaxBackups);
}

std::string random_suffix() {
  const auto uid = random_uid();
  return sha256_hex({reinterpret_cast<const char*>(uid.data()), uid.size()}).substr(0, 16);
}

}  // namespace

std::optional<std::filesystem::path> keep_backup(Connection& connection, const std::filesystem::path& file,
                                                 std::int64_t version) {
  require_sound(connection);
  const UnfinishedFile copy(file.string() + ".backup-" + random_suffix());
  run(connection, "VACUUM INTO :file", {{"file", copy.path().string()}});
  {
    Connection written(copy.path(), OpenMode::read_only);
    if (written.pragma("user_version") != version) return std::nullopt;
    require_sound(written);
  }
  write_through(copy.path());
  return give_name(copy.path(), file, version);
}

}  // namespace ak::db
