// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>

#include "app/setup/assembler.h"
#include "codegen/problem/problem_catalog.h"
#include "tests/support/device_bench.h"
#include "tests/support/patience.h"

namespace ak::test {
namespace {

// One result per thread, for any GPU: the candidate that takes the baselines along.
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
  sum = sum < 0.0f ? 0.0f : sum;  // NaN stays
#endif
#ifdef AK_ACTIVATION_GELU
  sum *= 0.5f * erfcf(-0.70710678f * sum);
#endif
  c[row * n + column] = sum;
}
)cu";

// One query per thread, its sums rescaled whenever a larger score comes along.
constexpr std::string_view kAttention = R"cu(/* alphakernel
{"launches": [{"kernel": "attention", "grid": ["ceil_div(B * H * S, 64)"], "block": [64],
  "args": ["q", "k", "v", "o", "lse", {"i32": "B * H * S"}, {"i32": "H"}, {"i32": "G"}, {"i32": "S"}, {"i32": "T"}]}]}
*/
__global__ void attention(const scalar_t* q, const scalar_t* k, const scalar_t* v, scalar_t* o, float* lse, int rows,
                          int heads, int key_heads, int queries, int keys) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= rows) return;
  const int head = row / queries, batch = head / heads;
  const int key_head = batch * key_heads + head % heads / (heads / key_heads);
  const int seen = CAUSAL ? row % queries + 1 + keys - queries : keys;
  float result[D] = {}, sum = 0, largest = -INFINITY;
  for (int j = 0; j < seen; ++j) {
    const long long key = (static_cast<long long>(key_head) * keys + j) * D;
    float score = 0;
    for (int d = 0; d < D; ++d) score += float(q[static_cast<long long>(row) * D + d]) * float(k[key + d]);
    score *= rsqrtf(float(D));
    const float larger = fmaxf(largest, score), shrink = expf(largest - larger), p = expf(score - larger);
    sum = sum * shrink + p;
    for (int d = 0; d < D; ++d) result[d] = result[d] * shrink + p * float(v[key + d]);
    largest = larger;
  }
  for (int d = 0; d < D; ++d) o[static_cast<long long>(row) * D + d] = scalar_t(result[d] / sum);
  lse[row] = largest + logf(sum);
}
)cu";

EvaluationResult evaluate(const std::string& algorithm, std::string_view source,
                          const std::map<std::string, std::string>& params, const std::string& shape) {
  const auto family = codegen::load_problem(codegen::find_problem(algorithm));
  const auto problem =
      codegen::with_shape(*codegen::instantiate(family, codegen::choose_params(family, params)), shape);
  std::string why;
  runtime::EvaluatorOptions options;
  options.target = runtime::probe_devices(self_as_worker(), why).front().arch;
  options.worker_command = self_as_worker();
  const auto evaluator = runtime::make_local_evaluator(std::move(options), app::source_assembler());
  EvaluationRequest request;
  request.problem = problem;
  auto candidate = parse_candidate(algorithm + ".cu", std::string(source));
  REQUIRE(candidate);
  request.candidate = std::move(candidate).value();
  request.arch = evaluator->capabilities().device.arch;
  static_cast<void>(evaluator->submit(std::move(request)));
  auto completed = evaluator->wait_any(testing::out_of_patience());
  REQUIRE(completed);
  return std::move(completed->result);
}

const Measurement* labelled(const EvaluationResult& result, std::string_view beginning) {
  const auto found = std::find_if(result.measurements.begin(), result.measurements.end(),
                                  [&](const Measurement& m) { return m.label.starts_with(beginning); });
  return found == result.measurements.end() ? nullptr : &*found;
}

std::string note(const EvaluationResult& result, const std::string& library) {
  for (const Diagnostic& diagnostic : result.outcome.diagnostics) {
    if (diagnostic.message.starts_with("baseline " + library)) return diagnostic.message;
  }
  return "";
}

/// The library's results were right and it was faster than the reference; or it is not installed.
void check_baseline(const EvaluationResult& result, const std::string& library) {
  const std::string said = note(result, library);
  INFO(describe(result) << "\n" << said);
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE_FALSE(said.empty());
  if (said.find("not found") != std::string::npos) {
    WARN(said);
    return;
  }
  const Measurement *measured = labelled(result, library + " "), *naive = labelled(result, "naive");
  REQUIRE(measured != nullptr);
  REQUIRE(naive != nullptr);
  CHECK(measured->role == MeasurementRole::baseline);
  CHECK(measured->median_ns < naive->median_ns);
  WARN(said << ": " << measured->median_ns << " ns, naive " << naive->median_ns << " ns");
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
    for (const auto& [name, value] : params) UNSCOPED_INFO(name << "=" << value);
    check_baseline(evaluate("gemm", kProduct, params, "M=1024,N=768,K=512"), "cublaslt");
  }
}

TEST_CASE("cuBLASLt is not a baseline for the exact GELU, and a note says why") {
  const auto result = evaluate("gemm", kProduct, {{"activation", "gelu"}}, "M=256,N=128,K=64");
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  CHECK(labelled(result, "cublaslt") == nullptr);
  CHECK_THAT(note(result, "cublaslt"), Catch::Contains("no epilogue") || Catch::Contains("not found"));
}

TEST_CASE("cuDNN's attention passes the checks of candidates, and it is faster than the reference") {
  struct Row {
    std::map<std::string, std::string> params;
    std::string shape;
  };
  const std::vector<Row> rows{
      {{{"dtype", "bfloat16"}, {"head_dim", "64"}}, "B=2,H=4,G=2,S=256,T=256"},
      {{{"dtype", "bfloat16"}, {"head_dim", "64"}, {"causal", "true"}}, "B=2,H=4,G=2,S=256,T=256"},
      {{{"dtype", "float16"}, {"head_dim", "128"}, {"causal", "true"}}, "B=1,H=6,G=3,S=333,T=333"},
      {{{"dtype", "float16"}, {"head_dim", "256"}}, "B=1,H=2,G=1,S=200,T=600"}};
  for (const Row& row : rows) {
    for (const auto& [name, value] : row.params) UNSCOPED_INFO(name << "=" << value);
    check_baseline(evaluate("flash_attention", kAttention, row.params, row.shape), "cudnn");
  }
}

TEST_CASE("cuDNN is not a baseline for a causal mask with more keys than queries, and a note says why") {
  const auto result = evaluate("flash_attention", kAttention, {{"head_dim", "64"}, {"causal", "true"}},
                               "B=1,H=2,G=1,S=100,T=200");
  INFO(describe(result));
  REQUIRE(result.outcome.status == Status::ok);
  CHECK(labelled(result, "cudnn") == nullptr);
  CHECK_THAT(note(result, "cudnn"), Catch::Contains("causal mask") || Catch::Contains("not found"));
}

}  // namespace
}  // namespace ak::test
