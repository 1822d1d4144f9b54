// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/build.h"
#include "runtime/build/build_cache.h"
#include "runtime/process/worker_process.h"

namespace ak::runtime {

/// Largest translation unit that is sent to a worker, headers included: candidates are limited to 1 MiB, and
/// prelude and shims come to a fraction of that.
inline constexpr std::size_t kMaxTranslationUnitBytes = std::size_t{4} << 20;

struct CompilePoolOptions {
  std::vector<std::string> worker_command;  ///< "--role compile" is appended
  int workers = 0;                          ///< 0: one per core, at most 16
  std::chrono::milliseconds deadline{30'000};
  std::filesystem::path cache_dir;  ///< empty: nothing is cached
};

/// What the workers run on.
struct CompilerFacts {
  std::string nvrtc_version;       ///< "13.0"
  std::vector<std::string> archs;  ///< "sm_90a", ...
  int landlock_abi = 0;
  std::string degradation;  ///< protection that this system does not offer; empty when complete
};

using BuildTicket = std::uint64_t;
struct FinishedBuild {
  BuildTicket ticket = 0;
  BuildResult result;
};

/// Compile workers and the build cache before them. Workers start when there is work for them, are killed at
/// a build's deadline, and replaced when lost or grown. A thread of its own keeps them busy whatever the
/// caller does; the members may be called from any thread.
class CompilePool {
 public:
  /// Starts the first worker and waits for it. Throws Error(environment) when it cannot compile: no NVRTC,
  /// too old, or a worker command that does not start.
  explicit CompilePool(CompilePoolOptions options);
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Never blocks. Builds start in order of submission.
  /// @param deadline from the moment a worker takes it; the pool's own when absent. Time that a busy machine
  /// does not give the worker is not counted, up to nine times as much.
  BuildTicket submit(TranslationUnit unit, std::optional<std::chrono::milliseconds> deadline = std::nullopt);
  /// Next finished build, if there is one.
  [[nodiscard]] std::optional<FinishedBuild> poll();
  /// The same, waiting until `deadline`; at once nothing when no build is left.
  [[nodiscard]] std::optional<FinishedBuild> wait(std::chrono::steady_clock::time_point deadline);
  /// The build finishes as `interrupted`, unless it has finished.
  void cancel(BuildTicket ticket);

  /// Readable (poll(2)) while poll() has something. Owned by the pool.
  [[nodiscard]] int descriptor() const { return ready_.get(); }
  [[nodiscard]] const CompilerFacts& facts() const { return facts_; }
  [[nodiscard]] int workers() const { return static_cast<int>(slots_.size()); }  ///< at most

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    BuildTicket ticket = 0;
    TranslationUnit unit;
    std::chrono::milliseconds limit{};
    bool killed_once = false;  ///< its worker got a SIGKILL that was not ours
  };
  /// Place of one worker process.
  struct Slot {
    std::unique_ptr<WorkerProcess> process;
    std::filesystem::path pch_folder;
    bool started = false;  ///< answered hello
    std::optional<Job> job;
    Clock::time_point deadline;
    Clock::time_point latest;                    ///< for the job, however little its worker could do
    std::chrono::nanoseconds computed_before{};  ///< by the process, for other jobs
  };

  void start(Slot& slot);
  std::optional<Job> stop(Slot& slot);
  Result<CompilerFacts> start_first(Slot& slot);
  Result<CompilerFacts> greet(Slot& slot);
  void wake();

  // On the thread:
  void run();
  void step();
  void wait_for_events();
  std::vector<BuildTicket> accept();
  bool finish_without_worker(const Job& job);
  void interrupt(BuildTicket ticket);
  void serve(Slot& slot);
  void take_hello(Slot& slot, const WorkerMessage& message);
  void take_answer(Slot& slot, const WorkerMessage& message);
  void lose(Slot& slot, const WorkerLost& lost);
  void give_up(const WorkerLost& lost);
  static void start_clock(Slot& slot);
  static bool prolong(Slot& slot);
  void expire(Slot& slot);
  void assign();
  Slot* free_slot();
  void finish(const Job& job, BuildResult result);
  void finish(const Job& job, Status status, std::string message);

  CompilePoolOptions options_;
  CompilerFacts facts_;
  FileDescriptor ready_, wake_;
  // Of the thread, once it runs:
  std::vector<Slot> slots_;
  std::optional<BuildCache> cache_;
  std::deque<Job> waiting_;
  int failed_starts_ = 0;  ///< in a row
  // Shared:
  std::mutex mutex_;
  std::condition_variable changed_;
  BuildTicket last_ticket_ = 0;
  std::deque<Job> submitted_;
  std::vector<BuildTicket> cancelled_;
  std::deque<FinishedBuild> finished_;
  std::size_t unfinished_ = 0;  ///< submitted, not in finished_
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ak::runtime
