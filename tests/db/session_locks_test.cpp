// SPDX-License-Identifier: Apache-2.0
#include "db/store/session_locks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/db/store_fixture.h"

namespace ak::db::test {
namespace {

/// A process that begins a session, commits one evaluation, and then waits to be killed.
class SessionProcess {
 public:
  explicit SessionProcess(const std::filesystem::path& file) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const FileDescriptor reading(ends[0]), writing(ends[1]);
    pid_ = fork();
    if (pid_ == 0) work(file, writing.get());
    REQUIRE(read(reading.get(), &session, sizeof session) == sizeof session);
  }
  ~SessionProcess() { end(); }
  SessionProcess(const SessionProcess&) = delete;
  SessionProcess& operator=(const SessionProcess&) = delete;

  void end() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  RowId session = 0;

 private:
  [[noreturn]] static void work(const std::filesystem::path& file, int pipe) {
    const auto store = open_store(file);
    Run run(*store);
    run.commit(1);
    if (write(pipe, &run.session, sizeof run.session) != sizeof run.session) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = 0;
};

std::string status_of(const std::filesystem::path& file, RowId session) {
  return text(file, "SELECT status FROM sessions WHERE id = " + std::to_string(session));
}

TEST_CASE("a session whose process was killed is interrupted, in words, when the next one begins") {
  const TemporaryFolder folder;
  SessionProcess killed(folder.file());
  killed.end();
  CHECK(status_of(folder.file(), killed.session) == "running");  // no one has looked yet
  const auto store = open_store(folder.file());
  const Run next(*store);
  CHECK(status_of(folder.file(), killed.session) == "interrupted");
  CHECK(text(folder.file(), "SELECT reason FROM sessions WHERE id = 1").find("killed") != std::string::npos);
  CHECK(integer(folder.file(),
                "SELECT s.ended_at = e.ended_at FROM sessions s JOIN evaluations e ON e.session_id = s.id") ==
        1);
  CHECK(status_of(folder.file(), next.session) == "running");
}

TEST_CASE("a session that still runs, in another process or in this one, is never declared dead") {
  const TemporaryFolder folder;
  SessionProcess alive(folder.file());
  const auto store = open_store(folder.file()), other = open_store(folder.file());
  const Run first(*store), second(*store), third(*other);
  CHECK(integer(folder.file(), "SELECT count(*) FROM sessions WHERE status = 'running'") == 4);
  alive.end();
  const Run fourth(*other);
  CHECK(status_of(folder.file(), alive.session) == "interrupted");
  CHECK(integer(folder.file(), "SELECT count(*) FROM sessions WHERE status = 'running'") == 4);
}

TEST_CASE("a database known by two names has one file of locks") {
  const TemporaryFolder folder;
  SessionProcess alive(folder.file());
  std::filesystem::create_symlink(folder.file(), folder.path() / "alias.db");
  const Run next(*open_store(folder.path() / "alias.db"));
  CHECK(status_of(folder.file(), alive.session) == "running");
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
