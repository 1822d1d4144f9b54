// SPDX-License-Identifier: Apache-2.0
#include "core/plan/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/support/fuzz_iterations.h"

namespace ak {
namespace {

constexpr const char* kSource = R"cu(/* alphakernel
{ "tunables":    {"BLOCK": {"values": [128, 256], "default": 256}, "VEC": {"values": [1, 2, 4], "default": 4}},
  "constraints": ["BLOCK * VEC <= 512", "N % VEC == 0"],
  "let":         {"TILES": "ceil_div(N, BLOCK * VEC)"},
  "workspace":   [{"name": "partial", "dtype": "float32", "count": "TILES", "init": "none"}],
  "launches":    [{"kernel": "add<float>", "grid": ["TILES"], "block": ["BLOCK"], "args": ["a", {"i32": "N"}]}] }
*/
#include <cuda_fp16.h>
template <class T> __global__ void add(T* a, int n) {}
)cu";

/// `text` with the first occurrence of `from` replaced.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Candidate candidate_of(const std::string& source) {
  const Result<Candidate> result = parse_candidate("test.cu", source);
  INFO((result ? "" : result.error().message));
  REQUIRE(result.ok());
  return *result;
}

std::string with_json(const std::string& json) { return "/* alphakernel\n" + json + "\n*/\n"; }

std::string repeat(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

}  // namespace

TEST_CASE("a candidate is its file, its plan and the default point of its space") {
  const Candidate candidate = candidate_of(kSource);
  CHECK(candidate.name == "test.cu");
  CHECK(candidate.source == kSource);
  CHECK(candidate.plan.launches.size() == 1);
  CHECK(candidate.tunables == TunableValues{{"BLOCK", 256}, {"VEC", 4}});
}

TEST_CASE("frozen values choose the point of a candidate") {
  const std::string source =
      replaced(kSource, "{ \"tunables\"", "{ \"frozen\": {\"BLOCK\": 128}, \"tunables\"");
  CHECK(candidate_of(source).tunables == TunableValues{{"BLOCK", 128}, {"VEC", 4}});
}

TEST_CASE("the leading comment may be written in several ways") {
  const std::string json = R"({"launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]})";
  for (const std::string& source : {"/*alphakernel" + json + "*/", "/** alphakernel " + json + " */",
                                    "\xEF\xBB\xBF\r\n/*\r\n * alphakernel\r\n" + json + "\r\n*/"}) {
    CHECK(candidate_of(source).plan.launches[0].kernel == "k");
  }
}

TEST_CASE("a text that is not a candidate is refused with the reason and the line") {
  struct Row {
    std::string source;
    int line;
    const char* message;
  };
  const std::string source = kSource;
  const Row rows[] = {
      {"", 0, "the file is empty"},
      {" \n\t\r\n", 0, "the file is empty"},
      {source + std::string(kMaxCandidateBytes, ' '), 0, "the file has "},
      {source + std::string(1, '\0'), 10, "the file is binary (it has a NUL byte)"},
      {"__global__ void k() {}", 1, "expected the file to begin with /* alphakernel"},
      {"int x;\n" + source, 1, "expected the file to begin with /* alphakernel"},
      {"/* softmax */\n" + source, 1, "expected the file to begin with /* alphakernel"},
      {"/*", 1, "expected the file to begin with /* alphakernel"},
      {"/* alphakernel {\"launches\": []}", 1, "the comment with the launch plan is not closed by */"},
      {replaced(source, "\"let\": ", "let: "), 4, "the launch plan is not JSON: "},
      {with_json(""), 3, "the launch plan is not JSON: "},
      {with_json("{\"launches\": 1e999}"), 1, "the launch plan is not JSON: "},
      {with_json("{\"a\": \"\xFF\"}"), 2, "the launch plan is not JSON: "},
      {replaced(source, "\"grid\"", "\"gridd\""), 1,
       "launch plan: launches[0]: unknown key 'gridd'; did you mean 'grid'?"},
      {with_json("[]"), 1, "launch plan: expected an object, got []"},
      {with_json("{\"params\": " + repeat("[", 10'000) + repeat("]", 10'000) + "}"), 1,
       "the launch plan is nested more than 32 levels deep"},
      {with_json("{\"options\": [" + repeat("\"x\",", 80'000) + "\"x\"]}"), 1, "the launch plan has 320"},
  };
  for (const Row& row : rows) {
    INFO(row.source.substr(0, 400));
    const Result<Candidate> result = parse_candidate("test.cu", row.source);
    REQUIRE_FALSE(result.ok());
    CHECK_THAT(result.error().message, Catch::StartsWith(row.message));
    CHECK(result.error().line == row.line);
    CHECK_NOTHROW(Json(result.error().message).dump());
  }
}

TEST_CASE("a candidate of exactly the largest size is accepted") {
  const std::string source = kSource;
  CHECK(parse_candidate("x", source + std::string(kMaxCandidateBytes - source.size(), ' ')).ok());
}

TEST_CASE("hashes tell sources and points of their spaces apart") {
  const Candidate candidate = candidate_of(kSource);
  Candidate other = candidate;
  other.name = "another.cu";
  CHECK(other.source_hash() == candidate.source_hash());
  CHECK(other.variant_hash() == candidate.variant_hash());
  other.tunables["VEC"] = 2;
  CHECK(other.source_hash() == candidate.source_hash());
  CHECK(other.variant_hash() != candidate.variant_hash());
  other = candidate;
  other.source += " ";
  CHECK(other.source_hash() != candidate.source_hash());
  CHECK(other.variant_hash() != candidate.variant_hash());
}

TEST_CASE("with_plan changes the plan and nothing after it, and can be read back") {
  const Candidate candidate = candidate_of(kSource);
  LaunchPlan plan = candidate.plan;
  plan.problem = "vector_add";
  plan.params = {{"dtype", "float32"}};
  plan.frozen = {{"BLOCK", 128}, {"VEC", 2}};
  plan.launches[0].kernel = "add<float /* of a */>";
  const std::string written = with_plan(kSource, plan);
  const Candidate read = candidate_of(written);
  CHECK(to_json(read.plan) == to_json(plan));
  CHECK(read.tunables == TunableValues{{"BLOCK", 128}, {"VEC", 2}});
  const std::string source = kSource;
  const std::string code = source.substr(source.find("*/"));
  CHECK(written.substr(written.size() - code.size()) == code);
  CHECK(with_plan(written, plan) == written);
}

TEST_CASE("the constraints that a point breaks are named, also through let, once their names are known") {
  const LaunchPlan plan = candidate_of(kSource).plan;
  const TunableValues wide{{"BLOCK", 128}, {"VEC", 4}};
  CHECK(broken_constraints(plan, {}, wide).empty());  // N is not known yet
  CHECK(broken_constraints(plan, {{"N", std::int64_t{6}}}, wide) == std::vector<std::string>{"N % VEC == 0"});
  const std::string source =
      replaced(replaced(kSource, R"("let":         {)",
                        R"("let": {"THREADS": "BLOCK // VEC", "WARPS": "THREADS // 32", )"),
               R"(["BLOCK)", R"(["WARPS >= 4", "BLOCK)");
  const TunableValues narrow{{"BLOCK", 256}, {"VEC", 4}};
  CHECK(broken_constraints(candidate_of(source).plan, {}, narrow) ==
        std::vector<std::string>{"WARPS >= 4", "BLOCK * VEC <= 512"});
}

TEST_CASE("no damage to a candidate file makes reading it crash") {
  const std::string whole = kSource;
  std::mt19937 random(11);
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  static const char* const kPieces[] = {
      "[",    "]",    "{",  "}",  "\"", ",", ":",  "-1",   "1e400",   "99999999999999999999",
      "null", "true", "*/", "/*", "//", "N", "**", "[[[[", "\\u0000", "\xC3"};
  const Environment environment{
      {"N", std::int64_t{1000}}, {"BLOCK", std::int64_t{128}}, {"VEC", std::int64_t{2}}};
  int read = 0, refused = 0;
  for (int i = 0; i < test::fuzz_iterations(4'000); ++i) {
    std::string source = whole;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(source.size());
      const std::size_t length = std::min(below(8), source.size() - at);
      switch (below(4)) {
        case 0:
          source.erase(at, length);
          break;
        case 1:
          source.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        case 2:
          source.insert(at, source.substr(below(source.size()), below(40)));
          break;
        default:
          source[at] = static_cast<char>(below(256));
      }
    }
    const Result<Candidate> candidate = parse_candidate("fuzz", source);
    if (!candidate) {
      ++refused;
      REQUIRE_NOTHROW(Json(candidate.error().message).dump());
      continue;
    }
    ++read;
    const Result<ResolvedPlan> plan = resolve(candidate->plan, environment);
    if (plan) REQUIRE_NOTHROW(resolved_plan_from_json(to_json(*plan)));
    const std::string written = with_plan(source, candidate->plan);
    REQUIRE(parse_candidate("fuzz", written).ok());
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}

}  // namespace ak
