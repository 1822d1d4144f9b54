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
  std::vector<std::string> make(const std::string& source) const {
    write_file_atomically(folder_ / "mine.cu", source);
    return codegen::new_problem(problem(), folder_ / "mine.cu");
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
  REQUIRE(problem->definition.inputs.size() == 2);
  CHECK(problem->definition.inputs[0].dtype == DType::float16);
  CHECK(problem->definition.inputs[1].dtype == DType::float32);
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
  CHECK(mentioned("remove the host code"));
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
