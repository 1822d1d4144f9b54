// SPDX-License-Identifier: Apache-2.0
#include "runtime/evaluator/local_evaluator.h"

#include <catch2/catch.hpp>

#include "runtime/build/compile_pool.h"
#include "runtime/check/harness_kernels.h"
#include "tests/support/daily_sample.h"
#include "tests/support/patience.h"
#include "tests/support/tiny_problem.h"

namespace ak::runtime {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::unique_ptr<Evaluator> evaluator_without_device() {
  EvaluatorOptions options;
  options.device = DeviceKind::none;
  options.target = {.major = 9, .minor = 0, .feature = 'a'};
  options.compile_workers = 1;
  options.worker_command = ak::test::self_as_worker();
  options.compile_deadline = testing::kPatience;
  return make_local_evaluator(std::move(options), ak::test::plain_assembler());
}

EvaluationRequest request_of(const Candidate& candidate) {
  EvaluationRequest request;
  request.problem = ak::test::make_problem({});
  request.candidate = candidate;
  request.arch = {.major = 9, .minor = 0, .feature = 'a'};
  request.tag = "mine";
  return request;
}

EvaluationResult evaluate(Evaluator& evaluator, const Candidate& candidate) {
  const Ticket ticket = evaluator.submit(request_of(candidate));
  auto completed = evaluator.wait_any(testing::out_of_patience());
  REQUIRE(completed);
  CHECK(completed->ticket == ticket);
  CHECK(completed->request.tag == "mine");
  return completed->result;
}

const std::string kAdd =
    "extern \"C\" __global__ void add(const float* a, const float* b, float* c, long long n) {\n"
    "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n  if (i < n) c[i] = a[i] + b[i];\n}\n";

// Would be built for hours.
const std::string kEndlessBuild =
    "constexpr unsigned spin(unsigned n) { unsigned x = 0; for (unsigned i = 0; i < n; ++i) x += i * x + 1; "
    "return x; }\n"
    "template <int N> struct Slow { static constexpr unsigned value = spin(1000000 + N) + Slow<N - "
    "1>::value; "
    "};\n"
    "template <> struct Slow<0> { static constexpr unsigned value = 0; };\n"
    "__device__ unsigned endless = Slow<800>::value;\n";

TEST_CASE("without a device a candidate is built and inspected, and ends compiled_only") {
  const auto evaluator = evaluator_without_device();
  CHECK_FALSE(evaluator->capabilities().executes);
  const auto result =
      evaluate(*evaluator, ak::test::make_candidate("add.cu", ak::test::elementwise_plan("add"), kAdd));
  INFO(result.outcome.message);
  CHECK(result.outcome.status == Status::compiled_only);
  REQUIRE(result.build);
  CHECK_FALSE(result.build->cubin.empty());
  REQUIRE(result.occupancy);
  CHECK(result.occupancy->ratio == 1.0);
  CHECK(result.measurements.empty());
  CHECK_FALSE(result.score_ns);
  CHECK(result.stage_times.build_ms > 0);
}

TEST_CASE("a candidate that does not compile is a compile_error with the compiler's words") {
  const auto evaluator = evaluator_without_device();
  const auto result =
      evaluate(*evaluator, ak::test::make_candidate("bad.cu", ak::test::elementwise_plan("add"),
                                                    "__global__ void add() { nonsense; }"));
  CHECK(result.outcome.status == Status::compile_error);
  REQUIRE(result.build);
  CHECK_THAT(result.build->log, Catch::Contains("nonsense"));
}

TEST_CASE("a 32-bit argument for a 64-bit parameter is refused with its index and both types") {
  const auto evaluator = evaluator_without_device();
  const std::string plan =
      R"({"launches": [{"kernel": "add", "grid": [1], "block": [256], "args": ["a", "b", "c", {"i32": "N"}]}]})";
  const auto result = evaluate(*evaluator, ak::test::make_candidate("add.cu", plan, kAdd));
  CHECK(result.outcome.status == Status::invalid_candidate);
  CHECK(result.outcome.stage == StageId::resources);
  CHECK_THAT(result.outcome.message, Catch::Contains("args[3] is i32") && Catch::Contains("u64"));
}

TEST_CASE("a missing argument is refused with both counts") {
  const auto evaluator = evaluator_without_device();
  const std::string plan =
      R"({"launches": [{"kernel": "add", "grid": [1], "block": [256], "args": ["a", "b", "c"]}]})";
  const auto result = evaluate(*evaluator, ak::test::make_candidate("add.cu", plan, kAdd));
  CHECK(result.outcome.status == Status::invalid_candidate);
  CHECK_THAT(result.outcome.message, Catch::Contains("4 parameters") && Catch::Contains("3 arguments"));
}

TEST_CASE("more shared memory than a block may have is resource_exceeded with both numbers") {
  const auto evaluator = evaluator_without_device();
  const std::string plan =
      R"({"launches": [{"kernel": "add", "grid": [1], "block": [256], "shared_bytes": 300000,
                               "args": ["a", "b", "c", {"i64": "N"}]}]})";
  const auto result = evaluate(*evaluator, ak::test::make_candidate("add.cu", plan, kAdd));
  CHECK(result.outcome.status == Status::resource_exceeded);
  CHECK_THAT(result.outcome.message, Catch::Contains("300000") && Catch::Contains("232448"));
}

TEST_CASE("more threads than the launch bounds allow is resource_exceeded") {
  const auto evaluator = evaluator_without_device();
  const std::string source =
      "extern \"C\" __global__ void __launch_bounds__(128) add(const float* a, const float* b, float* c, "
      "long long n) "
      "{ c[0] = a[0] + b[n]; }";
  const auto result =
      evaluate(*evaluator, ak::test::make_candidate("add.cu", ak::test::elementwise_plan("add"), source));
  CHECK(result.outcome.status == Status::resource_exceeded);
  CHECK_THAT(result.outcome.message, Catch::Contains("256 threads") && Catch::Contains("128"));
}

TEST_CASE("a plan that cannot be evaluated names the workload") {
  const auto evaluator = evaluator_without_device();
  const std::string plan =
      R"({"launches": [{"kernel": "add", "grid": ["N // 0"], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}]})";
  const auto result = evaluate(*evaluator, ak::test::make_candidate("add.cu", plan, kAdd));
  CHECK(result.outcome.status == Status::invalid_candidate);
  CHECK_THAT(result.outcome.message, Catch::Contains("workload n1"));
}

TEST_CASE("a cancelled evaluation ends as interrupted, and the next one is not disturbed") {
  const auto evaluator = evaluator_without_device();
  const auto candidate = ak::test::make_candidate("add.cu", ak::test::elementwise_plan("add"), kAdd);
  const Ticket first = evaluator->submit(request_of(candidate));
  evaluator->cancel(first);
  const auto cancelled = evaluator->wait_any(testing::out_of_patience());
  REQUIRE(cancelled);
  CHECK(cancelled->ticket == first);
  CHECK(cancelled->result.outcome.status == Status::interrupted);
  CHECK(evaluate(*evaluator, candidate).outcome.status == Status::compiled_only);
}

TEST_CASE("waiting with nothing in flight returns at once, and a deadline is kept") {
  const auto evaluator = evaluator_without_device();
  CHECK_FALSE(evaluator->wait_any(steady_clock::time_point::max()));
  const Ticket endless = evaluator->submit(request_of(
      ak::test::make_candidate("add.cu", ak::test::elementwise_plan("add"), kAdd + kEndlessBuild)));
  CHECK_FALSE(evaluator->wait_any(steady_clock::now()));
  CHECK_FALSE(evaluator->wait_any(steady_clock::now() + 10ms));
  evaluator->cancel(endless);
  CHECK(evaluator->wait_any(testing::out_of_patience()));
}

TEST_CASE("an unknown workload name is the caller's mistake") {
  const auto evaluator = evaluator_without_device();
  EvaluationRequest request =
      request_of(ak::test::make_candidate("add.cu", ak::test::elementwise_plan("add"), kAdd));
  request.workloads = {"n17"};
  CHECK_THROWS_WITH(evaluator->submit(request), Catch::Contains("no workload 'n17'"));
}

TEST_CASE("the harness's own kernels compile for every architecture") {
  CompilePool pool({.worker_command = ak::test::self_as_worker(),
                    .workers = 1,
                    .deadline = testing::kPatience,
                    .cache_dir = {}});
  constexpr std::size_t kShares = 6;  // of the types, one a day
  std::vector<DType> drawn;
  for (std::size_t i = 0; i < dtypes().size(); ++i)
    if (testing::drawn_today(i % kShares, kShares)) drawn.push_back(dtypes()[i].dtype);
  const HarnessSource harness = harness_source(drawn);
  const char* const names[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};
  for (std::size_t i = 0; i < std::size(names); ++i) {
    if (!testing::drawn_today(i, std::size(names))) continue;
    const char* name = names[i];
    TranslationUnit unit =
        ak::test::plain_assembler().plain(harness.file_name, harness.source, parse_arch(name).value());
    unit.headers = harness.headers;
    unit.options.insert(unit.options.end(), harness.options.begin(), harness.options.end());
    unit.kernels = harness.kernels;
    static_cast<void>(pool.submit(unit));
    const auto built = pool.wait(testing::out_of_patience());
    REQUIRE(built);
    INFO(name << ": " << built->result.outcome.message << "\n" << built->result.log);
    CHECK(built->result.outcome.status == Status::ok);
    CHECK(built->result.kernels.size() == harness.kernels.size());
  }
}

}  // namespace
}  // namespace ak::runtime
