// SPDX-License-Identifier: Apache-2.0
#include "agent/library_turns.h"

#include <catch2/catch.hpp>

#include "tests/agent/virtual_world.h"

namespace ak::agent {
namespace {

using test::timed;
using test::World;

/// A kernel that takes 1,000 ns, give or take, in pairs with a library that takes a tenth more.
EvaluationResult with_library(const EvaluationRequest&) {
  EvaluationResult result = timed(1'000);
  Measurement kernel = result.measurements.front();
  Measurement library = kernel;
  library.role = MeasurementRole::baseline;
  library.label = "cublaslt 13.0";
  for (std::uint32_t i = 0; i < 40; ++i) {
    kernel.samples_ns.push_back(990 + i % 20);
    library.samples_ns.push_back((990 + i % 20) * 11 / 10);
  }
  result.measurements = {kernel, library};
  result.outcome.diagnostics.push_back({.severity = "note", .message = "baseline cublaslt 13.0: error 1e-3"});
  return result;
}

}  // namespace

TEST_CASE("a kernel in pairs with a library has a ratio with an interval that holds it") {
  const auto turns = turns_of_result(with_library({}));
  REQUIRE(turns.size() == 1);
  CHECK(turns.front().label == "cublaslt 13.0");
  CHECK(turns.front().ratio == Approx(1.1).epsilon(0.002));
  CHECK(turns.front().interval.low <= turns.front().ratio);
  CHECK(turns.front().interval.high >= turns.front().ratio);
  CHECK(turns.front().kernel_ns == Approx(1'000).epsilon(0.002));
  CHECK(turns.front().rounds == 40);
}

TEST_CASE("samples that are not in pairs are no turns") {
  EvaluationResult result = with_library({});
  result.measurements.back().samples_ns.pop_back();
  CHECK(turns_of_result(result).empty());
  result.measurements.pop_back();
  CHECK(turns_of_result(result).empty());
}

TEST_CASE("each library that the problem names is asked for once, and one that fails is a note") {
  World world(with_library);
  auto problem = std::make_shared<ProblemInstance>(*world.options.problem);
  problem->baselines = {"cublaslt", "cudnn"};
  EvaluationRequest request;
  request.problem = problem;
  request.tag = "7";
  request.champion_score_ns = 3;
  std::vector<std::string> asked, said;
  const LibraryTurnsReport report = turns_with_libraries(
      request,
      [&](EvaluationRequest one) -> std::optional<EvaluationResult> {
        CHECK((one.tag.empty() && !one.champion_score_ns && !one.rival));
        asked.push_back(one.library);
        return one.library == "cudnn" ? test::failed(Status::launch_error) : with_library(one);
      },
      [&](const std::string& what) { said.push_back(what); });
  CHECK(asked == problem->baselines);
  CHECK(said == std::vector<std::string>{"in turns with cublaslt", "in turns with cudnn"});
  CHECK(report.turns.size() == 1);
  REQUIRE(report.notes.size() == 2);
  CHECK(report.notes.front() == "baseline cublaslt 13.0: error 1e-3");
  CHECK(report.notes.back().starts_with("cudnn: "));
}

TEST_CASE("what is interrupted asks no further library") {
  World world(with_library);
  auto problem = std::make_shared<ProblemInstance>(*world.options.problem);
  problem->baselines = {"cublaslt", "cudnn"};
  EvaluationRequest request;
  request.problem = problem;
  int asked = 0;
  const LibraryTurnsReport report = turns_with_libraries(
      request,
      [&](const EvaluationRequest&) -> std::optional<EvaluationResult> {
        ++asked;
        return std::nullopt;
      },
      [](const std::string&) {});
  CHECK(asked == 1);
  CHECK(report.turns.empty());
  CHECK(report.notes.size() == 1);
}

}  // namespace ak::agent
