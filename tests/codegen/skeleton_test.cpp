// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/skeleton.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "codegen/problem/problem_catalog.h"
#include "codegen/source/assemble.h"
#include "codegen/source/signature.h"
#include "core/error.h"
#include "core/text/file.h"

using namespace ak;
using codegen::first_kernel;

namespace {

class WorkFolder {
 public:
  WorkFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ak_skeleton_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::filesystem::path problem() const { return folder_ / "my_problem"; }
  std::vector<std::string> make(const std::string& source, const codegen::NewProblem& request = {}) const {
    write_file_atomically(folder_ / "mine.cu", source);
    return codegen::new_problem(problem(), folder_ / "mine.cu", request);
  }

 private:
  std::filesystem::path folder_;
};

std::shared_ptr<const ProblemInstance> load(const std::filesystem::path& folder) {
  const codegen::Problem problem = codegen::load_problem(folder);
  return codegen::instantiate(problem, codegen::choose_params(problem, {}));
}

ExitCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

constexpr std::string_view kScale = R"(// __global__ void not_this(int x);
#include <cuda_fp16.h>
extern "C" __global__ void __launch_bounds__(256, 2)
    scale_rows(const __half* __restrict__ x, float const *scales, __half* __restrict__ y, const int rows, size_t cols = 1,
               float eps) { /* , int decoy) */ }
)";

}  // namespace

TEST_CASE("a signature is read past comments, attributes, qualifiers and defaults") {
  const auto signature = first_kernel(kScale);
  REQUIRE(signature);
  CHECK(signature->name == "scale_rows");
  CHECK(signature->line == 3);
  REQUIRE(signature->parameters.size() == 6);
  const auto& p = signature->parameters;
  CHECK((p[0].type == "__half" && p[0].name == "x" && p[0].pointer && p[0].const_data));
  CHECK((p[1].type == "float" && p[1].name == "scales" && p[1].const_data));
  CHECK((p[2].name == "y" && p[2].pointer && !p[2].const_data));
  CHECK((p[3].type == "int" && p[3].name == "rows" && !p[3].pointer && !p[3].const_data));
  CHECK((p[4].type == "size_t" && p[4].name == "cols"));
  CHECK((p[5].type == "float" && p[5].name == "eps"));
}

TEST_CASE("template parameters, arrays, unnamed and multi-word parameters are read") {
  const auto signature = first_kernel(
      "template <typename T, int BLOCK = (4 > 3 ? 1 : 2)>\n__global__ static void k(T* const out, const T "
      "in[], unsigned long long, "
      "Pair<int, float> p) {}");
  REQUIRE(signature);
  CHECK(signature->template_parameters.size() == 2);
  CHECK(signature->template_parameters[0] == "typename T");
  REQUIRE(signature->parameters.size() == 4);
  CHECK((signature->parameters[0].pointer && !signature->parameters[0].const_data));
  CHECK((signature->parameters[1].pointer && signature->parameters[1].const_data &&
         signature->parameters[1].name == "in"));
  CHECK((signature->parameters[2].type == "unsigned long long" && signature->parameters[2].name == "arg2"));
  CHECK((signature->parameters[3].name == "p" && signature->parameters[3].type == "Pair<int,float>"));
}

TEST_CASE("text without a kernel, or with a broken one, has no signature") {
  for (const char* source : {"", "void f(int) {}", "// __global__ void k(int)", "__global__",
                             "__global__ void k", "__global__ void ;"})
    CHECK_FALSE(first_kernel(source).has_value());
  CHECK(first_kernel("__global__ void k(int a").has_value());  // never closed: what there is
}

TEST_CASE("a skeleton is a problem that loads and builds, with the signature's tensors and sizes") {
  const WorkFolder place;
  const std::vector<std::string> open_points = place.make(std::string(kScale));
  CHECK(open_points.size() >= 6);
  const auto problem = load(place.problem());
  CHECK(problem->problem == "my_problem");
  REQUIRE(problem->definition.inputs.size() == 3);
  CHECK(problem->definition.inputs[0].dtype == DType::float16);
  CHECK(problem->definition.inputs[1].dtype == DType::float32);
  CHECK(problem->definition.inputs[2].is_scalar());
  REQUIRE(problem->definition.outputs.size() == 1);
  CHECK(problem->definition.outputs[0].name == "y");
  CHECK(problem->definition.axes[0].name == "rows");
  CHECK(problem->workloads.size() == 6);
  CHECK(problem->held_out.size() == 2);
  CHECK(problem->definition.reference.find("FILL-IN") != std::string::npos);
  CHECK(codegen::assemble_reference(*problem, Arch{9, 0, 'a'}, codegen::ReferenceMode::exact).ok());
  REQUIRE(problem->templates.size() == 1);
  const Result<Candidate> candidate = parse_candidate("mine.cu", problem->templates[0].source);
  REQUIRE(candidate.ok());
  CHECK(codegen::pre_check(*problem, *candidate).empty());
  CHECK(candidate->plan.launches[0].arguments.size() == 6);
}

TEST_CASE("M, N and K with two inputs are taken for a matrix product") {
  const WorkFolder place;
  place.make("__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {}");
  const auto problem = load(place.problem());
  CHECK(problem->definition.inputs[0].shape == std::vector<std::string>{"M", "K"});
  CHECK(problem->definition.inputs[1].shape == std::vector<std::string>{"K", "N"});
  CHECK(problem->definition.outputs[0].shape == std::vector<std::string>{"M", "N"});
}

TEST_CASE("what cannot be known is listed") {
  const WorkFolder place;
  const auto open_points = place.make(
      "template <class T> __global__ void k(const T* a, const Foo* b) {}\nint main() { k<<<1, 1>>>(); }");
  const auto mentioned = [&](const std::string& text) {
    return std::ranges::any_of(
        open_points, [&](const std::string& point) { return point.find(text) != std::string::npos; });
  };
  CHECK(mentioned("takes no size"));
  CHECK(mentioned("every pointer is const"));
  CHECK(mentioned("dtype of b"));
  CHECK(mentioned("k<float>"));
  CHECK(mentioned("its host code is left out"));
}

TEST_CASE("a folder with files in it is left alone, and a file without a kernel makes none") {
  const WorkFolder place;
  std::filesystem::create_directory(place.problem());
  write_file_atomically(place.problem() / "precious.txt", "mine");
  CHECK(code_of([&] { place.make(std::string(kScale)); }) == ExitCode::output);
  CHECK(read_file(place.problem() / "precious.txt") == "mine");
  const WorkFolder other;
  CHECK(code_of([&] { other.make("int main() {}"); }) == ExitCode::bad_input);
  CHECK(code_of([&] { other.make("__global__ void k(int n) {}"); }) == ExitCode::bad_input);
  CHECK_FALSE(std::filesystem::exists(other.problem()));
}

namespace {

constexpr std::string_view kWithHost = R"(#include <cstdio>
#include <vector>
#define TILE 4
__device__ float twice(float v) { return 2 * v; }
template <typename T, int BLOCK>
__global__ void scale(const T* x, T* y, float alpha, int n, int half_n) { y[0] = alpha * twice(x[0]); }
float on_host(float a) { return a * rand(); }
void run(const float* x, float* y, int count) {
  const int threads = 128;
  dim3 grid((count + threads * TILE - 1) / (threads * TILE));
  scale<float, 128><<<grid, threads, threads * sizeof(float)>>>(x, y, 2.5f, count, count / 2);
}
int main() { std::vector<float> v(8); run(nullptr, nullptr, 8); }
)";

}  // namespace

TEST_CASE("host code says how a kernel is launched, and is left out of the copy") {
  const WorkFolder place;
  place.make(std::string(kWithHost));
  const auto problem = load(place.problem());
  REQUIRE(problem->templates.size() == 1);
  const std::string& source = problem->templates[0].source;
  for (const char* host : {"main", "vector", "cstdio", "<<<", "rand"})
    CHECK(source.find(host) == std::string::npos);
  for (const char* device : {"#define TILE 4", "float twice(float v)"})
    CHECK(source.find(device) != std::string::npos);
  const Result<Candidate> candidate = parse_candidate("mine.cu", source);
  REQUIRE(candidate.ok());
  CHECK(codegen::pre_check(*problem, *candidate).empty());
  const Result<ResolvedPlan> plan = resolve(candidate->plan, problem->environment({{"N", 1025}}));
  REQUIRE(plan.ok());
  const ResolvedLaunch& launch = plan->launches[0];
  CHECK(launch.kernel == "scale<float, 128>");
  CHECK(launch.grid[0] == 3);
  CHECK(launch.block[0] == 128);
  CHECK(launch.shared_bytes == 512);
  CHECK(std::get<ResolvedScalarInput>(launch.arguments[2]).name == "alpha");
  CHECK(std::get<ResolvedScalar>(launch.arguments[4]).integer == 512);  // count / 2
}

TEST_CASE("a float scalar is an input by value, with the launch's value among those it may have") {
  const WorkFolder place;
  place.make(std::string(kWithHost));
  const auto problem = load(place.problem());
  const TensorSpec* alpha = problem->definition.find_tensor("alpha");
  REQUIRE(alpha != nullptr);
  CHECK(alpha->is_scalar());
  CHECK(alpha->values == std::vector<double>{2.5, 1});
  CHECK(problem->held_out.back().axes.at("N").high == 1 << 24);  // the scale that is timed
}

TEST_CASE("where no pointer is const the user says which are outputs") {
  const WorkFolder place;
  const std::string source =
      "__global__ void add(float* a, float* b, float* c, int n) { c[0] += a[0] * b[0]; }";
  CHECK(code_of([&] { place.make(source); }) == ExitCode::usage);
  CHECK(code_of([&] { place.make(source, {.outputs = {"d"}}); }) == ExitCode::usage);
  CHECK_FALSE(std::filesystem::exists(place.problem()));
  const auto open_points = place.make(source, {.outputs = {"c"}});
  CHECK(load(place.problem())->definition.outputs.size() == 1);
  CHECK(std::ranges::any_of(open_points, [](const std::string& point) {
    return point.find("c is read as well") != std::string::npos && point.find("aliases") != std::string::npos;
  }));
}

TEST_CASE("a kernel that is right becomes its own reference, unless it has no version in fp64") {
  const WorkFolder place;
  place.make(std::string(kWithHost), {.outputs = {}, .reference_is_right = true});
  const auto problem = load(place.problem());
  CHECK(problem->reference_cu.find("scale<ak_real, 128>") != std::string::npos);
  CHECK(problem->reference_cu.find("ak_real twice(ak_real v)") != std::string::npos);
  CHECK(problem->reference_cu.find("FILL-IN") == std::string::npos);
  for (const auto mode : {codegen::ReferenceMode::exact, codegen::ReferenceMode::twin})
    CHECK(codegen::assemble_reference(*problem, Arch{9, 0, 'a'}, mode).ok());
  const WorkFolder other;
  CHECK(code_of([&] {
          other.make("__global__ void k(const float4* x, float* y, int n) { y[0] = x[0].x; }",
                     {.outputs = {}, .reference_is_right = true});
        }) == ExitCode::bad_input);
  CHECK_FALSE(std::filesystem::exists(other.problem()));
}

namespace {

constexpr std::string_view kExtension = R"(#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_fp16.h>
#include <map>
#include "helpers.h"
using namespace at;
#define CHECK_INPUT(x) TORCH_CHECK(x.device() == torch::kCUDA)
template <typename T>
__global__ void saxpy(int n, T alpha, const T* __restrict__ in, T* __restrict__ y, bool flag, float lambda) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = flag ? alpha * in[i] : T(lambda);
}
torch::Tensor other(torch::Tensor x) { dim3 block(32); return x; }
torch::Tensor run(torch::Tensor x, float a) {
  auto y = torch::empty_like(x);
  int n = x.numel();
  dim3 block(128, 2);
  dim3 grid((n + block.x * block.y - 1) / (block.x * block.y));
  saxpy<float><<<grid, block>>>(n, a, x.data_ptr<float>(), y.data_ptr<float>(), true, 2.0f);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
)";

Candidate candidate_of(const ProblemInstance& problem) {
  Result<Candidate> candidate = parse_candidate("mine.cu", problem.templates.at(0).source);
  REQUIRE(candidate.ok());
  return *candidate;
}

}  // namespace

TEST_CASE("what only the host can include is left out of both copies, and unknown headers are named") {
  const WorkFolder place;
  const auto open_points = place.make(std::string(kExtension), {.outputs = {}, .reference_is_right = true});
  const auto problem = load(place.problem());
  for (const std::string& text : {problem->templates.at(0).source, problem->reference_cu}) {
    INFO(text);
    for (const char* host : {"torch", "ATen", "c10", "<map>", "helpers.h", "using namespace", "PYBIND11"})
      CHECK(text.find(host) == std::string::npos);
    CHECK(text.find("#include <cuda_fp16.h>") != std::string::npos);
  }
  CHECK(codegen::pre_check(*problem, candidate_of(*problem)).empty());
  CHECK(std::ranges::any_of(open_points, [](const std::string& point) {
    return point.find("map, helpers.h") != std::string::npos;
  }));
}

TEST_CASE("a bool is an input by value, and no size") {
  const WorkFolder place;
  place.make(std::string(kExtension));
  const auto problem = load(place.problem());
  CHECK(problem->definition.axes.size() == 1);
  const TensorSpec* flag = problem->definition.find_tensor("flag");
  REQUIRE(flag != nullptr);
  CHECK(flag->is_scalar());
  CHECK(flag->dtype == DType::boolean);
  CHECK(flag->values == std::vector<double>{1, 0});
  CHECK(codegen::assemble_reference(*problem, Arch{9, 0, 'a'}, codegen::ReferenceMode::exact).ok());
}

TEST_CASE("names that Python does not allow get another one in the problem") {
  const WorkFolder place;
  place.make(std::string(kExtension));
  const auto problem = load(place.problem());
  CHECK(problem->definition.find_tensor("in_") != nullptr);
  CHECK(problem->definition.find_tensor("lambda_") != nullptr);
  CHECK(problem->definition.reference.find("def run(in_, alpha, flag, lambda_)") != std::string::npos);
  CHECK(problem->templates.at(0).source.find("T* __restrict__ in,") != std::string::npos);
  CHECK(codegen::pre_check(*problem, candidate_of(*problem)).empty());
}

TEST_CASE("grids and blocks are read from the dim3 variables that reach the launch") {
  struct Written {
    std::string text;
    std::int64_t grid_x, grid_y, block_x, block_y;
  };
  const Written cases[] = {
      {"dim3 block(128);\n  dim3 grid((n + block.x - 1) / block.x);\n  k<<<grid, block>>>(x, y, n);", 8, 1,
       128, 1},
      {"dim3 block(16, 8), grid((n + 15) / 16, 2);\n  k<<<grid, block>>>(x, y, n);", 63, 2, 16, 8},
      {"const dim3 block{64}; dim3 grid; grid.x = n / block.x; grid.y = 3;\n  k<<<grid, block>>>(x, y, n);",
       15, 3, 64, 1},
      {"auto block = dim3(32, 4);\n  auto grid = dim3(n);\n  k<<<grid, block, block.y * 4>>>(x, y, n);", 1000,
       1, 32, 4},
      {"k<<<dim3(n, 2), {256, 1}>>>(x, y, n);", 1000, 2, 256, 1},
  };
  for (const Written& one : cases) {
    const WorkFolder place;
    INFO(one.text);
    place.make(
        "__global__ void k(const float* x, float* y, int n) {}\n"
        "void other() { dim3 block(7), grid(7); }\nvoid run(float* x, float* y, int n) {\n  " +
        one.text + "\n}\n");
    const auto problem = load(place.problem());
    const Candidate candidate = candidate_of(*problem);
    CHECK(candidate.source.find("FILL-IN") == std::string::npos);
    const Result<ResolvedPlan> plan = resolve(candidate.plan, problem->environment({{"N", 1000}}));
    REQUIRE(plan.ok());
    const ResolvedLaunch& launch = plan->launches[0];
    CHECK(launch.grid[0] == one.grid_x);
    CHECK(launch.grid[1] == one.grid_y);
    CHECK(launch.block[0] == one.block_x);
    CHECK(launch.block[1] == one.block_y);
  }
}

TEST_CASE("a launch that cannot be read is marked wherever it is guessed") {
  const WorkFolder place;
  place.make(
      "__global__ void k(const float* x, float* y, int n) {}\n"
      "void run(float* x, float* y, int n) { k<<<blocks_for(n), threads_for(n)>>>(x, y, n); }\n",
      {.outputs = {}, .reference_is_right = true});
  const auto problem = load(place.problem());
  CHECK(problem->templates.at(0).source.find("FILL-IN") != std::string::npos);
  CHECK(problem->reference_cu.find("FILL-IN: grid and block") != std::string::npos);
}

TEST_CASE("a template's scalar has the type of the exact version in the body, and its own in the launch") {
  const WorkFolder place;
  place.make(std::string(kExtension), {.outputs = {}, .reference_is_right = true});
  const auto problem = load(place.problem());
  INFO(problem->reference_cu);
  CHECK(problem->reference_cu.find("\"saxpy<ak_real>\"") != std::string::npos);
  CHECK(problem->reference_cu.find("(int n, float ak_alpha,") != std::string::npos);
  CHECK(problem->reference_cu.find("T alpha = static_cast<T>(ak_alpha);") != std::string::npos);
  CHECK(problem->reference_cu.find("ak_real lambda = static_cast<ak_real>(ak_lambda);") != std::string::npos);
  for (const auto mode : {codegen::ReferenceMode::exact, codegen::ReferenceMode::twin})
    CHECK(codegen::assemble_reference(*problem, Arch{9, 0, 'a'}, mode).ok());
}
