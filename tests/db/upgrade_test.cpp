// SPDX-License-Identifier: Apache-2.0
// Files of older versions: who reads one leaves it as it is, who writes one keeps a backup.
#include "db/upgrade.h"

#include <array>
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "db/merge/database_export.h"
#include "db/merge/merge.h"
#include "db/merge/verify.h"
#include "db/read/named_queries.h"
#include "db/schema.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"
#include "tests/support/daily_sample.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::db::test {
namespace {

namespace fs = std::filesystem;

constexpr int kOld = 16;

constexpr const char* kInsertSource =
    "INSERT INTO sources (uid, content_hash, text) VALUES (randomblob(16), "
    "'982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1', 'text')";

void make_old_file(const fs::path& file, int version = kOld) {
  make_old_database(file, version);
  execute(file, kInsertSource);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST_CASE("who reads a file of an older version sees the present schema, and the file stays as it is") {
  const std::array versions{1, 16, 18};
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (!testing::drawn_today(i, versions.size())) continue;
    const int version = versions[i];
    INFO(version);
    const TemporaryFolder folder;
    make_old_file(folder.file(), version);
    const std::string before = read_file(folder.file());
    CHECK(integer(folder.file(), "PRAGMA user_version") == schema_version());
    CHECK(integer(folder.file(), "SELECT count(*) FROM sources") == 1);
    CHECK(integer(folder.file(), "SELECT count(*) FROM champions") == 0);
    CHECK(verify(folder.file()).empty());
    CHECK(read_file(folder.file()) == before);
    CHECK(names_in(folder.path()) == std::vector<std::string>{"test.db"});
  }
}

TEST_CASE("what an older program writes while another one reads is seen") {
  const TemporaryFolder folder;
  make_old_file(folder.file());
  CHECK(integer(folder.file(), "SELECT count(*) FROM sources") == 1);
  execute(folder.file(),
          "INSERT INTO sources (uid, content_hash, text) VALUES (randomblob(16), 'h', 'more text')");
  CHECK(integer(folder.file(), "SELECT count(*) FROM sources") == 2);
}

TEST_CASE("who writes a file of an older version keeps a backup of it, and overwrites none") {
  const TemporaryFolder folder;
  make_old_file(folder.file());
  const std::string name = folder.file().string() + ".schema-16.backup";
  static_cast<void>(open_store(folder.file()));
  CHECK(version_of(folder.file()) == schema_version());
  REQUIRE(fs::exists(name));
  CHECK(version_of(name) == kOld);
  CHECK(rows_of(name, "SELECT text FROM sources") == std::vector<std::string>{"text | "});
  static_cast<void>(open_store(folder.file()));
  CHECK_FALSE(fs::exists(name + "-2"));

  const std::string first = read_file(name);
  fs::remove(folder.file());
  make_old_file(folder.file());
  const Upgrade done = upgrade(folder.file());
  CHECK(done.from == kOld);
  CHECK(done.to == schema_version());
  CHECK(read_file(name) == first);
  CHECK(version_of(name + "-2") == kOld);
}

TEST_CASE("a damaged file is not upgraded") {
  const TemporaryFolder folder;
  make_old_file(folder.file());
  execute(folder.file(),
          "PRAGMA journal_mode = DELETE; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = "
          "(SELECT rootpage FROM sqlite_schema WHERE name = 'devices') WHERE name = 'sources'");
  CHECK_THROWS_AS(upgrade(folder.file()), Error);
  CHECK(version_of(folder.file()) == kOld);
  CHECK(names_in(folder.path()) == std::vector<std::string>{"test.db"});
}

TEST_CASE("a file of a newer version is refused by who reads and who upgrades, with both versions") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  execute(folder.file(), "PRAGMA user_version = 4711");
  const auto refused = [](const auto& action) {
    CHECK_THROWS_WITH(action(), Catch::Contains("4711") && Catch::Contains(std::to_string(schema_version())));
  };
  refused([&] { static_cast<void>(open_to_read(folder.file())); });
  refused([&] { static_cast<void>(upgrade(folder.file())); });
  refused([&] { static_cast<void>(verify(folder.file())); });
  refused([&] { static_cast<void>(merge(folder.path() / "all.db", folder.file())); });
}

/// The databases that experiments left, of the versions of their time.
std::vector<fs::path> recorded_databases(const fs::path& folder) {
  const std::string results = AK_SOURCE_DIR "/experiments/results/";
  const std::vector<std::pair<std::string, std::string>> packed{
      {"cat", "2026-11-21_h200_main_job/main_job.db"},
      {"gunzip -c", "2026-11-21_h200_prediction/measured.db.gz"},
      {"gunzip -c", "2026-11-22_h200_llm_sessions/sessions.db.gz"},
      {"xz -dc", "2026-11-22_h200_week/week.db.xz"}};
  std::vector<fs::path> files;
  for (const auto& [unpack, name] : packed) {
    files.push_back(folder / fs::path(name).filename().replace_extension().replace_extension(".db"));
    const std::string command = unpack + " '" + results + name + "' > '" + files.back().string() + "'";
    REQUIRE(testing::run_program({"/bin/sh", "-c", command}).exit_code == 0);
  }
  return files;
}

TEST_CASE("recorded databases of older versions answer every query, are verified, merged and exported") {
  const TemporaryFolder folder;
  for (const fs::path& file : recorded_databases(folder.path())) {
    INFO(file);
    const std::int64_t version = version_of(file);
    CHECK(version < schema_version());
    CHECK(verify(file).empty());
    const std::vector<NamedQuery> queries = named_queries({});
    for (std::size_t i = 0; i < queries.size(); ++i) {
      if (!testing::drawn_today(i, 3)) continue;
      const NamedQuery& named = queries[i];
      INFO(named.name);
      const std::vector<std::string> given =
          named.name == "lineage" ? std::vector<std::string>{"variant=1"} : std::vector<std::string>{};
      CHECK_NOTHROW(query(file, named.sql, 0, testing::kPatience, query_values(named, given)));
    }
    CHECK(!merge(folder.path() / "all.db", file).empty());
    CHECK(export_since(file, file.string() + ".new", "") > 0);
    CHECK(version_of(file) == version);
  }
  CHECK(verify(folder.path() / "all.db").empty());
}

}  // namespace
}  // namespace ak::db::test
