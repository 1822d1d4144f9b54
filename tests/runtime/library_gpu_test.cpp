// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "codegen/problem_catalog.h"
#include "tests/runtime/device_bench.h"
#include "tools/assembler.h"

namespace ak::test {
namespace {

// One result a thread, for any GPU: the candidate that takes the baselines along.
constexpr std::string_view kProduct = R"cu(/* alphakernel
{"launches": [{"kernel": "product", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
  "args": ["a", "b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}]}
*/
__global__ void product(const scalar_t* a, const scalar_t* b, const scalar_t* bias, scalar_t* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) {
#ifdef AK_A_LAYOUT_COLUMN
    const float left = a[i * m + row];
#else
    const float left = a[row * k + i];
#endif
#ifdef AK_B_LAYOUT_COLUMN
    sum += left * float(b[column * k + i]);
#else
    sum += left * float(b[i * n + column]);
#endif
  }
  if (bias != nullptr) sum += float(bias[column]);
#ifdef AK_ACTIVATION_RELU
  sum = fmaxf(sum, 0.0f);
#endif
#ifdef AK_ACTIVATION_GELU
  sum *= 0.5f * erfcf(-0.70710678f * sum);
#endif
  c[row * n + column] = sum;
}
)cu";

EvaluationResult evaluate_product(const std::map<std::string, std::string>& params,
                                  const std::string& shape) {
  const auto family = codegen::load_problem(codegen::find_problem("gemm"));
  const auto problem =
      codegen::with_shape(*codegen::instantiate(family, codegen::choose_params(family, params)), shape);
  std::string why;
  runtime::EvaluatorOptions options;
  options.target = runtime::probe_devices(self_as_worker(), why).front().arch;
  options.worker_command = self_as_worker();
  const auto evaluator = runtime::make_local_evaluator(std::move(options), tools::source_assembler());
  EvaluationRequest request;
  request.problem = problem;
  auto candidate = parse_candidate("product.cu", std::string(kProduct));
  REQUIRE(candidate);
  request.candidate = std::move(candidate).value();
  request.arch = evaluator->capabilities().device.arch;
  static_cast<void>(evaluator->submit(std::move(request)));
  auto completed = evaluator->wait_any(std::chrono::steady_clock::now() + std::chrono::seconds(120));
  REQUIRE(completed);
  return std::move(completed->result);
}

const Measurement* labelled(const EvaluationResult& result, std::string_view beginning) {
  const auto found = std::find_if(result.measurements.begin(), result.measurements.end(),
                                  [&](const Measurement& m) { return m.label.starts_with(beginning); });
  return found == result.measurements.end() ? nullptr : &*found;
}

std::string note(const EvaluationResult& result) {
  for (const Diagnostic& diagnostic : result.outcome.diagnostics) {
    if (diagnostic.message.starts_with("baseline cublaslt")) return diagnostic.message;
  }
  return "";
}

TEST_CASE(
    "cuBLASLt's results pass the checks of candidates in every layout, and it is faster than the reference") {
  const std::vector<std::map<std::string, std::string>> cases{
      {{"dtype", "bfloat16"}},
      {{"dtype", "float16"}, {"a_layout", "column"}},
      {{"dtype", "bfloat16"}, {"b_layout", "column"}, {"bias", "true"}},
      {{"dtype", "float16"}, {"a_layout", "column"}, {"b_layout", "column"}, {"activation", "relu"}},
      {{"dtype", "bfloat16"}, {"bias", "true"}, {"activation", "relu"}}};
  for (const auto& params : cases) {
    // No two sizes alike, so that a mistaken layout shows.
    const auto result = evaluate_product(params, "M=1024,N=768,K=512");
    for (const auto& [name, value] : params) UNSCOPED_INFO(name << "=" << value);
    INFO(describe(result) << "\n" << note(result));
    REQUIRE(result.outcome.status == Status::ok);
    REQUIRE_FALSE(note(result).empty());
    if (note(result).find("not found") != std::string::npos) {
      WARN(note(result));
      return;
    }
    const Measurement *library = labelled(result, "cublaslt "), *naive = labelled(result, "naive");
    REQUIRE(library != nullptr);
    REQUIRE(naive != nullptr);
    CHECK(library->role == MeasurementRole::baseline);
    CHECK(library->median_ns < naive->median_ns);
    WARN(note(result) << ": " << library->median_ns << " ns, naive " << naive->median_ns << " ns");
  }
}

TEST_CASE("cuBLASLt is no baseline for the exact GELU, and a note says why") {
  const auto result = evaluate_product({{"activation", "gelu"}}, "M=256,N=128,K=64");
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  CHECK(labelled(result, "cublaslt") == nullptr);
  CHECK_THAT(note(result), Catch::Contains("no epilogue") || Catch::Contains("not found"));
}

}  // namespace
}  // namespace ak::test
