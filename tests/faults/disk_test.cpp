// SPDX-License-Identifier: Apache-2.0
// Disks that are full or read-only, and databases that someone else holds, met by the program itself.
#include <fcntl.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "core/text/file.h"
#include "db/schema.h"
#include "tests/db/store_fixture.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;

namespace {

/// What disk_test.sh wrote, by name of the run or count.
std::map<std::string, int> read_codes(const std::filesystem::path& file) {
  std::map<std::string, int> codes;
  std::ifstream lines(file);
  std::string name;
  for (int value = 0; lines >> name >> value;) codes[name] = value;
  return codes;
}

TEST_CASE(
    "full and read-only disks are named in one line, lose nothing, and runs work again when there is room") {
  const TemporaryFolder folder;
  const ProgramResult script =
      run_program({AK_SOURCE_DIR "/tests/faults/disk_test.sh", AK_PROGRAM, folder.path().string()});
  if (script.exit_code == 77) {
    WARN("not tested: this system allows no mounts of our own (unshare -rm)");
    return;
  }
  INFO(script.out << script.err);
  REQUIRE(script.exit_code == 0);
  auto codes = read_codes(folder / "codes");
  const auto error = [&](const std::string& name) { return read_file(folder / (name + ".err")); };
  const auto check = [&](const std::string& name, ExitCode expected, const std::string& words) {
    INFO(name << ": " << error(name));
    REQUIRE(codes.contains(name));
    CHECK(codes[name] == code(expected));
    CHECK_THAT(error(name), Catch::Contains(words));
  };
  check("database_before", ExitCode::ok, "");
  check("database_full", ExitCode::database, "the disk is full: free some space");
  check("query_full", ExitCode::database, "the disk is full: free some space");
  check("database_after", ExitCode::ok, "");
  CHECK(codes["database_after_kept"] == 10);
  CHECK(codes["database_integrity"] == 0);
  check("database_fills", ExitCode::database, "what was committed before is safe");
  CHECK(codes["database_fills_lost"] == 0);
  check("database_fills_after", ExitCode::ok, "");
  CHECK(codes["database_fills_running"] == 0);
  check("database_read_only", ExitCode::database, "ead-only file system");
  check("cache_full", ExitCode::ok, "builds are no longer cached");
  check("output_full", ExitCode::output, "No space left on device");
  check("output_after", ExitCode::ok, "");
  check("temporary_full", ExitCode::ok, "");
}

TEST_CASE("a run continues while someone reads the database in one long transaction") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  db::Connection reader(box.folder / "ak.db", db::OpenMode::read_only);
  reader.execute("BEGIN");
  REQUIRE(reader.pragma("user_version") == db::schema_version());
  db::Statement searches(reader.get(), "SELECT count(*) FROM searches");
  REQUIRE(searches.step());
  CHECK(searches.integer(0) == 1);
  searches.reset();
  const ProgramResult result = box.generate({"--seed", "2"});
  INFO(result.err);
  CHECK(result.exit_code == 0);
  REQUIRE(searches.step());
  CHECK(searches.integer(0) == 1);  // its own view of the past
  CHECK(db::test::integer(box.folder / "ak.db", "SELECT count(*) FROM searches") == 2);
}

TEST_CASE(
    "a disk that is full behind standard output is exit code 7, behind standard error no error at all") {
  Sandbox box;
  REQUIRE(box.generate({"--seed", "1"}).exit_code == 0);
  const auto run_into_full = [&](const std::string& redirection, const std::string& arguments) {
    return run_program({"/bin/sh", "-c", AK_PROGRAM " " + arguments + " " + redirection}, box.environment);
  };
  const std::string long_answer =
      "query --limit 0 \"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000) "
      "SELECT x FROM c\"";
  for (const std::string& arguments : {std::string("query 'SELECT 1'"), long_answer}) {
    const ProgramResult result = run_into_full(">/dev/full", arguments);
    INFO(result.err);
    CHECK(result.exit_code == code(ExitCode::output));
    CHECK_THAT(result.err, Catch::StartsWith("error: cannot write to standard output"));
    CHECK(is_one_line(result.err));
  }
  const ProgramResult result = run_into_full(
      "2>/dev/full",
      "generate --algorithm vector_add --device none --arch sm_90a --max-evaluations 2 --output " +
          (box.folder / "quiet.cu").string());
  CHECK(result.exit_code == 0);
  CHECK(box.exists("quiet.cu"));
}

}  // namespace
