// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "core/text/file.h"
#include "db/schema.h"
#include "db/store/sqlite_store.h"
#include "db/upgrade.h"
#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

using std::chrono::milliseconds;

/// The message of the Error(database) that opening the file throws.
std::string refusal(const std::filesystem::path& file) {
  try {
    const auto store = open_store(file);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::database);
    return error.what();
  }
  return "";
}

bool mentions(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST_CASE("a new database is made, and opens again") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "new.db";
  Run(*open_store(file)).commit(128);
  Run(*open_store(file)).commit(128);
  CHECK(integer(file, "SELECT count(*) FROM searches") == 2);
  CHECK(integer(file, "PRAGMA user_version") == schema_version());
  CHECK(integer(file, "PRAGMA application_id") == kApplicationId);
}

TEST_CASE("a database written by a newer version is refused by both versions' numbers and left untouched") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  execute(folder.file(), "PRAGMA user_version = 4711");
  const std::string before = read_file(folder.file());
  const std::string message = refusal(folder.file());
  CHECK(mentions(message, "4711"));
  CHECK(mentions(message, std::to_string(schema_version())));
  CHECK(mentions(message, "newer alphakernel"));
  CHECK(read_file(folder.file()) == before);
  CHECK_THROWS_AS(integer(folder.file(), "SELECT 1"), Error);
  CHECK(read_file(folder.file()) == before);
}

TEST_CASE("a file that is not a database is refused and left untouched") {
  const TemporaryFolder folder;
  for (const std::string& content : {std::string("hello"), std::string(5'000, 'x')}) {
    std::ofstream(folder.file()) << content;
    CHECK(mentions(refusal(folder.file()), "is not a database"));
    CHECK(read_file(folder.file()) == content);
  }
}

TEST_CASE("a file of the kernel is no full disk") {
  CHECK(mentions(refusal("/proc/self/mem"), "stores nothing, such as /proc"));
}

TEST_CASE("a pipe, a device or a folder in the place of a database or of its companions is refused at once") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const OpenMode mode : {OpenMode::create, OpenMode::read_only}) {
    for (const auto& [file, kind] : {std::pair{pipe, "it is a pipe"},
                                     {std::filesystem::path("/dev/zero"), "it is a device"},
                                     {folder.path(), "it is a folder"}}) {
      INFO(file);
      CHECK_THROWS_WITH(Connection(file, mode), Catch::Contains(file.string() + ": " + kind));
    }
  }
  CHECK_THROWS_WITH(open_store(pipe), Catch::Contains("it is a pipe"));
  CHECK_THROWS_WITH(open_to_read(pipe), Catch::Contains("it is a pipe"));
  static_cast<void>(open_store(folder.file()));
  const std::string journal = folder.file().string() + "-journal";
  REQUIRE(::mkfifo(journal.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(Connection(folder.file(), OpenMode::read_only),
                    Catch::Contains("-journal: it is a pipe"));
}

TEST_CASE("another program's SQLite database is refused and left untouched") {
  const TemporaryFolder folder;
  execute(folder.file(), "CREATE TABLE theirs (x); PRAGMA user_version = 1");
  const std::string before = read_file(folder.file());
  CHECK(mentions(refusal(folder.file()), "another program"));
  CHECK(read_file(folder.file()) == before);
}

TEST_CASE("a file whose maker died before the first migration is a new database") {
  const TemporaryFolder folder;
  execute(folder.file(), "PRAGMA journal_mode = WAL");
  REQUIRE(std::filesystem::file_size(folder.file()) > 0);
  CHECK(refusal(folder.file()).empty());
  CHECK(intact(folder.file()));
}

TEST_CASE("a folder in the way of the file and a folder that is not there are named") {
  const TemporaryFolder folder;
  CHECK(mentions(refusal(folder.path()), folder.path().string()));
  std::ofstream(folder.file()) << "a file";
  CHECK(mentions(refusal(folder.file() / "sub/x.db"), "does not exist"));
}

TEST_CASE("a database locked past the timeout is an error that says so, and works again afterwards") {
  const TemporaryFolder folder;
  SqliteStore store(folder.file(), milliseconds(20));
  Run run(store);
  Connection other(folder.file(), OpenMode::create);
  {
    const Transaction held(other);
    try {
      run.commit(128);
      FAIL("the lock was ignored");
    } catch (const SqliteError& error) {
      CHECK(error.code() == ExitCode::database);
      CHECK(mentions(error.what(), "another process"));
    }
  }
  CHECK_NOTHROW(run.commit(128));
}

TEST_CASE("a reader in the middle of a query does not hold up commits") {
  const TemporaryFolder folder;
  SqliteStore store(folder.file(), milliseconds(20));
  Run run(store);
  run.commit(128);
  Connection reader(folder.file(), OpenMode::read_only);
  Statement& open_query = reader.prepare("SELECT id FROM variants");
  REQUIRE(open_query.step());
  CHECK_NOTHROW(run.commit(256));
}

TEST_CASE("a full disk is an error, and the database stays valid with all that was committed") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  const pid_t child = fork();
  if (child == 0) {
    // The limit stands for the disk: writes beyond it fail as they do when no block is left.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{2u << 20, 2u << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    int committed = 0;
    try {
      const auto store = open_store(folder.file());
      Run run(*store);
      for (; committed < 100'000; ++committed) run.commit(committed + 1);
    } catch (const Error& error) {
      std::ofstream(folder.path() / "outcome") << committed << ' ' << (error.code() == ExitCode::database);
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  int committed = 0;
  bool database_error = false;
  std::ifstream(folder.path() / "outcome") >> committed >> database_error;
  CHECK(database_error);
  CHECK(committed > 0);
  CHECK(integer(folder.file(), "SELECT count(*) FROM evaluations") == committed);
  CHECK(intact(folder.file()));
  CHECK_NOTHROW(Run(*open_store(folder.file())).commit(1));
}

TEST_CASE("a database that may grow no further says what to do and continues when it may") {
  const TemporaryFolder folder;
  Connection connection(folder.file(), OpenMode::create);
  prepare_database(connection, folder.file());
  connection.execute("PRAGMA max_page_count = 1");  // SQLite takes the present size as the least
  const std::string insert = "INSERT INTO sources (uid, content_hash, text) VALUES (randomblob(16), ?, ?)";
  const std::string large(1u << 20, 'x');
  try {
    Transaction transaction(connection);
    connection.prepare(insert).bind(1, "hash").bind(2, large).run();
    FAIL("the limit was ignored");
  } catch (const SqliteError& error) {
    CHECK(mentions(error.what(), "free some disk space"));
    CHECK_FALSE(mentions(error.what(), "xxxx"));
  }
  connection.execute("PRAGMA max_page_count = 100000");
  connection.prepare(insert).bind(1, "hash").bind(2, large).run();
  CHECK(intact(folder.file()));
}

TEST_CASE("network file systems are known by their type") {
  for (const long type : {0x6969L, 0x517BL, 0x0BD00BD0L, 0x47504653L, 0x65735546L})
    CHECK(is_network_file_system(type));
  for (const long type : {0xEF53L /* ext4 */, 0x01021994L /* tmpfs */, 0x58465342L /* xfs */})
    CHECK_FALSE(is_network_file_system(type));
}

TEST_CASE("on a network file system the file is kept for one process, with a rollback journal") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  Connection owner(folder.file(), OpenMode::create);
  set_durability(owner, true);
  Statement journal(owner.get(), "PRAGMA journal_mode");
  REQUIRE(journal.step());
  CHECK(journal.text(0) == "delete");
  journal.reset();
  owner.execute("INSERT INTO sources (uid, content_hash, text) VALUES (randomblob(16), 'h', '')");
  Connection other(folder.file(), OpenMode::create, milliseconds(10));
  CHECK_THROWS_AS(other.execute("SELECT * FROM sources"), SqliteError);
}

TEST_CASE("commits are synchronised, in WAL, with foreign keys on") {
  const TemporaryFolder folder;
  Connection connection(folder.file(), OpenMode::create);
  prepare_database(connection, folder.file());
  CHECK(connection.pragma("synchronous") == 2);
  CHECK(connection.pragma("foreign_keys") == 1);
  Statement journal(connection.get(), "PRAGMA journal_mode");
  REQUIRE(journal.step());
  CHECK(journal.text(0) == "wal");
}

TEST_CASE("an error quotes the SQL and the place, never a bound value") {
  const TemporaryFolder folder;
  Connection connection(folder.file(), OpenMode::create);
  connection.execute("CREATE TABLE t (a TEXT NOT NULL UNIQUE) STRICT");
  try {
    connection.prepare("SELECT nope FROM t");
    FAIL("no such column");
  } catch (const SqliteError& error) {
    CHECK(mentions(error.what(), "SELECT nope FROM t"));
    CHECK(mentions(error.what(), "at byte 7"));
  }
  Statement& insert = connection.prepare("INSERT INTO t VALUES (?)");
  insert.bind(1, "sk-secret").run();
  try {
    insert.bind(1, "sk-secret").run();
    FAIL("not unique");
  } catch (const SqliteError& error) {
    CHECK(mentions(error.what(), "INSERT INTO t"));
    CHECK_FALSE(mentions(error.what(), "sk-secret"));
  }
}

TEST_CASE("a script stops at the statement that fails and names it") {
  const TemporaryFolder folder;
  Connection connection(folder.file(), OpenMode::create);
  try {
    connection.execute("CREATE TABLE a (x); CREATE TABLE a (y); CREATE TABLE b (z)");
    FAIL("made twice");
  } catch (const SqliteError& error) {
    CHECK(mentions(error.what(), "CREATE TABLE a (y)"));
  }
  connection.execute("CREATE TABLE b (z);\n-- the end\n");
}

TEST_CASE("the default database follows the environment") {
  const auto with = [](const char* name, const char* value) {
    value ? setenv(name, value, 1) : unsetenv(name);
  };
  with("ALPHAKERNEL_DB", nullptr);
  with("XDG_DATA_HOME", nullptr);
  with("HOME", "/home/someone");
  CHECK(default_database() == "/home/someone/.local/share/alphakernel/alphakernel.db");
  with("XDG_DATA_HOME", "/data");
  CHECK(default_database() == "/data/alphakernel/alphakernel.db");
  with("ALPHAKERNEL_DB", "/mine.db");
  CHECK(default_database() == "/mine.db");
}

}  // namespace
}  // namespace ak::db::test
