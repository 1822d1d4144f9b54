// SPDX-License-Identifier: Apache-2.0
// The models that come with the program, against the measurements that they are fitted to.
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "app/predict/exact_counts.h"
#include "app/predict/measured_calls.h"
#include "app/predict/time_models.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/text/file.h"
#include "core/text/json.h"
#include "tests/support/temporary_folder.h"

namespace ak::app {
namespace {

using profiler::Knowledge;
using profiler::MeasuredCall;
using profiler::TimeModel;

const std::filesystem::path kRoot = AK_SOURCE_DIR;

Json sources() { return parse_json(read_file(kRoot / "models" / "sources.json")); }

std::vector<MeasuredCall> calls_of(const Json& source) {
  std::vector<std::filesystem::path> databases;
  for (const Json& file : source.at("databases")) databases.push_back(kRoot / file.get<std::string>());
  return measured_calls(databases, source.at("arch").get<std::string>()).calls;
}

std::vector<const MeasuredCall*> pointers(const std::vector<MeasuredCall>& calls) {
  std::vector<const MeasuredCall*> all;
  for (const MeasuredCall& call : calls) all.push_back(&call);
  return all;
}

TEST_CASE("every shipped model is what its measurements give today: else run scripts/fit_time_models.py") {
  constexpr std::size_t kEvery = 7;    // of the calls, so that every space and shape is met
  constexpr double kRounding = 0.002;  // another compiler may round so that a tree splits elsewhere
  const Json all = sources();
  for (const auto& [name, source] : all.items()) {
    CAPTURE(name);
    const std::vector<MeasuredCall> calls = calls_of(source);
    const NamedModels shipped = open_models(name);
    CHECK(shipped.models.arch == source.at("arch"));
    REQUIRE(shipped.models.training.at("calls") == calls.size());
    const TimeModel fresh = TimeModel::fit(pointers(calls), Knowledge::build);
    const TimeModel& kept = shipped.models.models.at(Knowledge::build);
    double apart = 0, compared = 0;
    for (std::size_t i = 0; i < calls.size(); i += kEvery, ++compared)
      apart += std::abs(std::log(kept.predict(calls[i].facts, calls[i].device).time_ns /
                                 fresh.predict(calls[i].facts, calls[i].device).time_ns));
    CHECK(apart / compared < kRounding);
  }
}

TEST_CASE(
    "intervals of a shipped model that were made without an algorithm hold its times as often as is said") {
  const Json all = sources();
  for (const auto& [name, source] : all.items()) {
    CAPTURE(name);
    const std::vector<MeasuredCall> calls = calls_of(source);
    const auto times = profiler::leave_one_algorithm_out(calls, Knowledge::build);
    const double share = profiler::interval_coverage(calls, times, profiler::algorithms_of(calls)).share;
    CHECK(share >= 0.85);
    CHECK(share <= 0.97);
    const NamedModels shipped = open_models(name);
    const Json& recorded = shipped.models.accuracy.at(Knowledge::build);
    CHECK(profiler::accuracy_of(calls, times).mean_error ==
          Approx(recorded.at("new_algorithm").at("mean_error").get<double>()).epsilon(1e-3));
    CHECK(recorded.at("known_space").at("mean_error") < 0.1);
  }
}

TEST_CASE("the user's own model goes before the shipped one, and a named one before both") {
  const testing::TemporaryFolder folder;
  Config config;
  config.database = (folder / "ak.db").string();
  CHECK(models_of_target("sm_90a", config)->name == "sm_90a_h200");
  CHECK_FALSE(models_of_target("sm_120", config));
  CHECK_FALSE(user_models("sm_90a", config));
  CHECK_FALSE(chosen_models("sm_90a", config));
  std::filesystem::copy(kRoot / "models" / "time" / "sm_90a_h200.json", user_model_file("sm_90a", config));
  CHECK(models_of_target("sm_90a", config)->name == "prediction_sm_90a");
  CHECK(chosen_models("sm_90a", config)->name == "prediction_sm_90a");
  config.time_model = "sm_90a_h200";
  CHECK(models_of_target("sm_90a", config)->name == "sm_90a_h200");
  CHECK(chosen_models("sm_90a", config)->name == "sm_90a_h200");
  CHECK_THROWS_AS(models_of_target("sm_120", config), Error);
  config.time_model = "none";
  CHECK_FALSE(models_of_target("sm_90a", config));
  CHECK_FALSE(chosen_models("sm_90a", config));
}

TEST_CASE("a model that is fitted again keeps its name and not its identity") {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "mine.json";
  std::string text = read_file(kRoot / "models" / "time" / "sm_90a_h200.json");
  write_file_atomically(file, text);
  const NamedModels before = open_models(file.string());
  write_file_atomically(file, text + "\n");
  const NamedModels after = open_models(file.string());
  CHECK(before.name == after.name);
  CHECK(before.identity() != after.identity());
  CHECK(before.identity().starts_with("mine@"));
}

TEST_CASE("what is counted on smaller shapes is not on the problem's own") {
  const codegen::Problem softmax = codegen::load_problem(codegen::find_problem("softmax"));
  const auto problem = codegen::instantiate(softmax, codegen::choose_params(softmax, {}));
  const auto counted = with_counted_shapes(*problem, {{{"M", 4}, {"N", 32}}});
  REQUIRE(counted->workloads.size() == 1);
  CHECK(counted->workloads[0].name == "M=4,N=32");
  CHECK(counted->shapes_given);
}

}  // namespace
}  // namespace ak::app
