// SPDX-License-Identifier: Apache-2.0
// Which rows of a database a search begins with.
#include "app/search/earlier_answers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "db/database.h"
#include "tests/db/store_fixture.h"

namespace ak::app {
namespace {

using db::test::Run;

ProblemInstance of_size(std::int64_t size) {
  ProblemInstance problem = db::test::vector_add();
  problem.workloads.back().axes["N"] = size;
  problem.workloads.back().uid = "uid-large-" + std::to_string(size);
  return problem;
}
DeviceFacts other_device() {
  DeviceFacts device = db::test::device();
  device.name = "Other GPU";
  device.uuid = "GPU-2";
  return device;
}
/// Ended with `status` after it was timed.
EvaluationResult timed(Status status, double median_ns) {
  EvaluationResult result = Run::result(Status::ok, median_ns);
  result.outcome.status = status;
  return result;
}

/// Of variant BLOCK = `block`, which passed: where, if not on the search's device, and what was predicted, if anything.
void commit(Run& run, int block, const DeviceFacts* device, const PredictedScore* predicted) {
  const EvaluationRequest request = run.request(block);
  const EvaluationResult result = Run::result(Status::ok, 1000.0 * block);
  EvaluationRecord record;
  record.search = run.search;
  record.device = device;
  record.predicted = predicted;
  record.iteration = run.iteration++;
  record.proposer = "search";
  record.arm = "random";
  record.request = &request;
  record.result = &result;
  run.store.commit(record);
}

struct Database {
  db::test::TemporaryFolder folder;
  std::unique_ptr<VariantStore> store = db::open_store(folder.file());

  /// For a search of vector_add with N = 1,000,000 on the test GPU.
  [[nodiscard]] EarlierAnswers read(std::optional<std::int64_t> up_to = std::nullopt,
                                    const TargetPredictor* predictor = nullptr) const {
    const ProblemInstance problem = db::test::vector_add();
    return earlier_answers(folder.file(), problem, {searched()}, db::test::device(),
                           {.major = 9, .minor = 0, .feature = 'a'}, predictor, up_to);
  }
  /// Points and times of a group; failures have time 0.
  [[nodiscard]] std::vector<std::pair<std::int64_t, double>> answers(
      const agent::EarlierSearch& group) const {
    std::vector<std::pair<std::int64_t, double>> list;
    for (const auto& answer : group.answers)
      list.emplace_back(answer.point.at("BLOCK"), answer.time_ns.value_or(0));
    std::ranges::sort(list);
    return list;
  }
  [[nodiscard]] Candidate searched() const { return Run(*store).request(128).candidate; }
};

using Answers = std::vector<std::pair<std::int64_t, double>>;

TEST_CASE("a kernel that was timed and refused is a failure, never a fast answer") {
  Database database;
  Run run(*database.store, other_device());
  run.commit(128, Status::ok, 5000);
  run.commit(256, Status::ok, 4000);
  run.commit(run.request(512), timed(Status::below_floor, 1));
  run.commit(run.request(1024), timed(Status::incorrect, 2));
  run.commit(run.request(64), timed(Status::infrastructure_error, 3));  // says nothing of the kernel
  run.commit(run.request(32), timed(Status::duplicate, 4));             // nor does this
  const EarlierAnswers earlier = database.read();
  REQUIRE(earlier.of_templates.size() == 1);
  REQUIRE(earlier.of_templates[0].size() == 1);
  CHECK(database.answers(earlier.of_templates[0][0]) ==
        Answers{{128, 5000}, {256, 4000}, {512, 0}, {1024, 0}});
  CHECK(earlier_text(earlier.of_templates) == "4 answers of 1 device and 1 shape");
}

TEST_CASE("doing a search again begins with nothing of it, neither times nor failures") {
  Database database;
  Run same(*database.store);
  same.commit(128, Status::ok, 5000);
  same.commit(256, Status::ok, 4000);
  same.commit(512, Status::launch_error);
  CHECK(earlier_text(database.read().of_templates).empty());
  Run smaller(*database.store, db::test::device(), of_size(500'000));
  smaller.commit(128, Status::ok, 2500);
  smaller.commit(256, Status::ok, 2000);
  const EarlierAnswers earlier = database.read();
  REQUIRE(earlier.of_templates[0].size() == 1);
  CHECK(database.answers(earlier.of_templates[0][0]) == Answers{{128, 2500}, {256, 2000}});
}

TEST_CASE("what a search refused for a bound of its own on errors is no failure of others") {
  Database database;
  Run run(*database.store, other_device());
  run.commit(128, Status::ok, 5000);
  run.commit(256, Status::ok, 4000);
  run.commit(512, Status::incorrect);
  CHECK(database.answers(database.read().of_templates[0][0]) == Answers{{128, 5000}, {256, 4000}, {512, 0}});
  db::test::execute(database.folder.file(), R"(UPDATE searches SET budgets = '{"max_error": 0.001}')");
  CHECK(database.answers(database.read().of_templates[0][0]) == Answers{{128, 5000}, {256, 4000}});
}

TEST_CASE("failures count once, in the nearest shape of their device") {
  Database database;
  for (const std::int64_t size : {4'000'000, 2'000'000}) {
    Run run(*database.store, other_device(), of_size(size));
    run.commit(128, Status::ok, 5000);
    run.commit(256, Status::ok, 4000);
    run.commit(512, Status::launch_error);
  }
  const EarlierAnswers earlier = database.read();
  REQUIRE(earlier.of_templates[0].size() == 2);
  CHECK(earlier.of_templates[0][0].shape.find("2000000") != std::string::npos);
  CHECK(database.answers(earlier.of_templates[0][0]) == Answers{{128, 5000}, {256, 4000}, {512, 0}});
  CHECK(database.answers(earlier.of_templates[0][1]) == Answers{{128, 5000}, {256, 4000}});
}

TEST_CASE("answers of the other devices of a pool count as theirs") {
  Database database;
  Run run(*database.store);
  const DeviceFacts device = other_device();
  for (const int block : {128, 256}) commit(run, block, &device, nullptr);
  const EarlierAnswers earlier = database.read();
  REQUIRE(earlier.of_templates[0].size() == 1);
  CHECK(earlier.of_templates[0][0].device == "Other GPU");
}

TEST_CASE("a search that continues begins with what it began with") {
  Database database;
  Run run(*database.store, other_device());
  run.commit(128, Status::ok, 5000);
  run.commit(256, Status::ok, 4000);
  const EarlierAnswers before = database.read();
  run.commit(run.request(256), timed(Status::incorrect, 4000), "held_out");  // was wrong all the time
  run.commit(512, Status::ok, 3000);
  const EarlierAnswers again = database.read(before.last_evaluation);
  REQUIRE(again.of_templates[0].size() == 1);
  CHECK(database.answers(again.of_templates[0][0]) == Answers{{128, 5000}, {256, 4000}});
  CHECK(again.last_evaluation == before.last_evaluation);
  CHECK(database.answers(database.read().of_templates[0][0]) == Answers{{128, 5000}, {256, 0}, {512, 3000}});
}

TEST_CASE(
    "where predicted times rank, they are the times, and what this model did not predict is no answer") {
  struct OneModel final : TargetPredictor {
    [[nodiscard]] std::optional<PredictedScore> predict(const Completed&) const override { return {}; }
    [[nodiscard]] bool ranks_with(std::string_view model) const override { return model == "mine"; }
  };
  Database database;
  Run run(*database.store, other_device());
  const auto predicted = [](const std::string& model, double time_ns) {
    return PredictedScore{.model = model,
                          .score = Nanoseconds(time_ns),
                          .times = {{.workload = "large", .time = Nanoseconds(time_ns), .limiter = ""}}};
  };
  const PredictedScore slow = predicted("mine", 70), fast = predicted("mine", 60),
                       other = predicted("else", 1);
  run.commit(64, Status::ok, 3000);
  commit(run, 128, nullptr, &slow);
  commit(run, 256, nullptr, &fast);
  commit(run, 512, nullptr, &other);
  const OneModel predictor;
  const EarlierAnswers earlier = database.read(std::nullopt, &predictor);
  REQUIRE(earlier.of_templates[0].size() == 1);
  CHECK(database.answers(earlier.of_templates[0][0]) == Answers{{128, 70}, {256, 60}});
}

}  // namespace
}  // namespace ak::app
