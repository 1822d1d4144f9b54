// SPDX-License-Identifier: Apache-2.0
#include "db/process_locks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

/// A process that begins a search, commits one evaluation, and then waits to be killed.
class LockHolder {
 public:
  explicit LockHolder(const std::filesystem::path& file) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const FileDescriptor reading(ends[0]);
    FileDescriptor writing(ends[1]);
    pid_ = fork();
    if (pid_ == 0) work(file, writing.get());
    writing.reset();  // so that reading ends when that process does
    REQUIRE(read(reading.get(), &search, sizeof search) == sizeof search);
  }
  ~LockHolder() { end(); }
  LockHolder(const LockHolder&) = delete;
  LockHolder& operator=(const LockHolder&) = delete;

  void end() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  RowId search = 0;

 private:
  [[noreturn]] static void work(const std::filesystem::path& file, int pipe) {
    const auto store = open_store(file);
    Run run(*store);
    run.commit(1);
    if (write(pipe, &run.search, sizeof run.search) != sizeof run.search) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = 0;
};

std::string status_of(const std::filesystem::path& file, RowId search) {
  return text(file, "SELECT status FROM searches WHERE id = " + std::to_string(search));
}

TEST_CASE("a search whose process was killed is interrupted, in words, when the next one begins") {
  const TemporaryFolder folder;
  LockHolder killed(folder.file());
  killed.end();
  CHECK(status_of(folder.file(), killed.search) == "running");  // no one has looked yet
  const auto store = open_store(folder.file());
  const Run next(*store);
  CHECK(status_of(folder.file(), killed.search) == "interrupted");
  CHECK(text(folder.file(), "SELECT reason FROM searches WHERE id = 1").find("killed") != std::string::npos);
  CHECK(integer(folder.file(),
                "SELECT s.ended_at = e.ended_at FROM searches s JOIN evaluations e ON e.search_id = s.id") ==
        1);
  CHECK(status_of(folder.file(), next.search) == "running");
}

TEST_CASE("a search that still runs, in another process or in this one, is never declared dead") {
  const TemporaryFolder folder;
  LockHolder alive(folder.file());
  const auto store = open_store(folder.file()), other = open_store(folder.file());
  const Run first(*store), second(*store), third(*other);
  CHECK(integer(folder.file(), "SELECT count(*) FROM searches WHERE status = 'running'") == 4);
  alive.end();
  const Run fourth(*other);
  CHECK(status_of(folder.file(), alive.search) == "interrupted");
  CHECK(integer(folder.file(), "SELECT count(*) FROM searches WHERE status = 'running'") == 4);
}

TEST_CASE("a database known by two names has one file of locks") {
  const TemporaryFolder folder;
  LockHolder alive(folder.file());
  std::filesystem::create_symlink(folder.file(), folder.path() / "alias.db");
  const Run next(*open_store(folder.path() / "alias.db"));
  CHECK(status_of(folder.file(), alive.search) == "running");
}

TEST_CASE("a lock file that is a link to somewhere else is refused") {
  const TemporaryFolder folder;
  const std::filesystem::path elsewhere = folder.path() / "elsewhere";
  std::filesystem::create_symlink(elsewhere, folder.file().string() + "-running");
  const auto store = open_store(folder.file());
  CHECK_THROWS_AS(Run(*store), Error);
  CHECK_FALSE(std::filesystem::exists(elsewhere));
}

}  // namespace
}  // namespace ak::db::test
