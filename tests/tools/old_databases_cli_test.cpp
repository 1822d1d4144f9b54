// SPDX-License-Identifier: Apache-2.0
// Every verb that reads a database opens those that older versions left, and all of them show the same figures.
#include <catch2/catch.hpp>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/daily_sample.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using Catch::Contains;

namespace {

namespace fs = std::filesystem;

struct RecordedDatabase {
  const char *unpack, *file;
};
constexpr std::array kRecorded{RecordedDatabase{"cat", "2026-11-21_h200_main_job/main_job.db"},
                               RecordedDatabase{"gunzip -c", "2026-11-22_h200_llm_sessions/sessions.db.gz"},
                               RecordedDatabase{"xz -dc", "2026-11-22_h200_week/week.db.xz"}};

void unpack(const RecordedDatabase& recorded, const Sandbox& box) {
  const std::string command = std::string(recorded.unpack) + " '" AK_SOURCE_DIR "/experiments/results/" +
                              recorded.file + "' > '" + (box.folder / "ak.db").string() + "'";
  REQUIRE(run_program({"/bin/sh", "-c", command}).exit_code == 0);
}

/// Everything that only reads; the files that some write are of the sandbox.
std::vector<std::vector<std::string>> reading_verbs(const Sandbox& box) {
  const auto output = [&](const char* name) { return (box.folder / name).string(); };
  return {{"query", "searches"},
          {"query", "SELECT count(*) FROM checks"},
          {"db", "verify"},
          {"db", "export", output("export.db")},
          {"db", "merge", output("ak.db"), "--db", output("all.db")},
          {"report", "--search", "1", "--format", "json", "--output", output("report.json")},
          {"compare", "search:1", "search:2"},
          {"explain", "1"},
          {"best", "export", "--output", output("best.json")},
          {"space", output("ak.db")},
          {"knowledge"},
          {"exchange", "export", output("exchange")}};
}

/// A verb that may write no file above so many KiB.
ProgramResult run_limited(const Sandbox& box, std::uintmax_t kib, std::vector<std::string> words) {
  words.insert(words.begin(),
               {"/bin/sh", "-c", "ulimit -f $(($0 * 2)); exec \"$@\"", std::to_string(kib), AK_PROGRAM});
  return run_program(words, box.environment);
}

}  // namespace

TEST_CASE("every verb that reads opens the databases of older versions, and leaves them as they are") {
  for (const RecordedDatabase& recorded : kRecorded) {
    Sandbox box;
    unpack(recorded, box);
    const std::string before = read_file(box.folder / "ak.db");
    const auto verbs = reading_verbs(box);
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      if (!drawn_today(i, 3)) continue;
      const std::vector<std::string>& verb = verbs[i];
      const ProgramResult result = box.run(verb);
      INFO(recorded.file << ": " << verb[0] << " " << verb.back() << "\n" << result.err);
      CHECK(result.exit_code == 0);
      CHECK_THAT(result.err, !Contains("no such") && !Contains("SQL") && !Contains("preparing"));
      CHECK((read_file(box.folder / "ak.db") == before));
    }
  }
}

TEST_CASE("an upgrade says what it did, keeps a backup, and is done once") {
  Sandbox box;
  unpack(kRecorded[0], box);
  const std::string file = (box.folder / "ak.db").string(), before = read_file(file);
  const ProgramResult first = box.run({"db", "upgrade", file});
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, Contains("upgraded from schema version 1 to "));
  CHECK_THAT(first.err, Contains("ak.db.schema-1.backup"));
  CHECK(box.exists("ak.db.schema-1.backup"));
  const ProgramResult second = box.run({"db", "upgrade"});
  CHECK_THAT(second.out, Contains("is the present one"));
  CHECK_FALSE(box.exists("ak.db.schema-1.backup-2"));
  CHECK(box.run({"query", "searches"}).err.empty());
  CHECK(box.run({"db", "upgrade", (box.folder / "none.db").string()}).exit_code == code(ExitCode::database));
}

TEST_CASE("a limit on the size of files ends an upgrade with an error, and leaves the database as it was") {
  Sandbox box;
  unpack(kRecorded[0], box);
  const std::string file = (box.folder / "ak.db").string(), before = read_file(file);
  const std::uintmax_t whole = before.size() / 1024;
  for (const std::uintmax_t kib : {std::uintmax_t{4}, std::uintmax_t{40}, whole / 2, whole - 40}) {
    const ProgramResult result = run_limited(box, kib, {"db", "upgrade", file});
    INFO(kib << " KiB: " << result.err);
    CHECK(result.exit_code == code(ExitCode::database));
    CHECK_THAT(result.err, Contains(file) && Contains("ulimit -f") && !Contains("bug"));
    CHECK((read_file(file) == before));
    for (const fs::directory_entry& entry : fs::directory_iterator(box.folder.path()))
      CHECK_THAT(entry.path().filename().string(), !Contains("backup"));
  }
  const ProgramResult exported = run_limited(box, 4, {"db", "export", (box.folder / "new.db").string()});
  CHECK(exported.exit_code == code(ExitCode::database));
  for (const fs::directory_entry& entry : fs::directory_iterator(box.folder.path()))
    CHECK_THAT(entry.path().filename().string(), !Contains("new.db"));
  const ProgramResult report =
      run_limited(box, 4, {"best", "export", "--output", (box.folder / "best.json").string()});
  CHECK(report.exit_code > 0);
  CHECK(report.exit_code < 128);
  CHECK_FALSE(box.exists("best.json"));
  CHECK(box.run({"db", "upgrade", file}).exit_code == 0);
}

TEST_CASE("all doors show the same figures of a recorded search") {
  Sandbox box;
  unpack(kRecorded[2], box);
  REQUIRE(box.run({"db", "upgrade"}).exit_code == 0);
  const std::string search = "8";
  const auto one = [&](const std::string& sql) { return box.query(sql); };
  const std::string best =
      one("SELECT printf('%.3f', score_ns / 1000) FROM champions WHERE search = " + search);
  const std::string evaluations = one("SELECT evaluations FROM experiments WHERE search = " + search);
  REQUIRE(best == "1941.487\r\n");
  REQUIRE(evaluations == "60\r\n");
  const Json listed = parse_json(box.run({"query", "searches", "--format", "json"}).out);
  for (const Json& row : listed)
    if (row["search"] == 8) {
      CHECK(row["best_us"].dump() == "1941.487");
      CHECK(row["evaluations"].dump() == "60");
    }
  CHECK_THAT(box.run({"compare", "search:8", "search:7"}).out, Contains(" 60 "));
  CHECK(one("SELECT printf('%.3f', score_us) FROM leaderboard WHERE place = 1 AND search = 8") == best);
  CHECK(one("SELECT printf('%.3f', score_us) FROM best_kernels WHERE search = 8") == best);
  CHECK(one("SELECT printf('%.3f', score_us) FROM best_variants WHERE search = 8") == best);
  // The dashboard's first page, as it asks the database.
  const std::string page = read_file(AK_SOURCE_DIR "/serve/dashboard/pages/10_overview.sql");
  const auto question = [&](const std::string& name) {
    const auto begin = page.find('\n', page.find("-- @" + name)) + 1;
    return page.substr(begin, page.find(';', begin) - begin);
  };
  CHECK(one("SELECT printf('%.3f', best_us) || ' ' || evaluations FROM (" + question("searches") +
            ") WHERE search = 8") == "1941.487 60\r\n");
  CHECK(one("SELECT printf('%.3f', score_us) FROM (" + question("best") + ") WHERE search = 8") == best);
  // The report, and what other programs read.
  const fs::path report = box.folder / "report.json";
  REQUIRE(box.run({"report", "--search", "8", "--format", "json", "--output", report.string()}).exit_code ==
          0);
  CHECK_THAT(read_file(report), Contains("1941.487"));
}
