// SPDX-License-Identifier: Apache-2.0
#include "db/upgrade.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "core/text/print_stderr.h"
#include "db/merge/snapshot.h"
#include "db/schema.h"

namespace ak::db {
namespace {

/// What changes when a file or its log is written to: sizes and times.
using Stamp = std::tuple<std::uintmax_t, std::filesystem::file_time_type, std::uintmax_t,
                         std::filesystem::file_time_type>;

Stamp stamp_of(const std::filesystem::path& file) {
  const std::filesystem::path log = file.string() + "-wal";
  std::error_code none;  // where there is no log
  return {std::filesystem::file_size(file), std::filesystem::last_write_time(file),
          std::filesystem::file_size(log, none), std::filesystem::last_write_time(log, none)};
}

/// The upgraded copies of this process, by the file that each is of.
class UpgradedCopies {
 public:
  std::filesystem::path of(const std::filesystem::path& file, std::int64_t version) {
    const std::lock_guard lock(mutex_);
    const bool known = copies_.contains(std::filesystem::canonical(file));
    Copy& copy = copies_[std::filesystem::canonical(file)];
    const Stamp stamp = stamp_of(file);
    if (!copy.snapshot || copy.stamp != stamp) {
      const auto near = std::filesystem::temp_directory_path() / ("alphakernel-" + file.filename().string());
      copy = {.stamp = stamp, .snapshot = std::make_unique<Snapshot>(file, near)};
    }
    if (!known && version > 0)
      print_stderr(
          "note: {} was written by schema version {}; an upgraded copy is read. To upgrade it: "
          "alphakernel db upgrade {}\n",
          file.string(), version, file.string());
    return copy.snapshot->file();
  }

 private:
  struct Copy {
    Stamp stamp;
    std::unique_ptr<Snapshot> snapshot;
  };
  std::mutex mutex_;
  std::map<std::filesystem::path, Copy> copies_;
};

UpgradedCopies& upgraded_copies() {
  static UpgradedCopies copies;
  return copies;
}

}  // namespace

void require_database(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file))
    fail(ExitCode::database, "there is no database {}: run generate_kernel first, or name one with --db",
         file.string());
}

std::filesystem::path readable_file(const std::filesystem::path& file) {
  require_database(file);
  Connection connection(file, OpenMode::read_only);
  const std::int64_t version = check_database(connection, file);
  if (version == schema_version()) return file;
  if (const std::uintmax_t bytes = std::filesystem::file_size(file); bytes > kLargestCopyBytes)
    fail(ExitCode::database,
         "{} was written by schema version {} and is too large to read an upgraded copy of ({} MiB; up to "
         "{}): upgrade it with `alphakernel db upgrade {}`",
         file.string(), version, bytes >> 20, kLargestCopyBytes >> 20, file.string());
  return upgraded_copies().of(file, version);
}

Connection open_to_read(const std::filesystem::path& file) {
  return {readable_file(file), OpenMode::read_only};
}

Upgrade upgrade(const std::filesystem::path& file) {
  require_database(file);
  Connection connection(file, OpenMode::create);
  const std::int64_t before = check_database(connection, file);
  prepare_database(connection, file);
  return {.from = before, .to = schema_version()};
}

}  // namespace ak::db
