// SPDX-License-Identifier: Apache-2.0
// What becomes of evaluations whose devices are lost, refuse or start again, seen through an evaluator of devices that
// follow a script.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/text/file.h"
#include "tests/runtime/evaluator/job_samples.h"
#include "tests/runtime/fleet/pretended_device.h"
#include "tests/support/build_cache.h"
#include "tests/support/patience.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;
using test::PretendedDevice;

/// A pool of such devices, all of which have joined.
struct PretendedPool {
  PretendedPool(const testing::TemporaryFolder& traces, const std::vector<PretendedDevice>& devices,
                bool time_baseline = false)
      : folder(traces) {
    EvaluatorOptions options;
    options.device = DeviceKind::cuda;
    options.target = test::kTarget;
    for (const PretendedDevice& device : devices)
      options.pool.push_back(test::place_of(device, folder.path()));
    options.compile_workers = 1;
    options.cache_dir = testing::shared_build_cache();
    options.worker_command = ak::test::self_as_worker();
    options.compile_deadline = testing::kPatience;
    options.time_baseline = time_baseline;
    evaluator = make_local_evaluator(std::move(options), ak::test::plain_assembler());
    // With one compile worker as many are useful as there are devices, and one.
    const int all = 1 + static_cast<int>(devices.size());
    REQUIRE(testing::in_the_end([&] {
      CHECK_FALSE(evaluator->wait_any(steady_clock::now()));
      return evaluator->capabilities().useful_in_flight == all;
    }));
  }
  /// Another program than those before.
  Ticket submit(bool fresh_process = false, const std::string& place = "") {
    EvaluationRequest request = test::add_request({});
    request.place = place;
    request.problem = problem;
    request.fresh_process = fresh_process;
    request.candidate = ak::test::make_candidate(
        "k.cu", ak::test::elementwise_plan("add"),
        "extern \"C\" __global__ void add(const float* a, const float* b, float* c, long long n) { c[" +
            std::to_string(++programs) + "] = a[0] + b[0]; }\n");
    return evaluator->submit(std::move(request));
  }
  Completed next() {
    auto completed = evaluator->wait_any(testing::out_of_patience());
    REQUIRE(completed);
    return std::move(*completed);
  }
  void wait_for(const std::string& uuid, const std::string& event) const {
    REQUIRE(testing::in_the_end([&] {
      CHECK_FALSE(evaluator->wait_any(steady_clock::now()));
      return exists(test::trace_of(uuid, event, folder.path()));
    }));
  }
  [[nodiscard]] std::vector<std::string> events(const std::string& uuid) const {
    return test::events_of(uuid, folder.path());
  }
  [[nodiscard]] std::ptrdiff_t count(const std::string& uuid, const std::string& event) const {
    return std::ranges::count_if(events(uuid), [&](const std::string& one) { return one.ends_with(event); });
  }

  const testing::TemporaryFolder& folder;
  std::shared_ptr<const ProblemInstance> problem = ak::test::make_problem({});
  std::unique_ptr<Evaluator> evaluator;
  int programs = 0;
};

TEST_CASE("what is lost with a device is sent once more to another") {
  const testing::TemporaryFolder folder;
  PretendedPool pool(folder, {{.uuid = "GPU-1", .dies_at = {"open"}}, {.uuid = "GPU-2"}});
  static_cast<void>(pool.submit());
  CHECK(pool.next().result.outcome.status == Status::incorrect);
  CHECK(pool.count("GPU-1", "open") == 1);
  CHECK(pool.count("GPU-2", "evaluate") == 1);
}

TEST_CASE("a device whose hardware fails rests at once, is calibrated again, and its program is not blamed") {
  const testing::TemporaryFolder folder;
  // The first is at work until the second fails.
  const auto failing = test::trace_of("GPU-2", "1 evaluate", folder.path());
  PretendedPool pool(folder, {{.uuid = "GPU-1", .waits = {{"evaluate", failing}}},
                              {.uuid = "GPU-2", .faults = {"1 evaluate"}}});
  const Ticket first = pool.submit(), second = pool.submit();
  std::set<Ticket> ended;
  for (int i = 0; i < 2; ++i) {
    const Completed completed = pool.next();
    ended.insert(completed.ticket);
    CHECK(completed.result.outcome.status == Status::incorrect);  // as a pretended device answers
    CHECK(completed.result.place == "GPU-1");
  }
  CHECK(ended == std::set{first, second});
  const PoolPlace failed = pool.evaluator->pool_places().at(1);
  CHECK(failed.breaker != BreakerState::closed);
  CHECK_THAT(failed.reason + " " + std::string(to_string(failed.breaker)),
             Catch::Contains("fallen off the bus (Xid 79)") || Catch::Contains("half-open"));
  pool.wait_for("GPU-2", "2 calibrate");
}

TEST_CASE("what only one device may run ends when that has gone, and the others go on") {
  const testing::TemporaryFolder folder;
  PretendedDevice goes{.uuid = "GPU-2", .dies_after = {"1 evaluate"}};
  for (int process = 2; process < 20; ++process) goes.dies_at.push_back(std::to_string(process) + " hello");
  PretendedPool pool(folder, {{.uuid = "GPU-1"}, goes});
  const Ticket there = pool.submit(false, "GPU-2");
  CHECK(pool.next().ticket == there);
  const Ticket gone = pool.submit(false, "GPU-2");
  const Completed ended = pool.next();
  CHECK(ended.ticket == gone);
  CHECK(ended.result.outcome.status == Status::infrastructure_error);
  CHECK_THAT(ended.result.outcome.message, Catch::Contains("the device of GPU-2 has gone"));
  static_cast<void>(pool.submit(false, "GPU-1"));
  CHECK(pool.next().result.outcome.status == Status::incorrect);
  CHECK_THROWS_WITH(pool.submit(false, "GPU-3"), Catch::Contains("there is no place GPU-3"));
}

TEST_CASE("what is lost with two devices is not sent to a third") {
  const testing::TemporaryFolder folder;
  PretendedPool pool(folder, {{.uuid = "GPU-1", .dies_at = {"open"}},
                              {.uuid = "GPU-2", .dies_at = {"open"}},
                              {.uuid = "GPU-3", .dies_at = {"open"}}});
  const auto begin = std::chrono::steady_clock::now();
  static_cast<void>(pool.submit());
  CHECK(pool.next().result.outcome.status == Status::infrastructure_error);
  CHECK(pool.count("GPU-1", "open") + pool.count("GPU-2", "open") + pool.count("GPU-3", "open") == 2);
  // So long a stop of everything may follow, which it is no fault beside.
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(3));
}

TEST_CASE("a final measurement that is lost with the device that decides runs there again") {
  const testing::TemporaryFolder folder;
  PretendedPool pool(folder, {{.uuid = "GPU-1", .dies_at = {"1 open"}}, {.uuid = "GPU-2"}});
  static_cast<void>(pool.submit(true));
  CHECK(pool.next().result.outcome.status == Status::incorrect);
}

TEST_CASE("an evaluation that two devices fail to begin ends, and ends no run that has others") {
  const testing::TemporaryFolder folder;
  PretendedPool pool(
      folder,
      {{.uuid = "GPU-1", .refuses = {"open"}}, {.uuid = "GPU-2", .refuses = {"open"}}, {.uuid = "GPU-3"}});
  static_cast<void>(pool.submit());
  const Completed completed = pool.next();
  CHECK(completed.result.outcome.status == Status::infrastructure_error);
  CHECK_THAT(completed.result.outcome.message, Catch::Contains("it does not want to"));
}

TEST_CASE("while a device starts a fresh process the others go on") {
  const testing::TemporaryFolder folder;
  PretendedPool pool(folder, {{.uuid = "GPU-1", .waits = {{"2 hello", folder / "go"}}}, {.uuid = "GPU-2"}});
  const Ticket before = pool.submit();
  CHECK(pool.next().ticket == before);
  REQUIRE(pool.count("GPU-1", "evaluate") == 1);
  const Ticket fresh = pool.submit(true);
  pool.wait_for("GPU-1", "2 hello");
  const Ticket other = pool.submit();
  const Completed first = pool.next();
  CHECK(first.ticket == other);
  CHECK(first.result.device->uuid == "GPU-2");
  write_file_atomically(folder / "go", "");
  CHECK(pool.next().ticket == fresh);
  CHECK(pool.count("GPU-1", "hello") == 2);  // one fresh process was enough
}

TEST_CASE(
    "a final measurement that goes to another device gets a fresh process there, and its own baselines") {
  const testing::TemporaryFolder folder;
  // The first one is another GPU when it comes back from its second loss, and both have run a candidate by then.
  PretendedPool pool(
      folder,
      {{.uuid = "GPU-1",
        .models = {"NVIDIA H200", "NVIDIA H200", "NVIDIA H100"},
        .dies_at = {"2 evaluate"},
        .waits = {{"1 evaluate", test::trace_of("GPU-2", "1 evaluate", folder.path())}}},
       {.uuid = "GPU-2", .waits = {{"1 evaluate", test::trace_of("GPU-1", "1 evaluate", folder.path())}}}},
      true);
  static_cast<void>(pool.submit());
  static_cast<void>(pool.submit());
  static_cast<void>(pool.next());
  static_cast<void>(pool.next());
  static_cast<void>(pool.submit(true));
  const Completed completed = pool.next();
  CHECK(completed.result.outcome.status == Status::incorrect);
  CHECK(completed.result.device->uuid == "GPU-2");
  pool.wait_for("GPU-1", "3 describe");
  CHECK(pool.events("GPU-1") == std::vector<std::string>{"1 hello", "1 describe", "1 calibrate", "1 open",
                                                         "1 baseline", "1 evaluate", "2 hello", "2 describe",
                                                         "2 open", "2 baseline", "2 evaluate", "3 hello",
                                                         "3 describe"});
  CHECK(pool.events("GPU-2") == std::vector<std::string>{"1 hello", "1 describe", "1 calibrate", "1 open",
                                                         "1 evaluate", "2 hello", "2 describe", "2 open",
                                                         "2 baseline", "2 evaluate"});
}

}  // namespace
}  // namespace ak::runtime
