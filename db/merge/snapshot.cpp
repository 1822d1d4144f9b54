// SPDX-License-Identifier: Apache-2.0
#include "db/merge/snapshot.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"

namespace ak::db {
namespace {

std::string random_name() {
  const auto uid = random_uid();
  return sha256_hex({reinterpret_cast<const char*>(uid.data()), uid.size()}).substr(0, 16);
}

}  // namespace

Snapshot::Snapshot(const std::filesystem::path& of, const std::filesystem::path& near)
    : file_(near.string() + ".snapshot-" + random_name()) {
  Connection source(of, OpenMode::read_only);
  check_database(source, of);
  run(source, "VACUUM INTO :file", {{"file", file_.string()}});
  Connection copy(file_, OpenMode::create);
  // No one else has the copy, and one that was not finished is thrown away.
  copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON");
  migrate(copy);
  copy.execute("PRAGMA journal_mode = DELETE");
}

Snapshot::~Snapshot() {
  std::error_code ignored;
  for (const char* end : {"", "-wal", "-shm", "-journal"})
    std::filesystem::remove(file_.string() + end, ignored);
}

}  // namespace ak::db
