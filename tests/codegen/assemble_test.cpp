// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/assemble.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "codegen/source/reference_types.h"
#include "core/plan/include_scan.h"
#include "tests/codegen/sample_problem.h"

using namespace ak;
using namespace ak::codegen;
using ak::testing::SampleProblem;

namespace {

const Arch kArch{9, 0, 'a'};
const std::string kPlan =
    R"(/* alphakernel {"tunables": {"BLOCK": {"values": [64, 128]}}, "launches": [{"kernel": "k", "grid": [1], "block": ["BLOCK"], "args": ["x", "y"]}]} */)";

Candidate candidate(const std::string& source) {
  auto parsed = parse_candidate("mine.cu", source);
  INFO((parsed ? "" : parsed.error().message));
  REQUIRE(parsed.ok());
  return *parsed;
}

std::string assembled(const std::string& source, const std::map<std::string, std::string>& params = {}) {
  const SampleProblem sample;
  const auto unit = assemble(*sample.instantiate(params), candidate(source), kArch);
  REQUIRE(unit.ok());
  return unit->source;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("constants follow the last include, and line numbers stay the candidate's own") {
  const std::string text = assembled(kPlan + "\n#include <cuda_fp16.h>\n__global__ void k() {}\n");
  const std::size_t include = text.find("#include <cuda_fp16.h>"),
                    constant = text.find("constexpr int BLOCK = 64;");
  REQUIRE(include != std::string::npos);
  REQUIRE(constant != std::string::npos);
  CHECK(include < constant);
  CHECK(contains(text, "#define AK_BLOCK 64"));
  CHECK(contains(text, "#line 3 \"mine.cu\"\n__global__ void k() {}"));
  CHECK(contains(text, "#line 1 \"tunables_and_params\"\n"));
  CHECK(text.find("tunables_and_params") < constant);
}

TEST_CASE("params and fixed axes are constants too, dtypes are types with their header") {
  const std::string text = assembled(kPlan + "\n__global__ void k() {}\n",
                                     {{"dtype", "bf16"}, {"head_dim", "128"}, {"causal", "true"}});
  for (const char* part :
       {"#define AK_DTYPE_BFLOAT16 1", "#define AK_HEAD_DIM 128", "constexpr int HEAD_DIM = 128;",
        "#define AK_CAUSAL 1", "constexpr int D = 128;", "using scalar_t = __nv_bfloat16;",
        "#include <cuda_bf16.h>", "#define ALPHAKERNEL 1"}) {
    INFO(part);
    CHECK(contains(text, part));
  }
}

TEST_CASE("macros come first when an include depends on them, else after it so that headers stay the same") {
  const std::string depends =
      assembled(kPlan + "\n#if AK_BLOCK > 64\n#include <cuda_fp16.h>\n#endif\n#include <mma.h>\n");
  CHECK(depends.find("#define AK_BLOCK") < depends.find("#include <mma.h>"));
  const std::string plain = assembled(kPlan + "\n#include <mma.h>\nint x = AK_BLOCK;\n");
  CHECK(plain.find("#define AK_BLOCK") > plain.find("#include <mma.h>"));
}

TEST_CASE("includes inside comments, strings and conditionals do not move the constants") {
  const std::string text =
      assembled(kPlan +
                "\n#include <mma.h>\n// #include <late.h>\n/*\n#include <later.h>\n*/\n"
                "const char* s = R\"(\n#include <latest.h>\n)\";\n#if 0\n#include <never.h>\n#endif\n");
  CHECK(contains(text, "#line 3 \"mine.cu\"\n// #include <late.h>"));
}

TEST_CASE("options come from an allow-list") {
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  Candidate good = candidate(kPlan + "\n");
  good.plan.options = {"fast_math", "maxrregcount=64"};
  const auto unit = assemble(*instance, good, kArch);
  REQUIRE(unit.ok());
  CHECK(std::count(unit->options.begin(), unit->options.end(), "--use_fast_math") == 1);
  CHECK(std::count(unit->options.begin(), unit->options.end(), "--maxrregcount=64") == 1);
  for (const char* option :
       {"--include-path=/etc", "maxrregcount=4096", "maxrregcount=64 -I/", "maxrregcount=", ""}) {
    good.plan.options = {option};
    INFO(option);
    CHECK_FALSE(assemble(*instance, good, kArch).ok());
  }
}

TEST_CASE("the reference is exact in double, and its twin has the candidates' precision") {
  const SampleProblem sample;
  const auto instance = sample.instantiate({{"dtype", "bf16"}});
  const auto exact = assemble_reference(*instance, kArch, ReferenceMode::exact);
  const auto twin = assemble_reference(*instance, kArch, ReferenceMode::twin);
  REQUIRE(exact.ok());
  REQUIRE(twin.ok());
  CHECK(contains(exact->source, "using out_t = double;"));
  CHECK(contains(exact->source, "using accum_t = double;"));
  CHECK(contains(twin->source, "using out_t = __nv_bfloat16;"));
  CHECK(contains(twin->source, "using accum_t = float;"));
  CHECK(contains(twin->source, "#define AK_TWIN 1"));
  const Mutation mutation{"none", "what", "AK_MUTATION_X"};
  CHECK(contains(assemble_reference(*instance, kArch, ReferenceMode::twin, &mutation)->source,
                 "#define AK_MUTATION_X 1"));
}

TEST_CASE(
    "a kernel made of the reference has the twin's types alone, whatever the reference has outside of the "
    "harness, and none of the mistakes that an audit plants") {
  const SampleProblem sample;
  ProblemInstance problem = *sample.instantiate({{"dtype", "bf16"}});
  const std::size_t code = problem.reference_cu.find("*/") + 2;
  problem.reference_cu.insert(
      code,
      "\n#ifndef ALPHAKERNEL\nusing accum_t = double;\n  using out_t = "
      "double;\nusing out_t_y = double;\n#define AK_EXACT 1\n#endif\n#ifdef AK_EXACT\n#endif\n"
      "#ifdef AK_MUTATION_X\nconstexpr int kTaps = 2;\n#else\nconstexpr int kTaps = 3;\n#endif\n");
  const std::string kernel = twin_as_kernel(problem);
  CHECK(contains(kernel, "using accum_t = float;"));
  CHECK(contains(kernel, "using out_t = __nv_bfloat16;"));
  CHECK(contains(kernel, "#define AK_TWIN 1"));
  CHECK_FALSE(contains(kernel, "= double;"));
  CHECK(contains(kernel, "kTaps = 3;"));
  CHECK_FALSE(contains(kernel, "AK_MUTATION"));
  CHECK_FALSE(contains(kernel, "#define AK_EXACT"));
  CHECK(parse_candidate("twin.cu", kernel).ok());
}

TEST_CASE("host code is found with its line and a sentence that says what to do") {
  struct Row {
    std::string code, words;
  };
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  for (const Row& row : {Row{"int main() { return 0; }", "main"},
                         {"void f() { k<<<1, 2>>>(0); }", "<<<"},
                         {"void f() { cudaMalloc (0, 1); }", "runtime"},
                         {"std::vector<int> v;", "standard library"},
                         {"std :: string s;", "standard library"},
                         {"torch::Tensor t;", "PyTorch"},
                         {"#include <torch/extension.h>", "host header"},
                         {"#include <vector>", "host header"},
                         {"#include \"/etc/passwd\"", "outside"},
                         {"#include <../../etc/passwd>", "outside"},
                         {"#include HEADER", "macro"},
                         {"#inc\\\nlude </etc/passwd>", "outside"},
                         {"%:include </etc/passwd>", "outside"},
                         {"#embed \"/etc/passwd\"", "outside"},
                         {"/**/ # /**/ include </etc/passwd>", "outside"}}) {
    const auto found = pre_check(*instance, candidate(kPlan + "\n\n" + row.code + "\n"));
    INFO(row.code);
    REQUIRE(found.size() == 1);
    CHECK(found[0].line == 3);
    CHECK(found[0].severity == "error");
    INFO(found[0].message);
    CHECK(contains(found[0].message, row.words));
  }
}

TEST_CASE("device code that looks like host code is left alone") {
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  for (const std::string code :
       {"// int main() and k<<<1, 2>>>()", "const char* s = \"cudaMalloc(\";",
        "__device__ int domain(int x) { return x; }", "int a = 1 << 3 >> 2;",
        "__device__ float cat(float x) { return x; }", "#include <cuda/std/vector>",
        "struct vector { int x; };", "__device__ int at(int i) { return i; }", "#include <cub/cub.cuh>"}) {
    INFO(code);
    CHECK(pre_check(*instance, candidate(kPlan + "\n" + code + "\n")).empty());
  }
}

TEST_CASE("a plan that names unknown tensors or reuses names is refused before it is built") {
  const SampleProblem sample;
  const auto instance = sample.instantiate();
  const auto plan = [](const std::string& json) { return "/* alphakernel " + json + " */\n"; };
  struct Row {
    std::string json, words;
  };
  for (
      const Row& row :
      {Row{R"({"launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["x", "z"]}]})", "'z'"},
       {R"({"launches": [{"kernel": "k", "grid": [1], "block": [1], "args": ["x", "N"]}]})",
        "{\"i32\": \"N\"}"},
       {R"({"workspace": [{"name": "x", "dtype": "float32", "count": 1}], "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]})",
        "two things"},
       {R"({"tunables": {"N": {"values": [1]}}, "launches": [{"kernel": "k", "grid": [1], "block": [1], "args": []}]})",
        "axis"}}) {
    const auto found = pre_check(*instance, candidate(plan(row.json)));
    INFO(row.json);
    REQUIRE(found.size() == 1);
    CHECK(contains(found[0].message, row.words));
  }
}
