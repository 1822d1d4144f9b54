// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <regex>

#include "codegen/emit/emit.h"
#include "codegen/problem/problem_catalog.h"
#include "codegen/source/frozen_constants.h"
#include "core/text/file.h"
#include "tests/codegen/shipped_templates.h"
#include "tests/support/daily_sample.h"
#include "tests/support/temporary_folder.h"

using namespace ak;
using namespace ak::codegen::shipped;
using ak::testing::TemporaryFolder;

namespace {

/// A template with its last tunables moved off their defaults.
Candidate tuned(const ProblemInstance& problem, const std::string& file_name, const TunableValues& values) {
  Candidate candidate = template_of(problem, file_name);
  for (const auto& [name, value] : values) candidate.tunables.at(name) = value;
  return candidate;
}

/// The command in the head of an emitted test, without what it does in addition to building.
std::string build_command(const std::string& test) {
  const std::size_t start = test.find("nvcc ");
  return test.substr(start, test.find(" && ", start) - start);
}

void require_nvcc_accepts(const ProblemInstance& problem, const Candidate& candidate, const Arch& arch) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "k.cu", codegen::emit_kernel(problem, candidate));
  const std::string text = codegen::emit_stand_alone_test(problem, candidate, arch, "k.cu");
  write_file_atomically(folder.path() / "k.test.cu", text);
  // There may be no device here for `native` to mean.
  const std::string command =
      std::regex_replace(build_command(text), std::regex("-arch=native"), "-arch=" + arch.sm());
  const std::string flags = fmt::format(
      "-std=c++20 -gencode arch=compute_{0},code=sm_{0} -Werror all-warnings", arch.sm().substr(3));
  INFO(problem.definition.name << " " << candidate.name);
  const Ended kernel = shell(folder.path(), fmt::format("nvcc {} -c k.cu -o k.o", flags));
  INFO(kernel.output);
  REQUIRE(kernel.exit_code == 0);
  const Ended test = shell(folder.path(), command + " -Werror all-warnings");
  INFO(test.output);
  REQUIRE(test.exit_code == 0);
  const Ended help = shell(folder.path(), "./k_test --help");
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("--workload") != std::string::npos);
  CHECK(shell(folder.path(), "./k_test --colour").exit_code == 2);
  const Ended without_device = shell(folder.path(), "CUDA_VISIBLE_DEVICES= ./k_test");
  CHECK(without_device.exit_code == 2);
  CHECK(without_device.output.find("cudaMalloc: ") != std::string::npos);
}

CheckRecord check_of(const std::string& distribution, double error) {
  CheckRecord check;
  check.workload = "m8192_n4096";
  check.distribution = distribution;
  check.passed = true;
  check.max_error = error;
  check.tolerance = 4e-3;
  return check;
}

EvaluationResult measured_result() {
  EvaluationResult result;
  result.outcome.status = Status::ok;
  result.build.emplace().nvrtc_version = "13.0";
  result.build->kernels.emplace_back();
  result.build->kernels[0].expression = "softmax_vector_rows";
  result.build->kernels[0].registers = 40;
  result.occupancy = Occupancy{8, 1.0, "block size"};
  result.checks = {check_of("normal", 1e-3), check_of("peaked", 3e-3)};
  Measurement& time = result.measurements.emplace_back();
  time.workload = "m8192_n4096";
  time.samples_ns = {40000, 40000};
  time.median_ns = 40000;
  time.ci_low_ns = 39900;
  time.ci_high_ns = 40100;
  result.score_ns = 40000;
  return result;
}

/// As far as floors ask: 4814 GB/s of memory.
DeviceFacts h200() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.l2_bytes = 60 << 20;
  facts.memory_clock_mhz = 3201;
  facts.memory_bus_bits = 6016;
  return facts;
}

codegen::RunSummary run_on_h200() {
  codegen::RunSummary run;
  run.device = "NVIDIA H200";
  run.arch = "sm_90a";
  run.strategy = "random";
  run.command = "generate_kernel --algorithm softmax";
  run.executed = true;
  run.evaluations = 50;
  run.verified = 48;
  run.baseline_ns = 80000;
  run.baseline_label = "naive";
  run.facts = h200();
  return run;
}

constexpr std::string_view kDefaults = R"(/* alphakernel
{"tunables": {"BLOCK": {"values": [128, 256]}, "WIDTH": {"values": [1, 4]}},
 "launches": [{"kernel": "k", "grid": [1], "block": ["BLOCK"], "args": ["a", "b", "c"]}]}
*/
#include <cstdint>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 128, WIDTH = 4;  // for nvcc
using scalar_t = double;
constexpr int OWN = 7;
#endif
__global__ void k(const scalar_t* a, const scalar_t* b, scalar_t* c) {
#if AK_WIDTH == 1
  c[BLOCK + WIDTH] = a[0];
#endif
}
)";

}  // namespace

TEST_CASE("a finished kernel carries its problem, params and tunables") {
  const auto problem = problem_of("softmax", "bf16");
  const Candidate candidate =
      tuned(*problem, "softmax_registers.cu", {{"THREADS_PER_ROW", 512}, {"UNROLL", 1}});
  const Result<Candidate> again = parse_candidate("k.cu", codegen::emit_kernel(*problem, candidate));
  REQUIRE(again.ok());
  CHECK(again->tunables == candidate.tunables);
  CHECK(again->plan.problem == "softmax");
  CHECK(again->plan.params == Json({{"dtype", "bfloat16"}}));
}

TEST_CASE("the defaults of a finished kernel are the chosen values") {
  const auto problem = problem_of("vector_add", "float16");
  Candidate candidate = parse_candidate("k.cu", kDefaults).value();
  candidate.tunables = {{"BLOCK", 256}, {"WIDTH", 1}};
  const std::string text = codegen::emit_kernel(*problem, candidate);
  INFO(text);
  CHECK(text.find("constexpr int BLOCK = 256;") != std::string::npos);
  CHECK(text.find("constexpr int WIDTH = 1;") != std::string::npos);
  CHECK(text.find("constexpr int BLOCK = 128") == std::string::npos);
  CHECK(text.find("using scalar_t = __half;") != std::string::npos);
  CHECK(text.find("using scalar_t = double;") == std::string::npos);
  CHECK(text.find("#define AK_WIDTH 1") < text.find("#include <cstdint>"));
  CHECK(text.find("#include <cuda_fp16.h>") != std::string::npos);
  CHECK(text.find("constexpr int OWN = 7;") != std::string::npos);
}

TEST_CASE("a finished kernel knows one choice of a parameter, not its own default next to it") {
  const auto problem = problem_of("vector_add", "float16");
  constexpr std::string_view kChoice =
      "/* alphakernel\n{\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [1], \"args\": "
      "[\"a\"]}]}\n*/\n"
      "#ifndef ALPHAKERNEL\n#define AK_DTYPE_BFLOAT16 1\n#endif\n"
      "#ifdef AK_DTYPE_BFLOAT16\n#error the wrong one\n#endif\n__global__ void k(const void* a) {}\n";
  const std::string text = codegen::emit_kernel(*problem, parse_candidate("k.cu", kChoice).value());
  INFO(text);
  CHECK(text.find("#define AK_DTYPE_BFLOAT16") == std::string::npos);
}

TEST_CASE("emitting an emitted kernel changes nothing") {
  const auto problem = problem_of("vector_add", "float16");
  for (const Candidate& candidate :
       {parse_candidate("k.cu", kDefaults).value(), template_of(*problem, "vector_add.cu")}) {
    const std::string once = codegen::emit_kernel(*problem, candidate);
    CHECK(codegen::emit_kernel(*problem, parse_candidate("k.cu", once).value()) == once);
  }
}

TEST_CASE("a kernel without defaults gets those it needs after its last include") {
  const auto problem = problem_of("vector_add", "float32");
  Candidate candidate =
      parse_candidate(
          "k.cu",
          "/* alphakernel {\"tunables\": {\"BLOCK\": {\"values\": [64]}, \"OTHER\": {\"values\": [3]}}, "
          "\"launches\": [{\"kernel\": \"k\", \"grid\": [1], \"block\": [\"BLOCK\"], \"args\": [\"a\"]}]} "
          "*/\n"
          "#include <cstdint>\n__global__ void k(scalar_t* a) { a[BLOCK] = 0; }\n")
          .value();
  const std::string text = codegen::emit_kernel(*problem, candidate);
  INFO(text);
  const std::size_t include = text.find("#include <cstdint>"),
                    constant = text.find("constexpr int BLOCK = 64;");
  CHECK(include < constant);
  CHECK(constant < text.find("__global__"));
  CHECK(text.find("OTHER =") == std::string::npos);
  CHECK(text.find("using scalar_t = float;") != std::string::npos);
}

TEST_CASE("very long lines are left alone") {
  const auto problem = problem_of("vector_add", "float32");
  const std::string line = "constexpr int BLOCK = " + std::string(500000, '1') + ";";
  const std::string source =
      "/* alphakernel {\"tunables\": {\"BLOCK\": {\"values\": [64]}}, \"launches\": [{\"kernel\": \"k\", "
      "\"grid\": [1], "
      "\"block\": [1], \"args\": []}]} */\n#ifndef ALPHAKERNEL\n" +
      line + "\n#endif\n";
  CHECK(codegen::emit_kernel(*problem, parse_candidate("k.cu", source).value()).find(line) !=
        std::string::npos);
}

TEST_CASE("nvcc builds kernels and their stand-alone tests without a warning") {
  if (nvcc_is_missing()) return;
  const struct {
    const char *problem, *dtype, *file;
    TunableValues values;
    Arch arch;
  } kernels[] = {
      {"vector_add", "float16", "vector_add.cu", {{"PERSISTENT", 1}}, kHopper},
      {"reduce_sum", "float32", "reduce_sum_single_pass.cu", {{"VEC_BYTES", 4}}, kAmpere},
      {"softmax", "bfloat16", "softmax_registers.cu", {{"VEC_BYTES", 4}}, kHopper},
      {"flash_attention", "bfloat16", "attention_wgmma.cu", {{"BN", 64}}, kHopper},
  };
  for (std::size_t i = 0; i < std::size(kernels); ++i) {
    if (!testing::drawn_today(i, std::size(kernels))) continue;
    const auto problem = problem_of(kernels[i].problem, kernels[i].dtype);
    require_nvcc_accepts(*problem, tuned(*problem, kernels[i].file, kernels[i].values), kernels[i].arch);
  }
}

TEST_CASE("the stand-alone test launches with clusters, tensor maps, large shared memory and workspace") {
  const auto problem = problem_of("vector_add", "float32");
  const Candidate candidate = parse_candidate("k.cu", R"(/* alphakernel
{"workspace": [{"name": "scratch", "dtype": "int32", "count": "N", "init": "zero"}],
 "tensor_maps": [{"name": "map_a", "tensor": "a", "dtype": "float32", "dims": ["N", 1], "strides_bytes": ["N * 4"],
                  "box": [64, 1], "swizzle": "128B"}],
 "launches": [{"kernel": "tiled<2, float>", "grid": [4], "block": [64], "cluster": [2], "shared_bytes": 100000, "pdl": true,
               "args": ["map_a", "b", {"optional": "absent"}, "scratch", {"i32": "N"}, {"f32": 0.5}], "when": "N > 1000"},
              {"kernel": "plain", "grid": [1], "block": [1], "args": [{"optional": "absent"}, {"i64": "k"}], "for": ["k", 0, 2]}]}
*/
#include <cuda.h>
template <int COUNT, class T>
__global__ void tiled(const __grid_constant__ CUtensorMap, const T*, T*, unsigned int*, int, float) {}
__global__ void plain(const float*, long long) {}
)")
                                  .value();
  const std::string text = codegen::emit_stand_alone_test(*problem, candidate, kHopper, "k.cu");
  CHECK(text.find("plain<<<dim3(1, 1, 1), dim3(1, 1, 1), 0>>>(ak_test::Pointer{nullptr}, 1LL);") !=
        std::string::npos);
  CHECK(text.find("launch.cluster(2, 1, 1);") != std::string::npos);
  if (!nvcc_is_missing()) require_nvcc_accepts(*problem, candidate, kHopper);
}

TEST_CASE("the stand-alone test says how to run it under Nsight Compute and compute-sanitizer") {
  const auto problem = problem_of("reduce_sum", "float32");
  const Candidate candidate = tuned(*problem, "reduce_sum_two_pass.cu", {});
  const std::string text = codegen::emit_stand_alone_test(*problem, candidate, kHopper, "k.cu");
  CHECK(text.find("nvcc -O3 -std=c++20 -lineinfo ") != std::string::npos);
  const auto profiled = [&](const std::string& from) {
    const std::size_t start = text.find(from);
    REQUIRE(start != std::string::npos);
    return text.substr(start, text.find('\n', start) - start);
  };
  const std::string ncu = profiled("ncu --set full");
  INFO(ncu);
  CHECK(ncu.find(" --kernel-name 'regex:^(") != std::string::npos);
  CHECK(ncu.find(" --launch-count 2 ") != std::string::npos);  // both passes of one call
  CHECK(ncu.find("--launch-skip") == std::string::npos);
  CHECK(ncu.find(" ./k_test --no-time --workload 'n") != std::string::npos);
  for (const char* tool : {"memcheck", "racecheck", "initcheck", "synccheck"})
    CHECK(
        profiled(std::string("compute-sanitizer --tool ") + tool).find(" ./k_test --no-time --workload 'n") !=
        std::string::npos);
  const std::string checked = profiled("compute-sanitizer --tool memcheck");
  const std::string name =
      checked.substr(checked.find('\'') + 1, checked.rfind('\'') - checked.find('\'') - 1);
  const auto small = std::ranges::find(problem->workloads, name, &Workload::name);
  REQUIRE(small != problem->workloads.end());
  CHECK(small->tier == WorkloadTier::emulator);
  const std::string commands = codegen::stand_alone_test_commands(*problem, candidate, kHopper, "k.cu");
  CHECK(commands.find(ncu) != std::string::npos);
  codegen::RunSummary run = run_on_h200();
  run.tools = commands;
  CHECK(codegen::emit_explanation(*problem, candidate, measured_result(), run).find(commands) !=
        std::string::npos);
}

TEST_CASE("Nsight Compute skips the launches of references that have the kernel's name") {
  const auto problem = problem_of("vector_add", "float32");
  const Candidate candidate = parse_candidate("k.cu", R"(/* alphakernel
{"launches": [{"kernel": "mine::vector_add_reference<float>", "grid": [1], "block": [64], "args": ["a", "b", "c", {"i64": "N"}]}]}
*/
namespace mine { template <class T> __global__ void vector_add_reference(const T*, const T*, T*, long long) {} }
)")
                                  .value();
  const std::string commands = codegen::stand_alone_test_commands(*problem, candidate, kHopper, "k.cu");
  INFO(commands);
  CHECK(commands.find("--kernel-name 'regex:^(vector_add_reference)$' --launch-skip 2 --launch-count 1 ") !=
        std::string::npos);
}

TEST_CASE("the explanation of a measured kernel gives times, bandwidth, checks and how to reproduce it") {
  const auto problem = problem_of("softmax", "bf16");
  const Candidate candidate = template_of(*problem, "softmax_registers.cu");
  const std::string text = codegen::emit_explanation(*problem, candidate, measured_result(), run_on_h200());
  INFO(text);
  for (const char* expected :
       {"40.00 us", "2.00 times as fast as naive", "| 14.51 us | 36 % | 3355.4 |",
        "- m8192_n4096: 71.3 MB through a memory of", "flushed before every sample",
        "normal, peaked | 3.00e-03 (peaked) | 4.00e-03 | 75 %", "| `softmax_vector_rows` | 40 |",
        "limited by block size", "generate_kernel --algorithm softmax", "| THREADS_PER_ROW | 256 |",
        "`N <= CAPACITY and N % VEC == 0`", "hold one row in registers"}) {
    CAPTURE(expected);
    CHECK(text.find(expected) != std::string::npos);
  }
  CHECK(text.find("Nothing was executed") == std::string::npos);
}

TEST_CASE("times with a warm L2 are marked and have no floor; a kernel that lost to its baseline is slower") {
  const auto problem = problem_of("softmax", "bf16");
  EvaluationResult result = measured_result();
  Measurement warm = result.measurements.front();
  warm.cold = false;
  warm.median_ns = 20000;
  result.measurements.push_back(warm);
  codegen::RunSummary run = run_on_h200();
  run.baseline_ns = 32000;
  const std::string text =
      codegen::emit_explanation(*problem, template_of(*problem, "softmax_registers.cu"), result, run);
  INFO(text);
  CHECK(text.find("| m8192_n4096, warm | 20.00 us | 39.90 us to 40.10 us | 2 | - | - |") !=
        std::string::npos);
  CHECK(text.find("Warm: the call before has left its data in L2") != std::string::npos);
  CHECK(text.find("slower than naive (32.00 us): it takes 1.25 times as long") != std::string::npos);
}

TEST_CASE("an explanation says nothing of what was not measured, and one percentage of a shape") {
  const auto problem = problem_of("softmax", "bf16");
  codegen::RunSummary run = run_on_h200();
  run.parts.optimisations = {
      {.name = "vector loads", .purpose = "wider", .lines = {1}, .tunables = {}, .evidence = {}}};
  run.parts.tunables = {{.name = "UNROLL", .evidence = {}}};
  codegen::LimitNote& limit = run.parts.limits.emplace_back();
  limit.workload = "m8192_n4096";
  limit.time_ns = 40000;
  limit.floor_ns = 14514;
  limit.basis = "facts";
  const Candidate candidate = template_of(*problem, "softmax_registers.cu");
  std::string text = codegen::emit_explanation(*problem, candidate, measured_result(), run);
  INFO(text);
  CHECK(text.find("vector loads") == std::string::npos);
  CHECK(text.find("evidence") == std::string::npos);
  CHECK(text.find("times faster") == std::string::npos);
  CHECK(text.find("What limits it was not measured") != std::string::npos);
  CHECK(text.find("floor / median is 36 %") != std::string::npos);
  run.parts.optimisations.front().evidence = {"VEC=8 instead of 1: 1.30x at this point"};
  run.parts.tunables.front().evidence = {"UNROLL=2 instead of 1: 1.10x at this point"};
  text = codegen::emit_explanation(*problem, candidate, measured_result(), run);
  CHECK(text.find("| vector loads | wider | 1 | VEC=8 instead of 1: 1.30x at this point |") !=
        std::string::npos);
  CHECK(text.find("| UNROLL | 2 | 1, 2, 4, 8, 16 | UNROLL=2 instead of 1: 1.10x at this point |") !=
        std::string::npos);
}

TEST_CASE("an explanation does not count blocks that it does not know") {
  const auto problem = problem_of("softmax", "bf16");
  EvaluationResult result = measured_result();
  const auto page = [&] {
    return codegen::emit_explanation(*problem, template_of(*problem, "softmax_registers.cu"), result,
                                     run_on_h200());
  };
  CHECK(page().find("occupancy of 100 % (8 blocks per SM), limited by block size") != std::string::npos);
  result.occupancy->blocks_per_sm = 0;
  CHECK(page().find("occupancy of 100 %, limited by block size") != std::string::npos);
}

TEST_CASE("an explanation lists the launches that the finished file has") {
  const auto problem = problem_of("gemm", "bf16");
  const Candidate candidate = tuned(*problem, "gemm_mma.cu", {{"SPLIT_K", 1}});
  const std::string text = codegen::emit_explanation(*problem, candidate, measured_result(), run_on_h200());
  CHECK(text.find("`gemm_add_up`") == std::string::npos);
  CHECK(text.find("`not (SPLIT_K > 1)`") != std::string::npos);
}

TEST_CASE("the explanation of a kernel that never ran says so and claims nothing") {
  const auto problem = problem_of("vector_add", "float32");
  EvaluationResult result;
  result.outcome.status = Status::compiled_only;
  codegen::RunSummary run;
  run.arch = "sm_100a";
  const std::string text =
      codegen::emit_explanation(*problem, template_of(*problem, "vector_add.cu"), result, run);
  CHECK(text.find("**Nothing was executed.**") != std::string::npos);
  CHECK(text.find("Not measured.") != std::string::npos);
  CHECK(text.find("no result of this kernel was compared") != std::string::npos);
  CHECK(text.find("GB/s |") == std::string::npos);
  CHECK(text.find("Chosen by measurement") == std::string::npos);
}
