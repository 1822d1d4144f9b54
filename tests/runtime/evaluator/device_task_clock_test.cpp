// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_task_clock.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using TimePoint = DeviceTaskClock::TimePoint;

const TimePoint kStart{1h};

DeviceProgress progress(const char* doing, double limit_ms) {
  return {.doing = doing, .what = "what it does", .limit_ms = limit_ms};
}

TEST_CASE("without a task no time runs out") {
  DeviceTaskClock clock(false);
  CHECK(clock.wake_up() == TimePoint::max());
  clock.begin(kStart, kStart + 5s, false);
  clock.stop();
  CHECK_FALSE(clock.past_deadline(kStart + 24h));
  CHECK_FALSE(clock.silent_too_long(kStart + 24h));
}

TEST_CASE("a worker may be silent for as long as it announced, and thirty times that while it is watched") {
  for (const bool watched : {false, true}) {
    DeviceTaskClock clock(watched);
    clock.begin(kStart, kStart + 1h, false);
    clock.note_progress(progress("candidate", 2'000), kStart + 1s);
    CHECK(clock.in_candidate());
    CHECK(clock.what() == "what it does");
    const auto limit = watched ? 60s : 2s;
    CHECK(clock.limit_ms() == (watched ? 60'000 : 2'000));
    CHECK_FALSE(clock.silent_too_long(kStart + 1s + limit - 1ms));
    CHECK(clock.silent_too_long(kStart + 1s + limit));
    CHECK(clock.wake_up() == kStart + 1s + limit);
  }
}

TEST_CASE("a task that opens its problem has a minute for that, and another one to begin") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 1h, true);
  CHECK(clock.opening());
  CHECK(clock.silent_too_long(kStart + 60s));
  clock.note_opened(kStart + 50s);
  CHECK_FALSE(clock.opening());
  CHECK_FALSE(clock.silent_too_long(kStart + 109s));
  CHECK(clock.silent_too_long(kStart + 110s));
}

TEST_CASE("a task ends at its deadline however often its worker speaks") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 5s, false);
  clock.note_progress(progress("harness", 60'000), kStart + 4s);
  CHECK_FALSE(clock.past_deadline(kStart + 4s));
  CHECK(clock.past_deadline(kStart + 5s));
  CHECK(clock.wake_up() == kStart + 5s);
  CHECK(clock.elapsed_ms(kStart + 4s) == 4'000);
}

TEST_CASE("while the worker waits for other processes the task's time does not run") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 5s, false);
  clock.note_progress(progress("waiting", 30'000), kStart + 2s);
  clock.note_progress(progress("waiting", 30'000), kStart + 3s);
  CHECK(clock.waiting());
  CHECK_FALSE(clock.past_deadline(kStart + kLongestWait));
  CHECK(clock.silent_too_long(kStart + 33s));  // it still has to give signs of life
  clock.note_progress(progress("candidate", 60'000), kStart + 9s);
  CHECK_FALSE(clock.past_deadline(kStart + 12s - 1ms));
  CHECK(clock.past_deadline(kStart + 12s));  // three of its five seconds were left
}

TEST_CASE(
    "a task's time is stopped for as long as the task allows, however often its worker says that it "
    "waits") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 5s, false, 10s);
  for (auto now = kStart; now < kStart + 30s; now += 1s) {
    clock.note_progress(progress("waiting", 30'000), now);
    CHECK(clock.past_deadline(now) == (now >= kStart + 15s));
    clock.note_progress(progress("harness", 30'000), now + 500ms);
    CHECK(clock.wake_up() <= kStart + 15s);
  }
}

TEST_CASE("where there is nothing to wait for, saying so gives no time") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 5s, false, 0s);
  clock.note_progress(progress("waiting", 3'600'000), kStart + 4s);
  CHECK_FALSE(clock.waiting());
  CHECK(clock.past_deadline(kStart + 5s));
}

TEST_CASE("a new task does not get the time that was left when the one before it waited") {
  DeviceTaskClock clock(false);
  clock.begin(kStart, kStart + 5s, false);
  clock.note_progress(progress("waiting", 30'000), kStart + 1s);
  clock.begin(kStart + 2s, kStart + 3s, false);
  clock.note_progress(progress("candidate", 60'000), kStart + 2s);
  CHECK(clock.past_deadline(kStart + 3s));
}

}  // namespace
}  // namespace ak::runtime
