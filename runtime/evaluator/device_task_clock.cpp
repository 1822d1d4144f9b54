// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_task_clock.h"

#include "core/text/print_stderr.h"

namespace ak::runtime {
namespace {

// Starting CUDA takes 0.2-1 s, and many seconds on a machine with many GPUs whose driver is not kept loaded.
constexpr std::chrono::milliseconds kFirstSilence{60'000};
// compute-sanitizer's race checker is said to cost up to some hundred times (chosen).
constexpr int kWatchedSlowness = 30;
// Turns take seconds: longer is worth a word, but not every minute's worth of a night's log.
constexpr std::chrono::seconds kFirstNotice{10}, kNoticeInterval{300};

}  // namespace

void DeviceTaskClock::begin(TimePoint now, TimePoint deadline, bool opening,
                            std::chrono::steady_clock::duration longest_wait) {
  started_ = now;
  deadline_ = deadline;
  wait_left_ = longest_wait;
  waiting_since_.reset();
  activity_ = opening ? "open" : "harness";
  what_ = "starting";
  limit_ms_ = static_cast<double>(kFirstSilence.count());
  watchdog_ = now + kFirstSilence;
}

void DeviceTaskClock::note_opened(TimePoint now) {
  activity_ = "harness";
  watchdog_ = now + kFirstSilence;
}

void DeviceTaskClock::note_progress(const DeviceProgress& progress, TimePoint now) {
  activity_ = progress.doing;
  what_ = progress.what;
  limit_ms_ = progress.limit_ms * (watched_ ? kWatchedSlowness : 1);
  watchdog_ = now + std::chrono::milliseconds(static_cast<std::int64_t>(limit_ms_));
  activity_ == "waiting" ? suspend(now) : resume(now);
}

// Of the time that was allowed for waiting the task keeps what it waited.
void DeviceTaskClock::resume(TimePoint now) {
  if (!waiting_since_) return;
  const TimePoint::duration waited = std::min(now - *waiting_since_, wait_left_);
  wait_left_ -= waited;
  deadline_ -= wait_left_;
  waiting_since_.reset();
}

// Waiting for other processes is not time of the task.
void DeviceTaskClock::suspend(TimePoint now) {
  if (!waiting_since_) {
    if (wait_left_ <= wait_left_.zero()) return;
    deadline_ += wait_left_;
    waiting_since_ = now;
    next_notice_ = now + kFirstNotice;
  }
  if (now < next_notice_) return;
  next_notice_ = now + kNoticeInterval;
  print_stderr("note: waiting {} (for {:.0f} s so far)\n", what_,
               std::chrono::duration<double>(now - *waiting_since_).count());
}

double DeviceTaskClock::elapsed_ms(TimePoint now) const {
  return std::chrono::duration<double, std::milli>(now - started_).count();
}

}  // namespace ak::runtime
