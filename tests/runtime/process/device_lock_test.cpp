// SPDX-License-Identifier: Apache-2.0
#include "runtime/process/device_lock.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "runtime/evaluator/device_client.h"
#include "tests/runtime/process/worker_test_support.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using Turn = DeviceLock::Turn;

constexpr const char* kUuid = "GPU-00000000-test";

/// $ALPHAKERNEL_LOCKS is a fresh folder while it lives.
class LockFolder {
 public:
  LockFolder() {
    std::string pattern = "/tmp/ak_lock_test_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::setenv("ALPHAKERNEL_LOCKS", path_.c_str(), 1);
  }
  ~LockFolder() {
    ::unsetenv("ALPHAKERNEL_LOCKS");
    std::filesystem::remove_all(path_);
  }
  LockFolder(const LockFolder&) = delete;
  LockFolder& operator=(const LockFolder&) = delete;
  [[nodiscard]] std::filesystem::path file() const {
    return path_ / (std::string("alphakernel-gpu-") + kUuid + ".lock");
  }

 private:
  std::filesystem::path path_;
};

/// Runs `body` in its own process.
template <class Body>
pid_t start(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  body();
  ::_exit(0);
}

bool ended_well(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void nothing() {}

TEST_CASE("two processes that time on one GPU take turns and never overlap, while checks share it") {
  const LockFolder folder;
  // Each timing counts itself in and out; the checks count how often they met another.
  struct Shared {
    std::atomic<int> timing{0}, checking{0}, collisions{0}, meetings{0};
  };
  auto* shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(shared != MAP_FAILED);
  new (shared) Shared;
  const auto work = [&] {
    DeviceLock lock(kUuid);
    const auto deadline = out_of_patience();
    for (int i = 0; i < 60 || (shared->meetings == 0 && std::chrono::steady_clock::now() < deadline); ++i) {
      lock.take(Turn::shared, nothing);
      if (++shared->checking > 1) ++shared->meetings;
      std::this_thread::sleep_for(1ms);
      if (shared->timing != 0) ++shared->collisions;
      --shared->checking;
      lock.take(Turn::alone, nothing);
      if (++shared->timing > 1 || shared->checking != 0) ++shared->collisions;
      std::this_thread::sleep_for(2ms);
      --shared->timing;
      lock.release();
    }
  };
  const pid_t first = start(work), second = start(work), third = start(work);
  CHECK(ended_well(first));
  CHECK(ended_well(second));
  CHECK(ended_well(third));
  CHECK(shared->collisions == 0);
  CHECK(shared->meetings > 0);
  ::munmap(shared, sizeof(Shared));
}

TEST_CASE("who waits for the GPU says so, and gets it when the holder is killed") {
  const LockFolder folder;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t holder = start([&] {
    DeviceLock lock(kUuid);
    lock.take(Turn::alone, nothing);
    if (::write(ends[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  });
  ::close(ends[1]);  // so that reading ends when the holder does
  char byte = 0;
  REQUIRE(::read(ends[0], &byte, 1) == 1);
  DeviceLock lock(kUuid);
  int waits = 0;
  lock.take(Turn::shared, [&] {
    ++waits;
    ::kill(holder, SIGKILL);
  });
  CHECK(waits == 1);
  CHECK(lock.unavailable_reason().empty());
  ::waitpid(holder, nullptr, 0);
  ::close(ends[0]);
}

TEST_CASE("the lock file can be locked by every user and is not a link to anywhere") {
  const LockFolder folder;
  const mode_t before = ::umask(0077);
  const DeviceLock made(kUuid);
  ::umask(before);
  CHECK(made.unavailable_reason().empty());
  struct stat info = {};
  REQUIRE(::stat(folder.file().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0444);
  std::filesystem::remove(folder.file());
  const auto elsewhere = folder.file().string() + ".elsewhere";
  std::filesystem::create_symlink(elsewhere, folder.file());
  CHECK_THAT(DeviceLock(kUuid).unavailable_reason(), Catch::Contains(folder.file().string()));
  CHECK_FALSE(std::filesystem::exists(elsewhere));
  std::ofstream(elsewhere) << "";
  CHECK_FALSE(DeviceLock(kUuid).unavailable_reason().empty());
  std::filesystem::remove(folder.file());
  REQUIRE(::mkfifo(folder.file().c_str(), 0600) == 0);
  CHECK_THAT(DeviceLock(kUuid).unavailable_reason(), Catch::Contains("not a regular file"));
}

TEST_CASE("without a lock file nothing waits, and the reason is known") {
  ::setenv("ALPHAKERNEL_LOCKS", "/nonexistent", 1);
  DeviceLock lock(kUuid);
  ::unsetenv("ALPHAKERNEL_LOCKS");
  CHECK_THAT(lock.unavailable_reason(), Catch::Contains("/nonexistent"));
  lock.take(Turn::alone, [] { FAIL("no one holds it"); });
  DeviceLock none("");
  CHECK(none.unavailable_reason().empty());
  none.take(Turn::alone, [] { FAIL("nothing to hold"); });
}

TEST_CASE("waiting for another process's turn is not time of the task, working is") {
  auto command = worker_command();
  command.insert(command.end(), {"--role", "scripted_worker"});
  DeviceClient client(command);
  client.open(std::make_shared<OpenProblem>());
  // What the scripted worker does, by seed: it answers at once, waits for `limit_ms` first, or works for an hour.
  constexpr std::uint64_t kAnswer = 0, kWait = 1, kWork = 2;
  const auto end_of = [&](std::uint64_t seed, std::chrono::milliseconds limit) {
    DeviceTask task;
    task.seed = seed;
    task.limit_ms = 2.0 * static_cast<double>(limit.count());
    return client.run(task, in(limit)).answer.outcome.status;
  };
  // A slow machine takes longer to say that it waits, and then the task needs more time for that.
  Status waited = Status::timeout;
  for (auto limit = 500ms; waited == Status::timeout && limit < kPatience; limit *= 4) {
    REQUIRE(end_of(kAnswer, kPatience) == Status::ok);  // it has started
    waited = end_of(kWait, limit);
  }
  CHECK(waited == Status::ok);
  CHECK(end_of(kWork, 500ms) == Status::timeout);
}

}  // namespace
}  // namespace ak::runtime
