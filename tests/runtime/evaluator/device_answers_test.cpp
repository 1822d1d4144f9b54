// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/device_answers.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

/// A task to check and time workload "n7", and an answer that fits it.
struct Exchange {
  Exchange() {
    problem.tensors = {{.name = "a", .alias_of = {}}, {.name = "c", .output = true, .alias_of = {}}};
    task.image.image = "program";
    task.workloads.push_back(
        {.workload = "n7", .plan = {}, .distributions = {"normal"}, .time = true, .champion_score_ns = {}});
    answer.outcome = {.status = Status::ok, .stage = StageId::verdict, .message = "", .diagnostics = {}};
    answer.checks.push_back({.workload = "n7", .distribution = "normal", .tensor = "c", .passed = true});
    Measurement& measurement = answer.measurements.emplace_back();
    measurement.workload = "n7";
    measurement.samples_ns = {10, 12};
    measurement.median_ns = 11;
    measurement.ci_low_ns = 10;
    measurement.ci_high_ns = 12;
  }
  /// What is wrong with the answer, changed by `change`; empty where it is believed.
  template <class Change>
  std::string wrong(Change change) const {
    Json json = to_json(answer);
    change(json);
    const auto read = AskedOfDevice(task, problem).read(json);
    return read ? "" : read.error().message;
  }

  OpenProblem problem;
  DeviceTask task;
  DeviceAnswer answer;
};

}  // namespace

TEST_CASE("an answer that fits its task is believed") {
  CHECK(Exchange().wrong([](Json&) {}).empty());
}

TEST_CASE("what a task did not ask for is named, and not believed") {
  const Exchange exchange;
  const std::pair<const char*, void (*)(Json&)> kLies[] = {
      {"stage", [](Json& json) { json["stage"] = 200; }},
      {"stage", [](Json& json) { json["stage"] = -1; }},
      {"is not a device's", [](Json& json) { json["stage"] = static_cast<int>(StageId::build); }},
      {"status", [](Json& json) { json["status"] = "splendid"; }},
      {"does not end as duplicate", [](Json& json) { json["status"] = "duplicate"; }},
      {"does not end as compiled_only", [](Json& json) { json["status"] = "compiled_only"; }},
      {"gate", [](Json& json) { json["gate"] = "front"; }},
      {"rival", [](Json& json) { json["rival_failed"] = true; }},
      {"'n8'", [](Json& json) { json["measurements"][0]["workload"] = "n8"; }},
      {"baseline", [](Json& json) { json["measurements"][0]["role"] = 2; }},
      {"role", [](Json& json) { json["measurements"][0]["role"] = 77; }},
      {"without samples", [](Json& json) { json["measurements"][0]["samples_ns"] = Json::array(); }},
      {"32 bits", [](Json& json) { json["measurements"][0]["samples_ns"][0] = -1; }},
      {"median_ns", [](Json& json) { json["measurements"][0]["median_ns"] = -1; }},
      {"a throttled sample", [](Json& json) { json["measurements"][0]["throttled"] = Json::array({2u}); }},
      {"took no time", [](Json& json) { json["measurements"][0]["median_ns"] = 0; }},
      {"one of its samples", [](Json& json) { json["measurements"][0]["median_ns"] = 8; }},
      {"one of its samples", [](Json& json) { json["measurements"][0]["ci_high_ns"] = 14; }},
      {"in its interval", [](Json& json) { json["measurements"][0]["ci_low_ns"] = 12; }},
      {"timed twice",
       [](Json& json) {
         json["measurements"].push_back(Json(json["measurements"][0]));
         json["measurements"][1]["label"] = "another";
       }},
      {"0 checks, where 1", [](Json& json) { json["checks"] = Json::array(); }},
      {"timed twice", [](Json& json) { json["measurements"].push_back(Json(json["measurements"][0])); }},
      {"was not timed", [](Json& json) { json["measurements"] = Json::array(); }},
      {"'heavy'", [](Json& json) { json["checks"][0]["distribution"] = "heavy"; }},
      {"no output", [](Json& json) { json["checks"][0]["tensor"] = "a"; }},
      {"failed check", [](Json& json) { json["checks"][0]["passed"] = false; }},
      {"checked twice", [](Json& json) { json["checks"].push_back(Json(json["checks"][0])); }},
      {"check_ms", [](Json& json) { json["check_ms"] = 1e300; }},
      {"lost", [](Json& json) { json.erase("lost"); }},
      {"checks", [](Json& json) { json["checks"] = 3; }},
  };
  for (const auto& [named, change] : kLies) {
    INFO(named);
    CHECK_THAT(exchange.wrong(change), Catch::Contains(named));
  }
}

TEST_CASE("times in pairs with a library are the kernel's and the library's, as many of each, or none") {
  Exchange exchange;
  exchange.task.library = "cublaslt";
  exchange.answer.checks.clear();
  Measurement library = exchange.answer.measurements.front();
  library.role = MeasurementRole::baseline;
  library.label = "cublaslt 13.0";
  exchange.answer.measurements.push_back(library);
  CHECK(exchange.wrong([](Json&) {}).empty());
  CHECK(exchange.wrong([](Json& json) { json["measurements"] = Json::array(); }).empty());
  CHECK_THAT(exchange.wrong([](Json& json) { json["measurements"].erase(0); }), Catch::Contains("in pairs"));
  CHECK_THAT(exchange.wrong([](Json& json) { json["measurements"].erase(1); }), Catch::Contains("in pairs"));
  CHECK_THAT(exchange.wrong([](Json& json) { json["measurements"][1]["role"] = 1; }),
             Catch::Contains("was not asked for"));
}

TEST_CASE("a calibration is two times, and what the device says of itself") {
  const Json good{
      {"compute_ns", 130e3}, {"copy_ns", 70e3}, {"memory_errors", nullptr}, {"sm_clock_mhz", 1'980}};
  CHECK(read_calibration(good)->copy_ns == 70e3);
  CHECK_FALSE(read_calibration(good)->memory_errors);
  for (const auto& [key, value] : {std::pair<const char*, Json>{"compute_ns", 0},
                                   {"compute_ns", "nan"},
                                   {"copy_ns", 1e18},
                                   {"memory_errors", -1},
                                   {"memory_errors", "none"},
                                   {"sm_clock_mhz", -1}}) {
    Json bad = good;
    bad[key] = value;
    CHECK_FALSE(read_calibration(bad));
  }
  CHECK_FALSE(read_calibration(Json::object()));
}

TEST_CASE("progress is one of four activities, for a time that is a number") {
  const Json good{{"doing", "candidate"}, {"what", "k on n7"}, {"limit_ms", 2'000}};
  CHECK(read_progress(good)->limit_ms == 2'000);
  for (const auto& [key, value] : {std::pair<const char*, Json>{"doing", "sleeping"},
                                   {"doing", 3},
                                   {"what", nullptr},
                                   {"limit_ms", -1},
                                   {"limit_ms", 1e18},
                                   {"limit_ms", "nan"}}) {
    Json bad = good;
    bad[key] = value;
    CHECK_FALSE(read_progress(bad));
  }
  CHECK_FALSE(read_progress(Json::object()));
}

}  // namespace ak::runtime
