// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/build_queue.h"

#include <sys/eventfd.h>

#include <utility>

#include "core/error.h"

namespace ak::runtime {

BuildQueue::BuildQueue() {
  ready_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  asked_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!ready_ || !asked_) fail(ExitCode::environment, "making an event descriptor for the compile workers");
}

void BuildQueue::wake() const { ::eventfd_write(asked_.get(), 1); }

void BuildQueue::quieten() const {
  eventfd_t ignored = 0;
  ::eventfd_read(asked_.get(), &ignored);
}

BuildTicket BuildQueue::submit(TranslationUnit unit, BuildOrigin origin, std::chrono::milliseconds limit) {
  const std::lock_guard lock(mutex_);
  waiting_.submitted.push_back(
      {.ticket = ++last_ticket_, .unit = std::move(unit), .origin = origin, .limit = limit});
  ++unfinished_;
  wake();
  return last_ticket_;
}

void BuildQueue::cancel(BuildTicket ticket) {
  const std::lock_guard lock(mutex_);
  waiting_.cancelled.push_back(ticket);
  wake();
}

void BuildQueue::stop() {
  const std::lock_guard lock(mutex_);
  waiting_.stopping = true;
  wake();
}

std::optional<FinishedBuild> BuildQueue::wait(TimePoint deadline) {
  std::unique_lock lock(mutex_);
  const auto done = [this] { return !finished_.empty() || unfinished_ == 0; };
  if (deadline != TimePoint::min()) changed_.wait_until(lock, deadline, done);
  if (finished_.empty()) return std::nullopt;
  FinishedBuild build = std::move(finished_.front());
  finished_.pop_front();
  eventfd_t ignored = 0;
  if (finished_.empty()) ::eventfd_read(ready_.get(), &ignored);
  return build;
}

BuildQueue::Asked BuildQueue::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, Asked{.submitted = {}, .cancelled = {}, .stopping = waiting_.stopping});
}

void BuildQueue::finish(BuildTicket ticket, BuildResult result) {
  const std::lock_guard lock(mutex_);
  finished_.push_back({ticket, std::move(result)});
  --unfinished_;
  ::eventfd_write(ready_.get(), 1);
  changed_.notify_all();
}

}  // namespace ak::runtime
