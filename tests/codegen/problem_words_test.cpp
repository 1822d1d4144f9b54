// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen/problem/held_out.h"
#include "codegen/problem/problem_catalog.h"
#include "core/error.h"
#include "core/plan/work.h"
#include "tests/codegen/sample_problem.h"

using namespace ak;
using ak::testing::SampleProblem;

namespace {

/// y of [OUT, D], where OUT counts windows over N.
void make_windows(SampleProblem& sample) {
  sample.json["definition"]["axes"] = {
      {"N", {{"type", "var"}}},
      {"D", {{"type", "const"}, {"value", "head_dim"}}},
      {"W", {{"type", "derived"}, {"value", "D // 32 + (1 if causal else 0)"}}},
      {"OUT", {{"type", "derived"}, {"value", "N - W + 1"}}}};
  sample.json["definition"]["outputs"]["y"]["shape"] = {"OUT", "D"};
  sample.json["bytes_written"] = "OUT * D * sizeof_y";
}

std::string reading_error(const SampleProblem& sample, const std::map<std::string, std::string>& given = {}) {
  try {
    static_cast<void>(sample.instantiate(given));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a derived axis follows from other axes and params, and is part of the definition") {
  SampleProblem sample;
  make_windows(sample);
  const auto problem = sample.instantiate({{"causal", "true"}});
  const Axis& windows = problem->definition.axes[2];
  CHECK(windows.value == 3);  // over constants alone it is one
  const Axis& out = problem->definition.axes[3];
  REQUIRE(out.derived.has_value());
  CHECK(to_json(problem->definition)["axes"]["OUT"] == Json{{"type", "derived"}, {"value", "N - W + 1"}});
  CHECK(tensor_extents(problem->definition, problem->definition.outputs[0], {{"N", 10}}) ==
        std::vector<std::int64_t>{8, 64});
  CHECK(std::get<std::int64_t>(problem->environment({{"N", 10}}).at("OUT")) == 8);
  const Result<Definition> again = definition_from_json(to_json(problem->definition));
  REQUIRE(again.ok());
  CHECK(again->hash() == problem->definition.hash());
}

TEST_CASE("params decide which axes there are, and which of them a shape has") {
  SampleProblem sample;
  sample.json["definition"]["axes"]["B"] = {{"type", "var"}, {"when", "causal"}};
  sample.json["definition"]["inputs"]["x"]["shape"] = {"'B' if causal else ''", "N", "'D'"};
  const auto plain = sample.instantiate();
  CHECK(plain->definition.inputs[0].shape == std::vector<std::string>{"N", "D"});
  CHECK(std::ranges::find(plain->definition.axes, "B", &Axis::name) == plain->definition.axes.end());
  sample.workloads = R"({"name": "one", "axes": {"B": 2, "N": 3}, "role": "check"})"
                     "\n";
  const auto batched = sample.instantiate({{"causal", "true"}});
  CHECK(batched->definition.inputs[0].shape == std::vector<std::string>{"B", "N", "D"});
  CHECK_THAT(reading_error(sample), Catch::Contains("'B' is not a varying axis"));
  sample.json["definition"]["inputs"]["x"]["shape"] = {"'M' if causal else 'N'", "D"};
  CHECK_THAT(reading_error(sample, {{"causal", "true"}}), Catch::Contains("the name of an axis"));
}

TEST_CASE("a param that came later is in a definition's name only where it has not its default") {
  SampleProblem sample;
  const std::string before = sample.instantiate()->definition.name;
  const std::string pattern = sample.json["definition"]["name"];
  sample.json["params"]["mode"] = {
      {"type", "choice"}, {"choices", {"none", "float16"}}, {"default", "none"}, {"help", "one more"}};
  sample.json["params"]["late"] = {{"type", "boolean"}, {"default", false}, {"help", "another"}};
  sample.json["definition"]["name"] = pattern + "{?mode}{?late}";
  CHECK(sample.instantiate()->definition.name == before);
  CHECK(sample.instantiate({{"mode", "float16"}, {"late", "true"}})->definition.name ==
        before + "_mode_fp16_late");
}

TEST_CASE("what holds for an output alone may depend on params") {
  SampleProblem sample;
  sample.json["tolerance"]["outputs"]["y"] = {{"when", "causal"}, {"factor", 7}};
  CHECK(sample.instantiate()->tolerance.outputs.empty());
  CHECK(sample.instantiate({{"causal", "true"}})->tolerance.outputs.at("y").factor == 7);
}

TEST_CASE("sizes that make a derived axis less than one are refused, and never drawn") {
  SampleProblem sample;
  make_windows(sample);
  sample.workloads += R"({"name": "any", "axes": {"N": [1, 8]}, "role": "held_out", "tier": "emulator"})"
                      "\n";
  const auto problem = sample.instantiate();
  for (std::uint32_t index = 0; index < 20; ++index) {
    const auto drawn = codegen::draw_shape(*problem, problem->held_out.front(), 1, index);
    REQUIRE(drawn.ok());
    CHECK(drawn->at("N") >= 2);  // two windows of two
    CHECK(drawn->size() == 1);
  }
  sample.workloads = R"({"name": "short", "axes": {"N": 1}, "role": "check"})"
                     "\n";
  CHECK_THAT(reading_error(sample), Catch::Contains("the axis OUT = N - W + 1 is 0, expected at least 1"));
  sample.workloads = R"({"name": "given", "axes": {"N": 3, "OUT": 2}, "role": "check"})"
                     "\n";
  CHECK_THAT(reading_error(sample), Catch::Contains("'OUT' follows from other axes"));
  sample.json["definition"]["axes"]["OUT"]["value"] = "N - LATER";
  CHECK_THAT(reading_error(sample),
             Catch::Contains("'LATER' is neither a param nor an axis before this one"));
}

TEST_CASE("scalars have values that their dtype holds, and outputs are tensors") {
  struct Wrong {
    Json tensor;
    std::string message;
  };
  const Wrong kWrong[] = {
      {{{"shape", nullptr}, {"dtype", "float32"}}, "either \"value\""},
      {{{"shape", nullptr}, {"dtype", "float32"}, {"value", 1}, {"values", {1}}}, "either \"value\""},
      {{{"shape", nullptr}, {"dtype", "float16"}, {"value", 1}}, "float32, float64, int32, int64 or bool"},
      {{{"shape", nullptr}, {"dtype", "int32"}, {"value", 0.5}}, "a number that int32 holds"},
      {{{"shape", nullptr}, {"dtype", "int32"}, {"value", 3e9}}, "a number that int32 holds"},
      {{{"shape", nullptr}, {"dtype", "bool"}, {"value", 2}}, "a number that bool holds"},
      {{{"shape", nullptr}, {"dtype", "int64"}, {"values", Json::array()}}, "1 to 8 numbers"},
      {{{"shape", nullptr}, {"dtype", "int64"}, {"value", 1}, {"draw", "integers"}}, "takes one of its"},
      {{{"shape", {"N"}}, {"dtype", "int64"}, {"value", 1}}, "is a tensor"},
      {{{"shape", {"N"}}, {"dtype", "int64"}, {"initial", "zero"}}, "only outputs have one"},
  };
  for (const Wrong& wrong : kWrong) {
    SampleProblem sample;
    sample.json["definition"]["inputs"]["z"] = wrong.tensor;
    INFO(wrong.tensor.dump());
    CHECK_THAT(reading_error(sample), Catch::Contains(wrong.message));
  }
  SampleProblem taken;
  taken.json["definition"]["inputs"]["N"] = {{"shape", nullptr}, {"dtype", "int32"}, {"value", 1}};
  CHECK_THAT(reading_error(taken), Catch::Contains("a name that no axis and no param has"));
  SampleProblem output;
  output.json["definition"]["outputs"]["y"]["shape"] = nullptr;
  CHECK_THAT(reading_error(output), Catch::Contains("an output has memory"));
  SampleProblem initial;
  initial.json["definition"]["outputs"]["y"]["initial"] = "one";
  CHECK_THAT(reading_error(initial), Catch::Contains("\"zero\""));
}

TEST_CASE("outputs and distributions of other params leave tolerances, aliases and mutations alone") {
  SampleProblem sample;
  sample.json["definition"]["outputs"]["extra"] = {
      {"shape", {"N"}}, {"dtype", "float32"}, {"when", "causal"}};
  sample.json["tolerance"]["outputs"]["extra"] = {{"factor", 8}};
  sample.json["distributions"].push_back({{"name", "masked"}, {"kind", "uniform"}, {"when", "causal"}});
  sample.json["mutations"] = {
      {{"name", "a"}, {"what", "b"}, {"macro", "C"}, {"fails_on", {"normal", "masked"}}}};
  const auto without = sample.instantiate();
  CHECK(without->definition.outputs.size() == 1);
  CHECK(without->absent_outputs.size() == 1);
  CHECK(without->mutations[0].fails_on == std::vector<std::string>{"normal"});
  const auto with = sample.instantiate({{"causal", "true"}});
  CHECK(with->definition.outputs.size() == 2);
  CHECK(with->mutations[0].fails_on.size() == 2);
  sample.json["mutations"][0]["fails_on"] = {"masked"};
  CHECK_THAT(reading_error(sample), Catch::Contains("say so with \"when\""));
  sample.json["mutations"][0]["fails_on"] = {"unknown"};
  CHECK_THAT(reading_error(sample), Catch::Contains("the name of a distribution: normal"));
}

TEST_CASE("formulas take drawn lengths: the mean of draws, and the least for a floor") {
  SampleProblem sample;
  sample.json["definition"]["inputs"]["lengths"] = {
      {"shape", {"N"}}, {"dtype", "int32"}, {"draw", "lengths(100)"}};
  sample.json["flops"] = "sum_lengths + max_lengths";
  const auto problem = sample.instantiate();
  const Workload& big = problem->workloads[1];  // of 1000
  const double mean = work_of(*problem, big)->flops, least = work_of(*problem, big, DrawnWork::least)->flops;
  CHECK(least < mean);
  CHECK(mean == Approx(1000 * 50.5 + 100).epsilon(0.02));
  CHECK(least > 1000 * 45);
  sample.json["flops"] =
      "used_lengths + 1000 * distinct_lengths";  // no length is 0, and a thousand leave out none
  CHECK(work_of(*sample.instantiate(), sample.instantiate()->workloads[1])->flops ==
        Approx(1000 + 1000 * 100).epsilon(0.01));
  // These are too far apart to be marked; a quarter are full lengths.
  sample.json["definition"]["inputs"]["lengths"]["draw"] = "lengths(1000000)";
  sample.json["flops"] = "distinct_lengths";
  const double apart = work_of(*sample.instantiate(), sample.instantiate()->workloads[1])->flops;
  CHECK(apart < 760);
  CHECK(apart > 740);
  sample.json["flops"] = "sum_x";
  CHECK_THAT(reading_error(sample),
             Catch::Contains("'x' is not an integer input that is drawn by lengths or offsets"));
}

TEST_CASE("an input may be a weight, which is part of the definition") {
  SampleProblem sample;
  sample.json["definition"]["inputs"]["w"] = {{"shape", {"D"}}, {"dtype", "dtype"}, {"role", "weight"}};
  const auto problem = sample.instantiate();
  CHECK(problem->definition.find_tensor("w")->weight);
  CHECK_FALSE(problem->definition.find_tensor("x")->weight);
  const Result<Definition> again = definition_from_json(to_json(problem->definition));
  REQUIRE(again.ok());
  CHECK(again->find_tensor("w")->weight);
  CHECK(again->hash() == problem->definition.hash());
}

TEST_CASE("only an input with memory that no output shares can be a weight") {
  SampleProblem unknown;
  unknown.json["definition"]["inputs"]["x"]["role"] = "activation";
  CHECK_THAT(reading_error(unknown), Catch::Contains("\"weight\""));
  SampleProblem output;
  output.json["definition"]["outputs"]["y"]["role"] = "weight";
  CHECK_THAT(reading_error(output), Catch::Contains("only inputs have one"));
  SampleProblem scalar;
  scalar.json["definition"]["inputs"]["z"] = {
      {"shape", nullptr}, {"dtype", "int32"}, {"value", 1}, {"role", "weight"}};
  CHECK_THAT(reading_error(scalar), Catch::Contains("no memory to be prepared from"));
  SampleProblem alone;
  for (auto& input : alone.json["definition"]["inputs"]) input["role"] = "weight";
  CHECK_THAT(reading_error(alone), Catch::Contains("every tensor is a weight"));
  SampleProblem in_place;
  in_place.json["definition"]["inputs"]["w"] = {{"shape", {"D"}}, {"dtype", "dtype"}};
  in_place.json["definition"]["inputs"]["x"]["role"] = "weight";
  in_place.json["aliases"] = {{"y", "x"}};
  CHECK_THAT(reading_error(in_place), Catch::Contains("a weight stays what it is"));
}
