// SPDX-License-Identifier: Apache-2.0
// The parent's real code against workers that were taken over: whatever they send, the parent lives, keeps its
// deadlines, and nothing changes outside its cache.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "core/text/file.h"
#include "runtime/build/build_key.h"
#include "runtime/build/compile_pool.h"
#include "runtime/evaluator/device_client.h"
#include "tests/runtime/process/worker_test_support.h"
#include "tests/support/fuzz_iterations.h"
#include "tests/support/run_program.h"

namespace ak::runtime {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A folder with files that no worker may touch, and workers that know where they are.
struct Grounds {
  Grounds() {
    fs::create_directories(folder / "canary");
    std::ofstream(folder / "canary" / "sings") << "untouched";
    std::ofstream(folder / "started");
  }
  [[nodiscard]] std::vector<std::string> workers(int seed) const {
    std::vector<std::string> command = worker_command();
    command.insert(command.end(), {"--hostile", folder.path().string(), std::to_string(seed)});
    return command;
  }
  /// All but the cache and the count of workers, with their contents.
  [[nodiscard]] std::map<std::string, std::string> others() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      const std::string name = fs::relative(entry.path(), folder.path()).string();
      if (name == "started" || name.starts_with("cache")) continue;
      found[name] = entry.is_regular_file() ? read_file(entry.path()) : "";
    }
    return found;
  }

  ak::testing::TemporaryFolder folder;
};

TranslationUnit numbered_unit(int number) {
  return unit_of("extern \"C\" __global__ void k(float* x) { *x = " + std::to_string(number) + "; }\n");
}

/// What the parent may say of a build whose worker says anything.
bool may_end(Status status) {
  constexpr std::array kEnds{Status::ok,          Status::compile_error,       Status::invalid_candidate,
                             Status::unsupported, Status::resource_exceeded,   Status::out_of_memory,
                             Status::timeout,     Status::infrastructure_error};
  return std::ranges::find(kEnds, status) != kEnds.end();
}

/// AK_FUZZ_ITERATIONS counts inputs of a function; a round here costs a process.
int some_rounds() {
  constexpr int kRounds = 60, kCost = 200;
  return ak::test::fuzz_iterations(kRounds * kCost) / kCost;
}

struct SmallProblem {
  SmallProblem() {
    auto made = std::make_shared<OpenProblem>();
    made->problem = "small";
    made->device = DeviceKind::emulator;
    made->arch = {9, 0, 'a'};
    made->tensors = {{.name = "a", .alias_of = {}}, {.name = "c", .output = true, .alias_of = {}}};
    made->workloads.push_back({.name = "n7", .shapes = {{7}, {7}}, .exact = {}, .twin = {}});
    problem = made;
    task.image.image = "program";
    task.workloads.push_back(
        {.workload = "n7", .plan = {}, .distributions = {"normal"}, .time = true, .champion_score_ns = {}});
  }
  std::shared_ptr<const OpenProblem> problem;
  DeviceTask task;
};

}  // namespace

TEST_CASE("no message of a compile worker ends the pool, moves a deadline or names a file") {
  const Grounds grounds;
  const auto before = grounds.others();
  std::set<std::string> keys;
  const int rounds = some_rounds();
  {
    CompilePool pool({grounds.workers(1), 2, 30ms, grounds.folder / "cache"});
    for (int i = 0; i < rounds; ++i) {
      const TranslationUnit unit = numbered_unit(i);
      keys.insert(BuildKey::of(unit, "13.0").text());
      const BuildTicket ticket = pool.submit(unit);
      const auto finished = pool.wait(out_of_patience());
      REQUIRE(finished);
      INFO("build " << i << ": " << to_string(finished->result.outcome.status) << ", "
                    << finished->result.outcome.message);
      CHECK(finished->ticket == ticket);
      CHECK(may_end(finished->result.outcome.status));
      CHECK(finished->result.key == BuildKey::of(unit, "13.0").text());
      CHECK(finished->result.nvrtc_version == "13.0");
      if (finished->result.outcome.status == Status::ok)
        CHECK(finished->result.kernels.at(0).expression == "k");
    }
  }
  CHECK(grounds.others() == before);
  for (const auto& entry : fs::recursive_directory_iterator(grounds.folder / "cache"))
    if (entry.is_regular_file()) CHECK(keys.contains(entry.path().stem().string()));
}

TEST_CASE("no message of a device worker ends the run, moves a deadline or adds what was not asked for") {
  const Grounds grounds;
  const auto before = grounds.others();
  const SmallProblem small;
  auto command = grounds.workers(2);
  command.insert(command.end(), {"--role", "device"});
  DeviceClient client(command);
  client.open(small.problem);
  const int rounds = some_rounds();
  for (int i = 0; i < rounds; ++i) {
    const DeviceFinish finish = client.run(small.task, in(30ms));
    const DeviceAnswer& answer = finish.answer;
    INFO("task " << i << ": " << to_string(answer.outcome.status) << ", " << answer.outcome.message);
    CHECK(answer.outcome.status != Status::interrupted);
    for (const Measurement& measurement : answer.measurements) {
      CHECK(measurement.workload == "n7");
      CHECK(measurement.role == MeasurementRole::candidate);
      CHECK(measurement.median_ns > 0);
    }
    for (const CheckRecord& check : answer.checks) CHECK(check.tensor == "c");
    if (answer.outcome.status == Status::ok) CHECK(answer.measurements.size() == 1);
  }
  CHECK(grounds.others() == before);
}

}  // namespace ak::runtime
