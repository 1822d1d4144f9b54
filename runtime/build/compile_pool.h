// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/build.h"
#include "runtime/build/build_cache.h"
#include "runtime/build/build_queue.h"
#include "runtime/build/compile_slot.h"

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

/// Compile workers and the build cache before them. Workers start when there is work for them, are killed at
/// a build's deadline, and replaced when lost or grown. A separate thread keeps them busy whatever the
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
  BuildTicket submit(TranslationUnit unit, BuildOrigin origin = BuildOrigin::candidate,
                     std::optional<std::chrono::milliseconds> deadline = std::nullopt);
  /// Next finished build, if there is one.
  [[nodiscard]] std::optional<FinishedBuild> poll();
  /// The same, waiting until `deadline`; at once nothing when no build is left.
  [[nodiscard]] std::optional<FinishedBuild> wait(std::chrono::steady_clock::time_point deadline);
  /// The build finishes as `interrupted`, unless it has finished.
  void cancel(BuildTicket ticket);

  /// Readable (poll(2)) while poll() has something. Owned by the pool.
  [[nodiscard]] int descriptor() const { return queue_.ready_descriptor(); }
  [[nodiscard]] const CompilerFacts& facts() const { return facts_; }
  [[nodiscard]] int workers() const { return static_cast<int>(slots_.size()); }  ///< at most

 private:
  using Clock = std::chrono::steady_clock;
  Result<CompilerFacts> start_first(CompileSlot& slot);

  // On the thread:
  void run();
  void accept(BuildQueue::Asked asked);
  void wait_for_events();
  bool finish_without_worker(const BuildJob& job);
  void interrupt(BuildTicket ticket);
  void serve(CompileSlot& slot);
  void take_hello(CompileSlot& slot, const WorkerMessage& message);
  void take_answer(CompileSlot& slot, const WorkerMessage& message);
  void lose(CompileSlot& slot, const WorkerLost& lost);
  void give_up(const WorkerLost& lost);
  void expire(CompileSlot& slot);
  void assign();
  CompileSlot* free_slot(bool untouched);
  [[nodiscard]] BuildKey cache_key(const BuildJob& job) const;
  void finish(const BuildJob& job, Status status, std::string message);

  CompilePoolOptions options_;
  CompilerFacts facts_;
  BuildQueue queue_;
  // Of the thread, once it runs:
  std::vector<CompileSlot> slots_;
  std::optional<BuildCache> cache_;
  std::deque<BuildJob> waiting_;
  int failed_starts_ = 0;  ///< in a row
  std::thread thread_;
};

}  // namespace ak::runtime
