// SPDX-License-Identifier: Apache-2.0
// kill -9 of an overnight session at random instants, again and again until it has ended: its rows are those
// of a session that no one disturbed. The instants' delays are seeded.
#include <fmt/format.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/db/store_fixture.h"
#include "tests/faults/processes.h"
#include "tests/support/patience.h"
#include "tests/support/sandbox.h"

using namespace ak;
using namespace ak::testing;
using ak::db::test::intact;
using ak::db::test::integer;
using std::chrono::milliseconds;

namespace {

/// Columns of every table that docs/schema.md does not call volatile.
std::map<std::string, std::vector<std::string>> lasting_columns() {
  std::map<std::string, std::vector<std::string>> columns;
  std::istringstream page(read_file(AK_SOURCE_DIR "/docs/schema.md"));
  std::string table;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## Views")) break;
    const std::string name = line.substr(0, line.rfind('`'));
    if (line.starts_with("### `")) table = name.substr(5);
    if (!table.empty() && line.starts_with("| `") && line.find("*volatile*") == std::string::npos)
      columns[table].push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return columns;
}

/// The columns that say which of a table's rows came first: its key, or rowid where it has one.
std::string order_of(const std::filesystem::path& database, const std::string& table) {
  const std::string where = fmt::format("FROM pragma_table_list('{}') WHERE wr", table);
  if (integer(database, "SELECT count(*) " + where) == 0) return "rowid";
  const db::Table key = db::query(
      database, fmt::format("SELECT name FROM pragma_table_info('{}') WHERE pk > 0 ORDER BY pk", table), 0,
      kPatience);
  std::vector<std::string> columns;
  for (const auto& row : key.rows) columns.push_back(std::get<std::string>(row[0]));
  return fmt::to_string(fmt::join(columns, ", "));
}

/// All that lasts of a database, as text.
std::string lasting_rows(const std::filesystem::path& database) {
  std::string text;
  for (const auto& [table, columns] : lasting_columns()) {
    const db::Table rows = db::query(database,
                                     fmt::format("SELECT {} FROM {} ORDER BY {}", fmt::join(columns, ", "),
                                                 table, order_of(database, table)),
                                     0, kPatience);
    text += table + "\n" + db::render(rows, db::TableFormat::csv);
  }
  return text;
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  std::string table, one, other;
  while (std::getline(left, one)) {
    std::getline(right, other);
    if (one.find(',') == std::string::npos) table = one;
    if (one != other) return fmt::format("{}:\n{}\n{}", table, one, other);
  }
  return right.peek() == EOF ? "" : "more rows";
}

/// A hybrid search over vector_add with recorded answers of a model, one evaluation at a time.
struct Night {
  Night() {
    std::string lines;
    for (const char* name : {"1_compile_error", "2_wrong_result", "3_slow", "4_fast"}) {
      const std::string text = read_file(std::string(AK_SOURCE_DIR "/tests/tools/llm/") + name + ".md");
      lines +=
          Json{{"reply", {{"text", text}, {"input_tokens", 4000}, {"output_tokens", 500}}}}.dump() + "\n";
    }
    box.write("answers.jsonl", lines);
    box.environment["TMPDIR"] = box.folder.path().string();
    box.use_own_build_cache();
  }

  [[nodiscard]] std::filesystem::path database() const { return box.folder / "ak.db"; }
  [[nodiscard]] bool began() const {
    return std::filesystem::exists(database()) &&
           integer(database(), "SELECT count(*) FROM sqlite_schema WHERE name = 'sessions'") > 0 &&
           integer(database(), "SELECT count(*) FROM sessions") > 0;
  }
  /// The same of a database that is being made meanwhile.
  [[nodiscard]] bool seems_begun() const {
    try {
      return began();
    } catch (const Error&) {
      return false;
    }
  }
  [[nodiscard]] std::vector<std::string> command() const {
    if (began()) return {AK_PROGRAM, "session", "resume", "1", "--foreground"};
    return {AK_PROGRAM,
            "session",
            "start",
            "--foreground",
            "--algorithm",
            "vector_add",
            "--shape",
            "N=1000",
            "--device",
            "emulator",
            "--arch",
            "sm_80",
            "--deterministic",
            "--seed",
            "11",
            "--max-evaluations",
            "24",
            "--model",
            "replay:" + (box.folder / "answers.jsonl").string(),
            "--output",
            (box.folder / "k.cu").string()};
  }
  [[nodiscard]] pid_t start() const { return start_program(command(), box.environment, box.folder.path()); }
  void forget() {
    for (const char* file : {"ak.db", "ak.db-wal", "ak.db-shm", "ak.db-running"})
      std::filesystem::remove(box.folder / file);
  }

  Sandbox box;
};

TEST_CASE("a session killed with -9 at any instants ends with the rows of one that no one disturbed") {
  const Subreaper subreaper;
  Night night;
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult calm = run_program(night.command(), night.box.environment);
  INFO(calm.out << calm.err);
  REQUIRE(calm.exit_code == 0);
  const auto whole = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
  const std::string expected = lasting_rows(night.database());
  const std::string kernel = read_file(night.box.folder / "k.cu");
  REQUIRE(integer(night.database(), "SELECT count(*) FROM llm_calls WHERE status = 'ok'") == 4);

  std::mt19937 random(7);
  int killed = 0, sessions = 0, tries = 0;
  std::int64_t interrupted_searches = 0;
  while (killed < kills(5)) {
    night.forget();
    ++sessions;
    for (bool done = false; !done;) {
      const pid_t run = night.start();
      // As many kills as the sample asks for, and then to the end.
      const bool disturbed = killed < kills(5);
      if (disturbed) {
        // From the start, and in rotation from when its queue is there, however long that takes now.
        const bool from_start = tries++ % 2 == 0;
        const auto most = static_cast<int>(whole.count()) / (from_start ? 1 : 2);
        REQUIRE(in_the_end([&] { return from_start || night.seems_begun() || has_ended(run); }));
        std::this_thread::sleep_for(milliseconds(std::uniform_int_distribution<int>(0, most)(random)));
        kill(run, SIGKILL);
      }
      int status = 0;
      REQUIRE(waitpid(run, &status, 0) == run);
      CHECK(Subreaper::all_end());
      killed += WIFSIGNALED(status);
      INFO("kill " << killed << "; " << read_file(night.box.folder / "err"));
      if (std::filesystem::exists(night.database())) REQUIRE(intact(night.database()));
      if (WIFSIGNALED(status)) {
        interrupted_searches += night.began();
        continue;
      }
      REQUIRE(WEXITSTATUS(status) == 0);
      done = true;
    }
    const std::string difference = first_difference(expected, lasting_rows(night.database()));
    INFO("session " << sessions << " after " << killed << " kills");
    REQUIRE(difference == "");
    CHECK(read_file(night.box.folder / "k.cu") == kernel);
  }
  CHECK(interrupted_searches > 0);
  fmt::print(
      "orchestrators killed: {} in {} sessions, {} of them while a queue was there; rows as undisturbed\n",
      killed, sessions, interrupted_searches);
}

}  // namespace
