// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "core/text/file.h"
#include "tests/db/store_fixture.h"
#include "tests/support/patience.h"

namespace ak::db::test {
namespace {

constexpr int kKills = 12;  // in continuous integration; AK_SOAK_ITERATIONS asks for more

int kills() {
  const char* wanted = std::getenv("AK_SOAK_ITERATIONS");
  return wanted ? std::max(1, std::atoi(wanted)) : kKills;
}

/// Runs `body` in its own process, which ends with 0, or 1 when it throws.
template <class Body>
pid_t start(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 0;
  try {
    body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
    code = 1;
  }
  _exit(code);
}

int exit_status(pid_t child) {
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

/// Commits until killed, and reports each commit that returned as "variant evaluation" in the pipe.
void commit_for_ever(const std::filesystem::path& file, int pipe, int first_block) {
  const auto store = open_store(file);
  Run run(*store);
  for (int block = first_block;; ++block) {
    const StoredEvaluation stored = run.commit(block);
    if (write(pipe, &stored.evaluation, sizeof stored.evaluation) != sizeof stored.evaluation) _exit(2);
  }
}

std::set<RowId> read_acknowledged(int pipe) {
  std::set<RowId> acknowledged;
  for (RowId id = 0; read(pipe, &id, sizeof id) == sizeof id;) acknowledged.insert(id);
  return acknowledged;
}

std::set<RowId> stored_evaluations(const std::filesystem::path& file) {
  std::set<RowId> stored;
  for (const auto& row : query(file, "SELECT id FROM evaluations", 0, testing::kPatience).rows)
    stored.insert(std::get<std::int64_t>(row[0]));
  return stored;
}

enum class Counting { from_start, from_first_commit };

/// Lets a process commit, kills it `delay` after its start or its first commit, and returns what it
/// reported is committed.
std::set<RowId> kill_after(const std::filesystem::path& file, std::chrono::microseconds delay,
                           Counting counting, int first_block) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const pid_t child = start([&] { commit_for_ever(file, writing.get(), first_block); });
  writing.reset();
  std::set<RowId> acknowledged;
  if (RowId id = 0;
      counting == Counting::from_first_commit && read(reading.get(), &id, sizeof id) == sizeof id)
    acknowledged.insert(id);
  std::this_thread::sleep_for(delay);
  kill(child, SIGKILL);
  const int status = exit_status(child);
  CHECK(WIFSIGNALED(status));
  acknowledged.merge(read_acknowledged(reading.get()));
  return acknowledged;
}

TEST_CASE("a process killed at any moment of a commit loses nothing that was committed") {
  const TemporaryFolder folder;
  static_cast<void>(open_store(folder.file()));
  std::mt19937 random(1);  // fixed: the delays of a failure are those of the next run
  std::set<RowId> acknowledged;
  for (int i = 0; i < kills(); ++i) {
    const std::chrono::microseconds delay(random() % 30'000);
    acknowledged.merge(kill_after(folder.file(), delay, Counting::from_first_commit, 1 + 1'000 * i));
    REQUIRE(intact(folder.file()));
    const std::set<RowId> stored = stored_evaluations(folder.file());
    REQUIRE(std::includes(stored.begin(), stored.end(), acknowledged.begin(), acknowledged.end()));
    // Every child may have committed one evaluation more than it lived to tell.
    REQUIRE(stored.size() <= acknowledged.size() + static_cast<std::size_t>(i) + 1);
  }
  CHECK(
      integer(
          folder.file(),
          "SELECT count(*) FROM evaluations e WHERE (SELECT count(*) FROM checks WHERE evaluation_id = e.id) "
          "+ (SELECT count(*) FROM measurements WHERE evaluation_id = e.id) <> 4") == 0);
}

TEST_CASE("a process killed while it makes the database leaves a file that opens") {
  std::mt19937 random(2);
  for (int i = 0; i < kills(); ++i) {
    const TemporaryFolder folder;
    kill_after(folder.file(), std::chrono::microseconds(random() % 15'000), Counting::from_start, 1);
    REQUIRE_NOTHROW(Run(*open_store(folder.file())).commit(1));
    REQUIRE(intact(folder.file()));
  }
}

TEST_CASE("two processes commit to one new database at once, and both are complete") {
  constexpr int kEach = 150;
  const TemporaryFolder folder;
  const auto work = [&](int first_block) {
    return start([&, first_block] {
      const auto store = open_store(folder.file());
      Run run(*store);
      for (int i = 0; i < kEach; ++i) run.commit(first_block + i);
      store->end_search(run.search, "finished", "", std::nullopt);
    });
  };
  // Half of the variants are the same: the second to commit one finds the other's row.
  const pid_t first = work(1), second = work(1 + kEach / 2);
  CHECK(exit_status(first) == 0);
  CHECK(exit_status(second) == 0);
  CHECK(integer(folder.file(), "SELECT count(*) FROM evaluations") == 2 * kEach);
  CHECK(integer(folder.file(), "SELECT count(*) FROM variants") == kEach + kEach / 2);
  CHECK(integer(folder.file(), "SELECT count(*) FROM searches WHERE status = 'finished'") == 2);
  CHECK(integer(folder.file(), "SELECT count(*) FROM definitions") == 1);
  CHECK(intact(folder.file()));
}

TEST_CASE("many processes that make the same database at once all succeed") {
  for (int round = 0; round < 5; ++round) {
    const TemporaryFolder folder;
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) children.push_back(start([&] { Run(*open_store(folder.file())).commit(1); }));
    for (const pid_t child : children) CHECK(exit_status(child) == 0);
    CHECK(integer(folder.file(), "SELECT count(*) FROM evaluations") == 6);
    CHECK(integer(folder.file(), "SELECT count(*) FROM variants") == 1);
  }
}

}  // namespace
}  // namespace ak::db::test
