// SPDX-License-Identifier: Apache-2.0
// kill -9 at random instants of real runs on the CPU device: delays from the start, and from what the run has
// done by then. The delays are seeded; how far a run has come after one is up to the machine.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <map>
#include <random>
#include <thread>

#include "core/text/file.h"
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

/// Evaluations that ended well in a worker's life, after which it has certainly started.
constexpr std::int64_t kGrown = 10;

milliseconds between(std::mt19937& random, int least, int most) {
  return milliseconds(std::uniform_int_distribution<int>(least, most)(random));
}

/// A search over vector_add that would take minutes, in its own folder.
struct Search {
  Search() {
    box.environment["TMPDIR"] = box.folder.path().string();
    box.use_own_build_cache();  // so that there are compile workers to kill
  }

  /// Folders that compile workers have left.
  [[nodiscard]] std::ptrdiff_t precompiled_headers() const {
    return std::ranges::count_if(
        std::filesystem::directory_iterator(box.folder.path()),
        [](const auto& entry) { return entry.path().filename().string().starts_with("alphakernel-pch-"); });
  }
  [[nodiscard]] std::filesystem::path database() const { return box.folder / "ak.db"; }
  [[nodiscard]] std::vector<std::string> arguments(int evaluations, int seed) const {
    return {"generate",
            "--algorithm",
            "vector_add",
            "--shape",
            "N=1000",
            "--device",
            "emulator",
            "--arch",
            "sm_80",
            "--max-evaluations",
            std::to_string(evaluations),
            "--seed",
            std::to_string(seed),
            "--output",
            (box.folder / "k.cu").string()};
  }
  [[nodiscard]] pid_t start(int evaluations, int seed) {
    std::vector<std::string> argv = arguments(evaluations, seed);
    argv.insert(argv.begin(), AK_PROGRAM);
    return start_program(argv, box.environment, box.folder.path());
  }

  Sandbox box;
};

std::int64_t count(const Search& search, const std::string& of) {
  return integer(search.database(), "SELECT count(*) FROM " + of);
}

/// Those that are timed, too: not the leader on held-out shapes.
const std::string kSearched =
    "evaluations e WHERE (SELECT arm FROM proposals WHERE id = e.proposal_id) NOT IN ('held_out', "
    "'examination')";

/// What holds at every moment, whatever was killed.
void check_invariants(const Search& search) {
  REQUIRE(intact(search.database()));
  // Nothing twice: a proposal is evaluated once, an iteration of a search proposed once.
  CHECK(count(search, "(SELECT 1 FROM evaluations GROUP BY proposal_id HAVING count(*) > 1)") == 0);
  CHECK(count(search, "(SELECT 1 FROM proposals GROUP BY search_id, iteration HAVING count(*) > 1)") == 0);
  // Nothing by half.
  CHECK(count(search, "proposals WHERE id NOT IN (SELECT proposal_id FROM evaluations)") == 0);
  CHECK(count(search,
              "evaluations e WHERE status = 'ok' AND NOT EXISTS (SELECT 1 FROM checks WHERE evaluation_id = "
              "e.id)") == 0);
  CHECK(
      count(
          search,
          kSearched +
              " AND status = 'ok' AND NOT EXISTS (SELECT 1 FROM measurements WHERE evaluation_id = e.id)") ==
      0);
}

TEST_CASE("a run killed with -9 at any instant leaves no process, loses nothing, and the next one works") {
  const Subreaper subreaper;
  Search search;
  REQUIRE(search.box.run(search.arguments(1, 1)).exit_code == 0);  // makes database and cache
  std::mt19937 random(1);
  std::int64_t committed = count(search, "evaluations");
  int searches = 1, finished = 1, late = 0, with_kernel = 0;
  for (int i = 0, killed = 0; killed < kills(12); ++i) {
    std::filesystem::remove(search.box.folder / "k.cu");
    const pid_t run = search.start(100'000, i);
    // Half of them while it starts, a quarter each from its search's begin and from its first kernel.
    const auto has_come_far_enough = [&] {
      if (i % 4 == 1) return count(search, "searches") > searches;
      return i % 4 != 3 || search.box.exists("k.cu");
    };
    REQUIRE(in_the_end([&] { return has_come_far_enough() || has_ended(run); }));
    std::this_thread::sleep_for(between(random, 0, 250));
    kill(run, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(run, &status, 0) == run);
    INFO("kill " << i << "; " << read_file(search.box.folder / "err"));
    const bool in_time = WIFSIGNALED(status);  // else it had tried every point
    REQUIRE((in_time || WEXITSTATUS(status) == 0));
    ++(in_time ? killed : finished);
    CHECK(Subreaper::all_end());
    CHECK(search.precompiled_headers() == 0);
    check_invariants(search);
    // What a person could have seen is stored: the kernel on disk is a verified evaluation of this search.
    const std::string last = "evaluations WHERE search_id = (SELECT max(id) FROM searches)";
    const bool began = count(search, "searches") > searches;
    if (search.box.exists("k.cu")) {
      ++with_kernel;
      REQUIRE(began);
      CHECK(count(search, last + " AND status = 'ok'") >= 1);
      CHECK(read_file(search.box.folder / "k.cu").ends_with("}\n"));
    }
    // Nothing of earlier searches changed, and only the last may still be called running.
    CHECK(count(search, "evaluations") - (began ? count(search, last) : 0) == committed);
    CHECK(count(search, "searches WHERE status = 'running' AND id < (SELECT max(id) FROM searches)") == 0);
    committed = count(search, "evaluations");
    searches += began;
    // A kill may also come between the end of a search and that of its process.
    late += in_time && began && count(search, "searches WHERE status = 'finished'") > finished + late;
  }
  const std::int64_t searched = count(search, kSearched);
  const ProgramResult after = search.box.run(search.arguments(3, 1));
  INFO(after.err);
  CHECK(after.exit_code == 0);
  CHECK(count(search, kSearched) == searched + 3);
  CHECK(count(search, "evaluations") > committed + 3);
  CHECK(count(search, "searches WHERE status = 'running'") == 0);
  CHECK(count(search, "searches WHERE status = 'finished'") - 1 == finished + late);
  CHECK(count(search, "searches WHERE status = 'interrupted'") == searches - finished - late);
  CHECK(with_kernel > 0);
  CHECK(search.precompiled_headers() == 0);
  fmt::print(
      "orchestrators killed: {} ({} of them after their search's end), searches begun: {}, with a kernel on "
      "disk: {}, "
      "evaluations committed: {}\n",
      kills(12), late, searches, with_kernel, committed);
}

TEST_CASE("a run whose workers are killed with -9 at random continues and ends well") {
  const Subreaper subreaper;
  Search search;
  REQUIRE(search.box.run(search.arguments(1, 1)).exit_code == 0);  // makes database and cache
  std::mt19937 random(2);
  const std::string ended_well = "evaluations WHERE status IN ('ok', 'duplicate')";
  int killed = 0, runs = 0;
  while (killed < kills(8)) {
    const pid_t run = search.start(200, ++runs);
    int status = 0, killed_young = 0;
    std::map<pid_t, std::int64_t> met;  // how many evaluations had ended well when a worker was first seen
    while (waitpid(run, &status, WNOHANG) == 0) {
      const auto workers = children_of(run);
      const std::int64_t good = count(search, ended_well);
      for (const pid_t worker : workers) met.try_emplace(worker, good);
      // Three starts in a row that fail end a run, as they should. So no more than two workers of a run are
      // killed that have not seen some evaluations, and may still be starting on a slow machine.
      if (const pid_t chosen = workers.empty() ? 0 : workers[random() % workers.size()];
          chosen != 0 && killed < kills(8)) {
        const bool young = good < met.at(chosen) + kGrown;
        if ((!young || killed_young < 2) && kill(chosen, SIGKILL) == 0) {
          ++killed;
          killed_young += young;
        }
      }
      std::this_thread::sleep_for(between(random, 200, 700));
    }
    INFO("run " << runs << " after " << killed << " kills: " << read_file(search.box.folder / "err"));
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) == 0);
    CHECK(Subreaper::all_end());
    check_invariants(search);
  }
  CHECK(count(search, "searches WHERE status = 'finished'") == runs + 1);
  const std::int64_t good = count(search, ended_well);
  const std::int64_t faults = count(search, "evaluations WHERE status = 'infrastructure_error'");
  CHECK(good > 20 * runs);
  CHECK(faults <= killed);
  fmt::print("workers killed: {} in {} runs; evaluations that ended well: {}, that lost their worker: {}\n",
             killed, runs, good, faults);
}

}  // namespace
