// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/optimisations.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "codegen/source/line_patterns.h"

using namespace ak;

namespace {

/// A candidate whose kernel has that body, with `before` in front of it and `plan` in its plan.
Candidate working(const std::string& before, const std::string& body, const std::string& plan = "",
                  const std::string& launch = "") {
  const std::string source =
      "/* alphakernel\n{" + plan +
      "\"launches\": [{\"kernel\": \"work\", \"grid\": [1], \"block\": [32], \"args\": [\"x\"]" + launch +
      "}]}\n*/\n" + before + "\n__global__ void work(float* x) {\n" + body + "\n}\n";
  auto candidate = parse_candidate("work.cu", source);
  INFO(source);
  REQUIRE(candidate.ok());
  return *candidate;
}

std::vector<std::string> names_of(const Candidate& candidate) {
  std::vector<std::string> names;
  for (const codegen::Optimisation& one : codegen::optimisations_of(candidate)) names.emplace_back(one.name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("code that no launch comes to shows no optimisation") {
  struct Row {
    std::string before, body;
    Names expected;
  };
  const Row rows[] = {
      {"__device__ float sum(float v) { return __shfl_xor_sync(~0u, v, 1); }", "x[0] = 1;", {}},
      {"__device__ float sum(float v) { return __shfl_xor_sync(~0u, v, 1); }",
       "x[0] = sum(x[0]);",
       {"warp shuffles"}},
      {"namespace own { __device__ float sum(float v) { return __shfl_xor_sync(~0u, v, 1); }\n"
       "__device__ float one() { return 1; } }",
       "x[0] = own::one();",
       {}},
      {"#define PRODUCT(d) asm volatile(\"mma.sync.aligned\" : \"+f\"(d))", "x[0] = 1;", {}},
      {"#define PRODUCT(d) asm volatile(\"mma.sync.aligned\" : \"+f\"(d))",
       "PRODUCT(x[0]);",
       {"matrix products"}},
      {"", "#if 0\n__shared__ float s[32];\n#endif\nx[0] = 1;", {}},
      {"#define STAGED 0", "#if STAGED\n__shared__ float s[32];\n#else\nx[0] = 1;\n#endif", {}},
      {"", "#if SOMETHING\n__shared__ float s[32];\n#endif\nx[0] = 1;", {"shared memory"}},
      {"#ifndef ALPHAKERNEL\nconstexpr int ITEMS = 4;\n#endif", "x[0] = ITEMS;", {}},
  };
  for (const Row& row : rows) {
    INFO(row.before << "\n" << row.body);
    CHECK(names_of(working(row.before, row.body)) == row.expected);
  }
}

TEST_CASE("what a device header does counts where a launch comes to it, at the line of its include") {
  const Candidate sums = working("#include <ak/reduce.cuh>", "x[0] = ak::block_sum<64>(x[0]);");
  CHECK(names_of(sums) == Names{"shared memory", "warp shuffles", "unrolled loops"});
  CHECK(codegen::optimisations_of(sums)[0].lines == std::vector<int>{4});
  CHECK(names_of(working("#include <ak/reduce.cuh>", "x[0] = ak::Sum()(x[0], 1.0f);")).empty());
}

TEST_CASE("a tunable that is off at the point leaves its optimisation out") {
  const auto with = [](int stages, int fast) {
    const std::string plan =
        "\"tunables\": {\"STAGES\": {\"values\": [1, 2, 4], \"default\": " + std::to_string(stages) +
        "}, \"FAST\": {\"values\": [0, 1], \"default\": " + std::to_string(fast) + "}},";
    return working("", "__shared__ float s[STAGES][32];\nx[0] = FAST ? __expf(s[0][0]) : expf(s[0][0]);",
                   plan);
  };
  CHECK(names_of(with(1, 0)) == Names{"shared memory"});
  CHECK(names_of(with(2, 1)) == Names{"shared memory", "several buffers", "fast functions"});
  CHECK(codegen::optimisations_of(with(2, 1))[1].tunables == Names{"STAGES"});
}

TEST_CASE("a launch plan decides about clusters, persistent blocks and grids that wait for themselves") {
  const std::string names = "int cluster = 1, producer = 2; x[0] = cluster + producer;";
  CHECK(names_of(working("", names)).empty());
  CHECK(names_of(working("", names, "", ", \"cluster\": [2]")) == Names{"block clusters"});
  const std::string waits = ", \"cooperative\": true";
  CHECK(names_of(working("", names, "", waits)) == Names{"one launch for several steps"});
  const std::string unused = "\"let\": {\"WAVES\": \"ceil_div(100, SM_COUNT)\"},";
  CHECK(names_of(working("", names, unused)).empty());
}

TEST_CASE("words within other words show nothing") {
  const std::string copy = R"(asm volatile("cp.async.cg.shared.global [%0], [%1], 16;");)";
  CHECK(names_of(working("", "__shared__ float s[8];\n" + copy)) ==
        Names{"shared memory", "asynchronous copies"});
}

TEST_CASE("lines show what no single word does") {
  using namespace codegen;
  CHECK(points_to_vectors("  const float4 v = *reinterpret_cast<const float4 *>(x);"));
  CHECK(points_to_vectors("asm(\"ld.global.nc.L1::no_allocate.v4.f32 {%0}\");"));
  CHECK_FALSE(points_to_vectors("  float4 holder;"));
  CHECK(computes_with_pairs("asm(\"fma.rn.f16x2 %0, %1, %2, %3;\");"));
  CHECK_FALSE(computes_with_pairs("asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\");"));
  for (const char* line :
       {"half ^= 1;", "side = 1 - side;", "place = slice % kStages;", "at = i % DEPTH * SIZE;"}) {
    INFO(line);
    CHECK(takes_buffers_in_turn(line));
  }
  for (const char* line : {"lane ^= 2;", "x = 1 - y * z;", "i % WARPS", "a ^ 1"}) {
    INFO(line);
    CHECK_FALSE(takes_buffers_in_turn(line));
  }
  for (const char* line : {"__shared__ float s[32][32 + 1];", "constexpr int PITCH = WN + 8;",
                           "at = line * 64 + ((chunk ^ (line >> 1 & 3)) << 4);", "c ^ row % 8"}) {
    INFO(line);
    CHECK(spreads_over_banks(line));
  }
  for (const char* line : {"__shared__ float s[32];", "mask ^= 1;", "y = a ^ b;", "float s[N + 1];"}) {
    INFO(line);
    CHECK_FALSE(spreads_over_banks(line));
  }
  CHECK(keeps_numbers_in_registers("  float sums[4][4] = {};"));
  CHECK(keeps_numbers_in_registers("  Pack<WIDTH> packs[ITEMS];"));
  CHECK_FALSE(keeps_numbers_in_registers("  __shared__ float s[32];"));
  CHECK_FALSE(keeps_numbers_in_registers("  float y = x[3];"));
  CHECK(unrolls("#pragma unroll"));
  CHECK_FALSE(unrolls("#pragma unroll 1"));
  CHECK(constants_of("constexpr int STAGES = 3, kPads = 1;") ==
        std::vector<std::pair<std::string, std::int64_t>>{{"STAGES", 3}, {"K_PADS", 1}});
  CHECK(constants_of("#define PARTS 4") == std::vector<std::pair<std::string, std::int64_t>>{{"PARTS", 4}});
  CHECK(constants_of("int x = 3;").empty());
}
