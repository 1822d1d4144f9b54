// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/known_programs.h"

#include <catch2/catch.hpp>

namespace ak::runtime {
namespace {

EvaluationResult result_of(const std::string& program, double score_ns) {
  EvaluationResult result;
  result.program = program;
  result.score_ns = score_ns;
  Measurement& measurement = result.measurements.emplace_back();
  measurement.median_ns = score_ns;
  measurement.line_counts[3] = {{"global/sectors", 8}};
  return result;
}

TEST_CASE("a program is known by the candidate that was measured last, without its counts by line") {
  KnownPrograms known;
  CHECK(known.find("p") == nullptr);
  known.remember("first", result_of("p", 100));
  known.remember("second", result_of("p", 90));
  REQUIRE(known.find("p"));
  CHECK(known.find("p")->name == "second");
  CHECK(known.find("p")->score_ns == 90);
  REQUIRE(known.find("p")->measurements.size() == 1);
  CHECK(known.find("p")->measurements[0].line_counts.empty());
  CHECK(known.find("q") == nullptr);
}

TEST_CASE("the oldest program is forgotten when there are too many") {
  KnownPrograms known;
  for (std::size_t i = 0; i < KnownPrograms::kKept; ++i)
    known.remember("k", result_of(std::to_string(i), 1.0));
  known.remember("k", result_of("0", 2.0));  // known already: none has to go
  CHECK(known.find("0"));
  known.remember("k", result_of("one more", 1.0));
  CHECK(known.find("0") == nullptr);
  CHECK(known.find("1"));
  CHECK(known.find("one more"));
}

}  // namespace
}  // namespace ak::runtime
