// SPDX-License-Identifier: Apache-2.0
// The plans of finished kernels: what the point needs, and nothing else.
#include "codegen/emit/finished_plan.h"

#include <catch2/catch.hpp>

#include "codegen/emit/emit.h"
#include "codegen/problem/problem_catalog.h"
#include "core/device/device_catalog.h"
#include "core/plan/plan_text.h"
#include "tests/codegen/shipped_templates.h"
#include "tests/support/daily_sample.h"
#include "tests/support/listed_points.h"

using namespace ak;
using namespace ak::codegen::shipped;

namespace {

std::shared_ptr<const ProblemInstance> instance_of(const std::string& name,
                                                   const std::map<std::string, std::string>& params) {
  const codegen::Problem problem = codegen::load_problem(codegen::find_problem(name));
  return codegen::instantiate(problem, codegen::choose_params(problem, params));
}

std::vector<std::string> kernels_of(const LaunchPlan& plan) {
  std::vector<std::string> names;
  for (const LaunchPlanEntry& launch : plan.launches) names.push_back(launch.kernel);
  return names;
}

/// The launches of a call on one shape, as numbers; empty where the plan is not for it.
std::string launches_on(const LaunchPlan& plan, const Candidate& candidate, const ProblemInstance& problem,
                        const Workload& workload) {
  Environment environment = problem.environment(workload.axes);
  for (const auto& [name, value] : candidate.tunables) environment[name] = value;
  environment["SM_COUNT"] = std::int64_t{132};
  environment["L2_BYTES"] = std::int64_t{50} << 20;
  environment["SHARED_BYTES_PER_BLOCK"] = std::int64_t{227} << 10;
  environment["ARCH"] = std::int64_t{90};
  const Result<ResolvedPlan> resolved = resolve(plan, environment);
  return resolved ? to_json(*resolved)["launches"].dump() : "";
}

/// Some points of the space, the first and the last among them.
std::vector<TunableValues> some_points(const Candidate& candidate, const ProblemInstance& problem) {
  Environment known = problem.environment({});
  known["ARCH"] = std::int64_t{90};
  const auto all = test::listed_points(candidate.plan, known);
  std::vector<TunableValues> some;
  for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 12) some.push_back(all[i]);
  if (!all.empty()) some.push_back(all.back());
  return some;
}

}  // namespace

TEST_CASE("a finished plan does on every shape what the template's does at that point, for every template") {
  std::size_t points = 0;
  for (const codegen::CatalogEntry& entry : codegen::list_problems()) {
    const auto problem = instance_of(entry.name, {});
    for (const CandidateFile& file : problem->templates) {
      Candidate candidate = parse_candidate(file.name, file.source).value();
      for (const TunableValues& point : some_points(candidate, *problem)) {
        if (!testing::drawn_today(++points, 23)) continue;
        candidate.tunables = point;
        const LaunchPlan finished = codegen::finished_plan(*problem, candidate);
        INFO(entry.name << " " << file.name << "\n" << plan_text(finished));
        for (const Workload& workload : problem->workloads)
          REQUIRE(launches_on(finished, candidate, *problem, workload) ==
                  launches_on(candidate.plan, candidate, *problem, workload));
        const Candidate read = parse_candidate("k.cu", codegen::emit_kernel(*problem, candidate)).value();
        REQUIRE(to_json(read.plan) == to_json(finished));
        REQUIRE(read.tunables == point);
      }
    }
  }
  CHECK(points > 1'000);  // of which a day has one of 23
}

TEST_CASE("a launch that the point never does is left out, with what it alone uses") {
  const auto problem = instance_of("gemm", {{"dtype", "bf16"}});
  Candidate candidate = template_of(*problem, "gemm_mma.cu");
  candidate.tunables.at("SPLIT_K") = 1;
  const std::size_t before = candidate.plan.launches.size();
  const LaunchPlan finished = codegen::finished_plan(*problem, candidate);
  INFO(plan_text(finished));
  CHECK(finished.launches.size() == before - 1);
  CHECK(finished.constraints.back().text() == "not (SPLIT_K > 1)");
  // What is searched from the file later has no point that would need it.
  Environment known = problem->environment({});
  known["ARCH"] = std::int64_t{90};
  for (const TunableValues& point : test::listed_points(finished, known)) CHECK(point.at("SPLIT_K") == 1);
  candidate.tunables.at("SPLIT_K") = 2;
  CHECK(codegen::finished_plan(*problem, candidate).launches.size() == before);
}

TEST_CASE("a finished plan has no starts: its point is chosen") {
  const auto problem = instance_of("gemm", {{"dtype", "bf16"}});
  const Candidate candidate = template_of(*problem, "gemm_wgmma.cu");
  REQUIRE_FALSE(candidate.plan.starts.empty());
  CHECK(codegen::finished_plan(*problem, candidate).starts.empty());
}

TEST_CASE("launches for sizes that no vector of one element leaves over are left out") {
  const auto problem = instance_of("softmax", {{"dtype", "float32"}});
  Candidate candidate = template_of(*problem, "softmax_registers.cu");
  candidate.tunables.at("VEC_BYTES") = 4;
  CHECK(kernels_of(codegen::finished_plan(*problem, candidate)) ==
        std::vector<std::string>{"softmax_vector_rows", "softmax_long_rows"});
  candidate.tunables.at("VEC_BYTES") = 16;
  CHECK(codegen::finished_plan(*problem, candidate).launches.size() == 3);
}

TEST_CASE("params decide launches for good, a loop's variable does not, and one launch always stays") {
  const auto problem = instance_of("vector_add", {{"dtype", "float16"}});
  const auto plan_of = [](const std::string& launches) {
    return parse_candidate(
               "k.cu",
               "/* alphakernel\n{\"tunables\": {\"A\": {\"values\": [0, 1]}}, \"let\": {\"UNUSED\": "
               "\"N * 2\", \"HALF\": \"dtype == 'float16'\"},\n"
               "\"workspace\": [{\"name\": \"w\", \"dtype\": \"int32\", \"count\": \"UNUSED\"}],\n"
               "\"launches\": [" +
                   launches + "]}\n*/\n")
        .value();
  };
  const std::string always = R"({"kernel": "k", "grid": [1], "block": [1], "args": []})";
  const auto with_when = [](const std::string& when, const std::string& more = "") {
    return R"({"kernel": "other", "grid": [1], "block": [1], "args": ["w"], "when": ")" + when + "\"" + more +
           "}";
  };
  const LaunchPlan fixed = codegen::finished_plan(*problem, plan_of(always + "," + with_when("not HALF")));
  CHECK(kernels_of(fixed) == std::vector<std::string>{"k"});
  CHECK(fixed.constraints.empty());
  CHECK(fixed.workspace.empty());
  CHECK(fixed.let.empty());
  const std::string loop = with_when("A > i and 0 > i", R"(, "for": ["i", 0, 2])");
  CHECK(codegen::finished_plan(*problem, plan_of(always + "," + loop)).launches.size() == 2);
  CHECK(codegen::finished_plan(*problem, plan_of(with_when("A > 0"))).launches.size() == 1);
}
