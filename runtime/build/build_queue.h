// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "core/build.h"
#include "core/text/file.h"

namespace ak::runtime {

using BuildTicket = std::uint64_t;

struct FinishedBuild {
  BuildTicket ticket = 0;
  BuildResult result;
};

/// Whose source a build is of. A worker that has built candidates may have been taken over by one, so what a verdict
/// rests on comes from one that has built none.
enum class BuildOrigin : std::uint8_t {
  candidate,
  leader,  ///< a candidate, built once more: in a worker that has built none, and not taken from the cache
  own,  ///< references and whatever else the user vouches for: the same, with entries of its own in the cache
};

/// A build that was asked for.
struct BuildJob {
  BuildTicket ticket = 0;
  TranslationUnit unit;
  BuildOrigin origin = BuildOrigin::candidate;
  std::chrono::milliseconds limit{};
  bool killed_once = false;  ///< its worker got a SIGKILL that was not ours, or heard nothing from its parent
};

/// Hands builds from those who ask for them, on any thread, to the one thread that has them done, and the
/// results back.
class BuildQueue {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Throws Error(environment) when the system gives no event descriptors.
  BuildQueue();

  // On any thread; none but wait() blocks:
  BuildTicket submit(TranslationUnit unit, BuildOrigin origin, std::chrono::milliseconds limit);
  void cancel(BuildTicket ticket);
  /// The next finished build, waiting for it until `deadline`; at once nothing when no build is left.
  [[nodiscard]] std::optional<FinishedBuild> wait(TimePoint deadline);
  /// Readable while a build has finished that nobody took.
  [[nodiscard]] int ready_descriptor() const { return ready_.get(); }
  /// No more is to be done.
  void stop();

  // On the thread that has them done:
  /// What was asked since the last call.
  struct Asked {
    std::deque<BuildJob> submitted;  ///< in the order of their tickets
    std::vector<BuildTicket> cancelled;
    bool stopping = false;
  };
  [[nodiscard]] Asked take();
  void finish(BuildTicket ticket, BuildResult result);
  /// Readable when take() has something, until it is quietened.
  [[nodiscard]] int asked_descriptor() const { return asked_.get(); }
  void quieten() const;

 private:
  void wake() const;

  FileDescriptor ready_, asked_;
  std::mutex mutex_;  ///< of all below
  std::condition_variable changed_;
  BuildTicket last_ticket_ = 0;
  Asked waiting_;
  std::deque<FinishedBuild> finished_;
  std::size_t unfinished_ = 0;  ///< submitted, not in finished_
};

}  // namespace ak::runtime
