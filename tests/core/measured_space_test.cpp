// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <random>

#include "core/error.h"
#include "core/tuning/decompress.h"
#include "core/tuning/measured_space.h"

namespace ak {
namespace {

/// What a synthetic formula gives at every point of a small space; one point in seven fails.
MeasuredSpace synthetic() {
  MeasuredSpaceBuilder builder;
  for (std::int64_t block = 32; block <= 256; block *= 2) {
    for (const char* type : {"float", "double"}) {
      for (const double scale : {0.5, 1.0, 2.0}) {
        MeasuredSpaceBuilder::Row row{.values = {{"block", block}, {"type", type}, {"scale", scale}}};
        const double time_ns = 1e6 * (scale + 100.0 / static_cast<double>(block));
        if (block == 128 && scale == 0.5)
          row.result.failure = "compile";
        else
          row.result.time_ns = time_ns;
        row.result.compile_ms = 12.5;
        row.result.benchmark_ms = 3;
        builder.add(row);
      }
    }
  }
  MeasuredSpace space = builder.finish({{"block", {}}, {"type", {}}, {"scale", {}}}).value();
  space.kernel = "toy";
  space.device = "a machine";
  return space;
}

void check_same(const MeasuredSpace& a, const MeasuredSpace& b) {
  REQUIRE(a.points.size() == b.points.size());
  REQUIRE(a.parameters.size() == b.parameters.size());
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    CHECK(a.parameters[i].name == b.parameters[i].name);
    CHECK(a.parameters[i].values == b.parameters[i].values);
  }
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    CHECK(a.points[i].point == b.points[i].point);
    REQUIRE(a.points[i].time_ns.has_value() == b.points[i].time_ns.has_value());
    if (a.points[i].time_ns) CHECK(*a.points[i].time_ns == Approx(*b.points[i].time_ns));
    CHECK(a.points[i].compile_ms == b.points[i].compile_ms);
    CHECK(a.points[i].benchmark_ms == b.points[i].benchmark_ms);
  }
}

std::string input_error(const std::string& text) {
  const auto space = parse_measured_space(text);
  REQUIRE_FALSE(space.ok());
  return space.error().message;
}

const std::string kHead =
    R"({"device_name": "d", "kernel_name": "k", "problem_size": 7, "tune_params_keys": ["a", "b"],
"tune_params": {"a": [1, 2], "b": [true, false]}, "objective": "time", "cache": {)";

TEST_CASE("what is written as a Kernel Tuner cache or as T4 results is read back the same") {
  const MeasuredSpace space = synthetic();
  CHECK(space.failures() == 2);
  CHECK(space.best_ns() == Approx(1e6 * (0.5 + 100.0 / 256)));
  const auto cache = parse_measured_space(to_kernel_tuner_cache(space).dump());
  REQUIRE(cache.ok());
  check_same(*cache, space);
  CHECK(cache->kernel == "toy");
  CHECK(cache->device == "a machine");
  CHECK(cache->points[0].failure.empty());
  const auto t4 = parse_measured_space(to_t4(space).dump());
  REQUIRE(t4.ok());
  check_same(*t4, space);
}

TEST_CASE("a cache is read in every form Kernel Tuner leaves it in") {
  const std::string entries =
      "\n\"1,True\": {\"a\": 1, \"b\": true, \"time\": 2.5, \"compile_time\": 10, \"benchmark_time\": 4},"
      "\n\"1,False\": {\"a\": 1, \"b\": false, \"time\": \"RuntimeFailedConfig\"},"
      "\n\"2,True\": {\"a\": 2, \"b\": true, \"__error__\": \"CompilationFailedConfig\"},"
      "\n\"2,False\": {\"a\": 2, \"b\": false, \"time\": 1e20}";
  for (const std::string& end : {std::string("}\n}"), std::string(","), std::string("}}")}) {
    const auto space = parse_measured_space(kHead + entries + end);
    REQUIRE(space.ok());
    CHECK(space->points.size() == 4);
    CHECK(space->failures() == 3);
    CHECK(space->points[0].time_ns == 2.5e6);
    CHECK(space->points[0].compile_ms == 10);
    CHECK(space->points[1].failure == "RuntimeFailedConfig");
    CHECK(space->points[2].failure == "CompilationFailedConfig");
    CHECK(space->notes.empty());
  }
  const auto cut = parse_measured_space((kHead + entries).substr(0, (kHead + entries).size() - 12));
  REQUIRE(cut.ok());
  CHECK(cut->points.size() == 3);
  REQUIRE(cut->notes.size() == 1);
  CHECK(cut->notes[0].find("cut short") == 0);
  std::string newer = kHead + entries + "}}";
  newer.replace(newer.find("\"time\", \"cache\""), 6, "[\"time\"]");
  CHECK(parse_measured_space(newer)->failures() == 3);
}

TEST_CASE("KTT's results are read with their unit") {
  const auto item = [](int x, const std::string& status, double duration) {
    return Json{
        {"KernelName", "K"},
        {"Status", status},
        {"TotalDuration", duration},
        {"Configuration", Json::array({Json{{"Name", "X"}, {"ValueType", "UnsignedInt"}, {"Value", x}}})},
        {"ComputationResults", Json::array({Json{{"CompilationOverhead", 2000.0}}})}};
  };
  const Json file{{"Metadata", {{"Device", "gpu"}, {"TimeUnit", "Microseconds"}}},
                  {"Results", {item(1, "Ok", 5), item(2, "ComputationFailed", 0)}}};
  const auto space = parse_measured_space(file.dump());
  REQUIRE(space.ok());
  CHECK(space->points[0].time_ns == 5000.0);
  CHECK(space->points[0].compile_ms == 2.0);
  CHECK(space->points[1].failure == "ComputationFailed");
  CHECK(space->device == "gpu");
}

TEST_CASE("what is wrong with a file is said") {
  CHECK(input_error("{\"cache\"") == "not JSON, or cut short: no whole results can be read from it");
  CHECK(input_error("{}") == "expected a Kernel Tuner cache, T4 results or KTT results");
  CHECK(input_error(kHead + "}}") == "the file has no results");
  CHECK(input_error(kHead + "\"1\": {\"a\": 1, \"time\": 2}}}") == "cache['1'] has no 'b'");
  CHECK(input_error(R"({"ConfigurationSpace": {}})") == "a definition (T1) has no results");
  CHECK(input_error(R"({"results": [{"configuration": {"a": 1}}, {"configuration": {"b": 1}}]})") ==
        "result 2 has no value for parameter a");
  CHECK(input_error(R"({"Metadata": {"TimeUnit": "Years"}, "Results": []})") ==
        "unknown unit of time 'years'");
  const auto failing = parse_measured_space(kHead + R"("1,True": {"a": 1, "b": true, "time": "x"}}})");
  REQUIRE(failing.ok());
  CHECK(failing->notes == std::vector<std::string>{"every point failed"});
}

TEST_CASE("results of another kernel, and points outside the definition, do not fit a space") {
  const Json t1 = parse_json(R"json({"ConfigurationSpace": {
      "TuningParameters": [{"Name": "block", "Type": "int", "Values": "[2**i for i in range(5, 9)]"},
                           {"Name": "type", "Type": "string", "Values": "['float', 'double']"},
                           {"Name": "scale", "Type": "float", "Values": "[0.5, 1.0, 2.0]"}],
      "Conditions": [{"Parameters": ["block"], "Expression": "block < 200"}]},
      "KernelSpecification": {"KernelName": "toy"}})json");
  REQUIRE(is_definition(t1));
  auto definition = parse_definition(t1).value();
  CHECK(definition.kernel == "toy");
  const auto narrow = TunableSpace::build(definition.parameters, definition.constraints).value();
  CHECK(narrow.size() == 18);
  CHECK(mismatch(synthetic(), narrow)->message ==
        "6 of 24 points are not in the defined space, the first (256,float,0.5)");
  CHECK_FALSE(mismatch(synthetic(), TunableSpace::build(definition.parameters, {}).value()));
  definition.parameters[0].name = "threads";
  CHECK(mismatch(synthetic(), TunableSpace::build(definition.parameters, {}).value())->message ==
        "results of another kernel: they have the parameters block, type, scale, the definition threads, "
        "type, scale");
}

TEST_CASE("a file cut anywhere, or with bytes changed, gives a space or an error") {
  std::mt19937_64 engine(5);
  const MeasuredSpace space = synthetic();
  for (const std::string& whole : {to_kernel_tuner_cache(space).dump(1), to_t4(space).dump()}) {
    for (int round = 0; round < 300; ++round) {
      std::string text = whole.substr(0, engine() % whole.size());
      if (round % 2 == 0) text = whole;
      for (std::size_t i = 0; i < engine() % 4; ++i)
        if (!text.empty()) text[engine() % text.size()] = static_cast<char>(engine() % 128);
      const auto read = parse_measured_space(text);
      if (read.ok()) CHECK(read->points.size() <= space.points.size());
      if (!read.ok()) CHECK_FALSE(read.error().message.empty());
    }
  }
}

TEST_CASE("packed data are recognised by their first bytes; damage and an early end are noticed") {
  // "hello\n" by gzip and by xz.
  const std::string gzip(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30"
      "\x3a\x36\x06\x00\x00\x00",
      26);
  const std::string xz(
      "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00"
      "\x74\x2f\xe5\xa3\x01\x00\x05\x68\x65\x6c\x6c\x6f\x0a\x00\x00\x00\xa5\x60\x97\xf1"
      "\x94\xf6\xfd\xe0\x00\x01\x1e\x06\xc1\x2f\xa4\x1d\x1f\xb6\xf3\x7d\x01\x00\x00\x00"
      "\x00\x04\x59\x5a",
      64);
  bool cut_short = true;
  CHECK(decompress("plain", "f", cut_short) == "plain");
  CHECK_FALSE(cut_short);
  CHECK(decompress(gzip, "f", cut_short) == "hello\n");
  CHECK_FALSE(cut_short);
  CHECK(decompress(gzip.substr(0, 20), "f", cut_short) == "hello\n");
  CHECK(cut_short);
  CHECK_THROWS_AS(decompress(gzip.substr(0, 10) + "\xff\xff\xff\xff", "f", cut_short), Error);
  CHECK(decompress(xz, "f", cut_short) == "hello\n");
  CHECK_FALSE(cut_short);
}

}  // namespace
}  // namespace ak
