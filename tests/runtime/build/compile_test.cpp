// SPDX-License-Identifier: Apache-2.0
#include "runtime/build/compile.h"

#include <catch2/catch.hpp>

#include "runtime/build/code_hash.h"
#include "runtime/build/compile_log.h"
#include "runtime/build/ptxas_facts.h"
#include "tests/runtime/process/worker_test_support.h"

namespace ak::runtime {
namespace {

Compiler& compiler() {
  static Compiler instance = [] {
    const auto toolkit = find_cuda_toolkit();
    REQUIRE(toolkit);
    const auto nvrtc = load_nvrtc(toolkit->nvrtc_library);
    REQUIRE(nvrtc);
    return Compiler(*nvrtc, *toolkit);
  }();
  return instance;
}

BuildResult build(std::string source, std::vector<std::string> kernels = {"k"}) {
  return compiler().compile(unit_of(std::move(source), std::move(kernels)));
}

}  // namespace

TEST_CASE("every architecture NVRTC knows gives PTX and a cubin") {
  const auto nvrtc = load_nvrtc(find_cuda_toolkit()->nvrtc_library);
  const auto archs = nvrtc->archs();
  REQUIRE(archs.size() > 10);
  for (const auto& arch : archs) {
    INFO(arch.sm());
    auto unit = unit_of("extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 1; }");
    unit.arch = arch;
    const auto result = compiler().compile(unit);
    REQUIRE(result.outcome.status == Status::ok);
    CHECK(result.ptx.find(".target " + arch.sm()) != std::string::npos);
    CHECK(
        result.cubin.starts_with("\x7f"
                                 "ELF"));
  }
}

TEST_CASE("an architecture NVRTC does not know is answered with those it knows") {
  auto unit = unit_of("__global__ void k() {}");
  unit.arch = {9, 9, 0};
  const auto result = compiler().compile(unit);
  CHECK(result.outcome.status == Status::unsupported);
  CHECK(result.outcome.message.find("sm_99") != std::string::npos);
  CHECK(result.outcome.message.find("sm_90a") != std::string::npos);
}

TEST_CASE("code that differs in layout and comments alone has the same hash") {
  const auto built = [](const std::string& source) {
    auto unit = unit_of(source);
    unit.options.push_back("--generate-line-info");
    auto result = compiler().compile(unit);
    REQUIRE(result.outcome.status == Status::ok);
    return result;
  };
  const std::string kernel = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 1; }";
  const auto plain = built(kernel), moved = built("// a comment\n\n  " + kernel),
             other = built("extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 2; }");
  CHECK(plain.cubin != moved.cubin);
  CHECK(code_hash(plain.cubin) == code_hash(moved.cubin));
  CHECK(code_hash(plain.cubin) != code_hash(other.cubin));
  CHECK(code_hash(plain.ptx) == code_hash(moved.ptx));
  CHECK(code_hash(plain.ptx) != code_hash(other.ptx));
  CHECK(code_hash(plain.cubin.substr(0, 100)) != code_hash(other.cubin.substr(0, 101)));
}

TEST_CASE("what follows a location, a file's name or a comment is part of the program") {
  const auto ptx = [](const std::string& before) {
    return ".version 9.0\n.target sm_90a\n.visible .entry k()\n{\n" + before +
           " add.u32 %r1, %r1, 1;\nret;\n}\n";
  };
  const std::string plain = code_hash(ptx(""));
  for (const char* layout : {".loc 1 2 3", ".loc 1 2 3, function_name $L__info_string0 + 4, inlined_at 1 7 7",
                             ".file 1 \"k.cu\", 12, 34", "// a comment\n", "/* a comment */", "\n\n\t",
                             ".section .debug_str { $L: .b8 1,2 }"}) {
    INFO(layout);
    CHECK(code_hash(ptx(layout)) == plain);
    CHECK(code_hash(ptx(layout + std::string(" mov.u32 %r1, 7;"))) != plain);
  }
  CHECK(code_hash(ptx(".section .debug_str { \x01 }")) !=
        code_hash(ptx(".section .debug_str { \x01 } mov.u32 %r1, 7;")));
  CHECK(code_hash(ptx(".pragma \"nounroll\";")) != plain);
  CHECK(code_hash(ptx("add.u32 %r1, %r1, 2;")) != code_hash(ptx("add.u32 %r1, %r1, 3;")));
}

TEST_CASE("a variable that no code uses is not part of a program in PTX, one that is used is") {
  const auto ptx = [](const std::string& variables, const std::string& used) {
    return ".version 9.0\n.target sm_90a\n" + variables + ".visible .entry k()\n{\n\tld.global.u32 %r1, [" +
           used + "];\n}\n";
  };
  const std::string block_64 = ".global .align 4 .u32 BLOCK = 64;\n",
                    block_128 = ".global .align 4 .u32 BLOCK = 128;\n";
  CHECK(code_hash(ptx(block_64, "BLOCKS")) == code_hash(ptx(block_128, "BLOCKS")));
  CHECK(code_hash(ptx(block_64, "BLOCKS")) ==
        code_hash(ptx(".global .align 1 .b8 A[4] = {1, 2, 3, 4};\n", "BLOCKS")));
  CHECK(code_hash(ptx(block_64, "BLOCKS")) == code_hash(ptx("", "BLOCKS")));
  CHECK(code_hash(ptx(block_64, "BLOCK")) != code_hash(ptx(block_128, "BLOCK")));
  CHECK(code_hash(ptx(block_64 + ".global .u64 P = BLOCK;\n", "P")) !=
        code_hash(ptx(block_128 + ".global .u64 P = BLOCK;\n", "P")));
}

TEST_CASE("facts of a kernel are those of its source") {
  const auto result = build(
      "struct Big { char bytes[128]; };\n"
      "template <class T> __global__ void __launch_bounds__(256) k(T* out, const __grid_constant__ Big big, "
      "int n, double d) {\n"
      "  __shared__ T tile[300];\n"
      "  tile[threadIdx.x] = out[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  out[threadIdx.x] = tile[n - threadIdx.x] + T(d) + T(big.bytes[n]);\n"
      "}\n"
      "extern \"C\" __global__ void plain() {}\n",
      {"k<float>", "plain"});
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.kernels.size() == 2);
  const auto& kernel = result.kernels[0];
  CHECK(kernel.expression == "k<float>");
  CHECK(kernel.lowered_name.starts_with("_Z1kIf"));
  CHECK(kernel.static_shared_bytes == 1200);
  CHECK(kernel.barriers == 1);
  CHECK(kernel.registers > 5);
  CHECK(kernel.spill_store_bytes == 0);
  CHECK(kernel.parameter_types == std::vector<std::string>{"u64", "b8[128]", "u32", "f64"});
  CHECK(kernel.max_threads == 256);
  CHECK(result.kernels[1].lowered_name == "plain");
  CHECK(result.kernels[1].parameter_types.empty());
  CHECK(result.kernels[1].max_threads == 0);
  CHECK(result.log.empty());
}

TEST_CASE("spills and stack of a kernel short of registers are reported") {
  auto unit = unit_of(
      "extern \"C\" __global__ void k(volatile float* x) {\n"
      "  float v[64];\n"
      "  for (int i = 0; i < 64; ++i) v[i] = x[i];\n"
      "  __syncthreads();\n"
      "  for (int i = 63; i >= 0; --i) x[i] = v[i];\n"
      "}\n");
  unit.options.push_back("--maxrregcount=24");
  const auto result = compiler().compile(unit);
  REQUIRE(result.outcome.status == Status::ok);
  CHECK(result.kernels[0].registers <= 24);
  CHECK(result.kernels[0].spill_store_bytes > 0);
  CHECK(result.kernels[0].spill_load_bytes > 0);
  CHECK(result.kernels[0].stack_bytes > 0);
}

TEST_CASE("errors carry line and column of the candidate") {
  const auto result =
      build("#line 1 \"k.cu\"\n__global__ void k(float* x) {\n  x[0] = 1;\n    x[1] = undefined_name;\n}\n");
  CHECK(result.outcome.status == Status::compile_error);
  CHECK(result.outcome.stage == StageId::build);
  REQUIRE_FALSE(result.outcome.diagnostics.empty());
  const auto& first = result.outcome.diagnostics.front();
  CHECK(first.severity == "error");
  CHECK(first.message == "identifier \"undefined_name\" is undefined");
  CHECK(first.line == 3);
  CHECK(first.column == 12);
  CHECK(result.outcome.message == first.message);
  CHECK(result.cubin.empty());
}

TEST_CASE("an error says which arguments a call has, and why a function does not take them") {
  const auto result = build(
      "template <class T> __device__ void put(T* to, int x) { *to = x; }\n"
      "__global__ void k(float* x) {\n  float a[4];\n  put(x, a);\n}\n");
  REQUIRE(result.outcome.diagnostics.size() == 1);
  const Diagnostic& error = result.outcome.diagnostics.front();
  CHECK(error.line == 4);
  CHECK(error.message.find("; argument types are: (float *, float [4])") != std::string::npos);
  CHECK(error.message.find("argument #2 does not match parameter") != std::string::npos);
}

TEST_CASE("a warning about a constant that the harness declares is none of the candidate's") {
  const std::string log =
      "tunables_and_params(3): warning #177-D: variable \"BLOCK\" was declared but never referenced\n"
      "k.cu(7): warning #177-D: variable \"x\" was declared but never referenced\n"
      "tunables_and_params(4): error: expected an expression\n";
  const auto found = parse_compile_log(log, "k.cu");
  REQUIRE(found.size() == 2);
  CHECK(found[0].message == "expected an expression (tunables_and_params line 4)");
  CHECK(found[1].line == 7);
}

TEST_CASE("warnings of a kernel that builds are kept, ptxas's report is not") {
  const auto result = build("extern \"C\" __global__ void k(int* x) { int unused; x[0] = 1; }\n");
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.outcome.diagnostics.size() == 1);
  CHECK(result.outcome.diagnostics[0].severity == "warning");
  CHECK(result.outcome.diagnostics[0].line == 1);
  CHECK(result.log.find("unused") != std::string::npos);
  CHECK(result.log.find("ptxas") == std::string::npos);
}

TEST_CASE("what ptxas reports of a loss of performance is a warning") {
  const auto result = build(R"(
extern "C" __global__ void k(float* x, unsigned long long a, unsigned long long b) {
  float d[4] = {x[0], x[1], x[2], x[3]};
  for (int i = 0; i < 2; ++i) {
    asm volatile("wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + i), "l"(b));
    d[0] += 1.0f;
  }
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 4; ++i) x[threadIdx.x * 4 + i] = d[i];
})");
  REQUIRE(result.outcome.status == Status::ok);
  REQUIRE(result.outcome.diagnostics.size() == 1);
  CHECK(is_slow_code(result.outcome.diagnostics[0]));
  CHECK_THAT(result.outcome.diagnostics[0].message,
             Catch::Contains("wgmma.mma_async instructions are serialized"));
}

TEST_CASE("more static shared memory than a block may have exceeds resources") {
  const auto result = build(
      "extern \"C\" __global__ void k(float* x) { __shared__ float t[60000]; t[threadIdx.x] = x[0]; "
      "__syncthreads(); "
      "x[1] = t[5]; }\n");
  CHECK(result.outcome.status == Status::resource_exceeded);
  CHECK(result.outcome.stage == StageId::resources);
  CHECK(result.outcome.message.find("shared data") != std::string::npos);
}

TEST_CASE("a launch plan that names no kernel of the source is an error in words") {
  for (const char* name : {"missing", "k<float", "helper"}) {
    INFO(name);
    const auto result = build(
        "__device__ int helper(int x) { return x; } template <class T> __global__ void k(T*) {}", {name});
    CHECK((result.outcome.status == Status::compile_error ||
           result.outcome.status == Status::invalid_candidate));
    CHECK_FALSE(result.outcome.message.empty());
  }
}

TEST_CASE("a message about a header names the header, not a line of the candidate") {
  const auto found =
      parse_compile_log("/usr/include/x.h(7): error: \"y\" is wrong\nk.cu(3): warning #20-D: z\n", "k.cu");
  REQUIRE(found.size() == 2);
  CHECK(found[0].line == 0);
  CHECK(found[0].message == "\"y\" is wrong (/usr/include/x.h line 7)");
  CHECK(found[1].line == 3);
}

}  // namespace ak::runtime
