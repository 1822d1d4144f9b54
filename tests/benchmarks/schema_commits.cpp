// SPDX-License-Identifier: Apache-2.0
// Writes the evaluations of a recorded database (schema version 16, checks on many shapes) into a new file of version 16
// as the store of then did, and into one of the present version, in turns, and prints what a commit takes in each and
// how large the files become.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <vector>

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/schema.h"
#include "db/store/check_rows.h"
#include "db/store/stored_values.h"
#include "db/upgrade.h"
#include "tests/db/old_schema.h"
#include "tests/db/store_fixture.h"

namespace {

using namespace ak;
using namespace ak::db;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kBefore = 16;  // the last version without derived tables

/// Tables of version 16 and their present names.
struct Names {
  std::string_view before, now;
};
// What an evaluation refers to, which both files have when the clock starts.
constexpr std::array kCatalogue{
    Names{"environments", "environments"}, Names{"devices", "devices"},   Names{"definitions", "definitions"},
    Names{"workloads", "workloads"},       Names{"sources", "sources"},   Names{"", "plans"},
    Names{"variants", "variants"},         Names{"sessions", "searches"}, Names{"llm_calls", "llm_calls"}};
// What a commit writes but checks, by the condition on an evaluation :id.
struct Written {
  std::string_view table, condition;
};
constexpr std::array kWritten{
    Written{"proposals", "id = (SELECT proposal_id FROM recorded.evaluations WHERE id = :id)"},
    Written{"builds",
            "id = (SELECT build_id FROM recorded.evaluations WHERE id = :id) AND id NOT IN (SELECT id FROM "
            "main.builds)"},
    Written{"build_kernels",
            "build_id = (SELECT build_id FROM recorded.evaluations WHERE id = :id) AND id NOT IN (SELECT id "
            "FROM main.build_kernels)"},
    Written{"evaluations", "id = :id"},
    Written{"measurements", "evaluation_id = :id"},
    Written{"metrics", "evaluation_id = :id"}};

struct Check {
  RowId workload = 0;
  CheckRecord record;
};
struct Recorded {
  RowId evaluation = 0;
  std::vector<Check> checks;
};

std::vector<Check> checks_of(Connection& recorded, RowId evaluation) {
  std::vector<Check> checks;
  Rows row = select(recorded, "SELECT * FROM checks WHERE evaluation_id = :id ORDER BY workload_id, id",
                    {{"id", evaluation}});
  while (row.next()) {
    Check& check = checks.emplace_back();
    check.workload = row.integer("workload_id");
    check.record.distribution = row.text("distribution");
    check.record.tensor = row.text("tensor");
    check.record.seed = static_cast<std::uint64_t>(row.integer("input_seed"));
    check.record.passed = row.flag("passed");
    check.record.max_error = row.real("max_error").value_or(0);
    check.record.mean_error = row.real("mean_error").value_or(0);
    check.record.tolerance = row.real("tolerance").value_or(0);
    check.record.worst_index = row.known_integer("worst_index").value_or(-1);
    check.record.worst_expected = row.real("worst_expected").value_or(0);
    check.record.worst_got = row.real("worst_got").value_or(0);
    check.record.nonfinite_mismatches = row.integer("nonfinite_mismatches");
  }
  return checks;
}

std::vector<Recorded> evaluations_of(const fs::path& file) {
  Connection recorded(file, OpenMode::read_only);
  std::vector<Recorded> list;
  for (const RowId id : select_integers(recorded, "SELECT id FROM evaluations ORDER BY id"))
    list.push_back({.evaluation = id, .checks = checks_of(recorded, id)});
  return list;
}

/// As the store of version 16 wrote them: a row for each.
void put_checks_before(Connection& connection, const Recorded& recorded) {
  for (const auto& [workload, check] : recorded.checks)
    insert(connection, "checks",
           {{"uid", random_uid()},
            {"evaluation_id", recorded.evaluation},
            {"workload_id", workload},
            {"distribution", check.distribution},
            {"input_seed", as_signed(check.seed)},
            {"tensor", check.tensor},
            {"passed", check.passed},
            {"max_error", db::finite(check.max_error)},
            {"mean_error", db::finite(check.mean_error)},
            {"tolerance", db::finite(check.tolerance)},
            {"worst_index", check.worst_index >= 0 ? std::optional(check.worst_index) : std::nullopt},
            {"worst_expected", db::finite(check.worst_expected)},
            {"worst_got", db::finite(check.worst_got)},
            {"nonfinite_mismatches", check.nonfinite_mismatches}});
}

void put_checks_now(Connection& connection, const Recorded& recorded) {
  std::map<RowId, std::vector<const CheckRecord*>> groups;
  for (const Check& check : recorded.checks) groups[check.workload].push_back(&check.record);
  for (const auto& [workload, checks] : groups)
    put_check_group(connection, recorded.evaluation, workload, checks);
}

/// A new file, and the recorded rows in the form of its version.
class Writer {
 public:
  Writer(const fs::path& file, const fs::path& recorded, bool before, bool synchronised)
      : before_(before), file_(file), connection_(file, OpenMode::create) {
    if (before)
      set_durability(connection_, false);
    else
      prepare_database(connection_, file);
    if (!synchronised) connection_.execute("PRAGMA synchronous = OFF");
    run(connection_, "ATTACH :file AS recorded", {{"file", recorded.string()}});
    Transaction transaction(connection_);
    for (const Names& names : kCatalogue) {
      const std::string_view table = before ? names.before : names.now;
      if (!table.empty())
        connection_.execute(fmt::format("INSERT INTO main.{0} SELECT * FROM recorded.{0}", table));
    }
    transaction.commit();
  }

  void commit(const Recorded& recorded) {
    Transaction transaction(connection_);
    for (const Written& written : kWritten)
      run(connection_,
          fmt::format("INSERT INTO main.{0} SELECT * FROM recorded.{0} WHERE {1}", written.table,
                      written.condition),
          {{"id", recorded.evaluation}});
    before_ ? put_checks_before(connection_, recorded) : put_checks_now(connection_, recorded);
    transaction.commit();
  }

  std::uintmax_t bytes() {
    connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    return fs::file_size(file_);
  }

 private:
  bool before_;
  fs::path file_;
  Connection connection_;
};

double milliseconds_of(Writer& writer, const std::vector<Recorded>& list, std::size_t begin,
                       std::size_t end) {
  const auto start = Clock::now();
  for (std::size_t i = begin; i < end; ++i) writer.commit(list[i]);
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() /
         static_cast<double>(end - begin);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> before, now, ratio;  ///< ms a commit, of each block of turns
};

void take_turns(Writer& before, Writer& now, const std::vector<Recorded>& list, Times& times) {
  constexpr std::size_t kBlock =
      25;  // commits of one turn: long against the clock, short against other programs' bursts
  for (std::size_t begin = 0; begin + kBlock <= list.size(); begin += kBlock) {
    const bool first = begin / kBlock % 2 == 0;
    if (first) times.before.push_back(milliseconds_of(before, list, begin, begin + kBlock));
    times.now.push_back(milliseconds_of(now, list, begin, begin + kBlock));
    if (!first) times.before.push_back(milliseconds_of(before, list, begin, begin + kBlock));
    times.ratio.push_back(times.now.back() / times.before.back());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What a commit of an evaluation takes in schema version 16 and now, in turns."};
  std::string file;
  int rounds = 3;
  bool unsynchronised = false;
  app.add_option("file", file, "a recorded database of schema version 16")->required();
  app.add_option("--rounds", rounds, "new files to write");
  app.add_flag("--no-sync", unsynchronised, "do not wait for the disk: the processor's part alone");
  CLI11_PARSE(app, argc, argv);
  const test::TemporaryFolder folder;
  const fs::path upgraded = folder.path() / "upgraded.db";
  fs::copy_file(file, upgraded);
  static_cast<void>(upgrade(upgraded));
  const std::vector<Recorded> list = evaluations_of(file);
  Times times;
  std::uintmax_t bytes_before = 0, bytes_now = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path old_file = folder.path() / fmt::format("before{}.db", round);
    test::make_old_database(old_file, kBefore);
    Writer before(old_file, file, true, !unsynchronised);
    Writer now(folder.path() / fmt::format("now{}.db", round), upgraded, false, !unsynchronised);
    take_turns(before, now, list, times);
    bytes_before = before.bytes();
    bytes_now = now.bytes();
  }
  const auto count = static_cast<double>(list.size());
  fmt::print("{} evaluations, {} rounds{}\n", list.size(), rounds,
             unsynchronised ? ", not synchronised" : "");
  fmt::print("schema {}: {:.3f} ms a commit (median), {:.0f} bytes an evaluation\n", kBefore,
             median(times.before), static_cast<double>(bytes_before) / count);
  fmt::print("schema {}: {:.3f} ms a commit (median), {:.0f} bytes an evaluation\n", schema_version(),
             median(times.now), static_cast<double>(bytes_now) / count);
  fmt::print("ratio of a turn: {:.3f} (median)\na million evaluations: {:.2f} GB\n", median(times.ratio),
             static_cast<double>(bytes_now) / count / 1e3);
  return 0;
}
