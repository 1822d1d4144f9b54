// SPDX-License-Identifier: Apache-2.0
// Kernels whose time is that of matrix instructions.
#include <fmt/format.h>

#include "codegen/source/assemble.h"
#include "tests/benchmarks/emulator_work.h"

namespace ak::benchmark {
namespace {

constexpr int kWgmmaColumns = 128;
constexpr int kWgmmaRegisters = kWgmmaColumns / 2;  // accumulators of one of 128 threads, 64 rows

constexpr std::string_view kWmma = R"(
#include <mma.h>
using namespace nvcuda;
__global__ void k(float* out, int rounds) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(a, __float2half(0.5f));
  wmma::fill_fragment(b, __float2half(0.25f));
  wmma::fill_fragment(c, 0.0f);
  for (int i = 0; i < rounds; ++i) wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(out + (blockIdx.x * 4 + threadIdx.x / 32) * 256, c, 16, wmma::mem_row_major);
}
)";

constexpr std::string_view kMma = R"(
__global__ void k(float* out, int rounds) {
  float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
  const unsigned a = 0x3f003f00u, b = 0x3e803e80u;
  for (int i = 0; i < rounds; ++i)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a), "r"(b));
  out[blockIdx.x * blockDim.x + threadIdx.x] = c0 + c1 + c2 + c3;
}
)";

// Matrices without swizzle: 8 x 16-byte cores, 128 bytes apart along k and 256 along m and n.
std::string wgmma_source() {
  std::string registers, outputs, sum;
  for (int i = 0; i < kWgmmaRegisters; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ",", i);
    outputs += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      R"(
__global__ void k(float* out, int rounds) {{
  __shared__ alignas(1024) unsigned short tiles[(64 + {0}) * 16];
  for (int i = threadIdx.x; i < (64 + {0}) * 16; i += 128) tiles[i] = 0x3800;
  asm volatile("fence.proxy.async;");
  __syncthreads();
  const unsigned long long fields = 8ull << 16 | 16ull << 32;
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(tiles));
  const unsigned long long a = fields | (at >> 4), b = fields | ((at + 2048) >> 4);
  float d[{1}] = {{}};
  asm volatile("wgmma.fence.sync.aligned;");
  for (int i = 0; i < rounds; ++i)
    asm volatile("wgmma.mma_async.sync.aligned.m64n{0}k16.f32.f16.f16 {{{2}}}, %{1}, %{3}, 1, 1, 1, 0, 0;"
        : {4} : "l"(a), "l"(b));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
  float sum = 0;
  for (int i = 0; i < {1}; ++i) sum += d[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}
)",
      kWgmmaColumns, kWgmmaRegisters, registers, kWgmmaRegisters + 1, outputs);
}

Work make_work(const std::string& name, const std::string& source, runtime::Compiler& compiler, int rounds) {
  constexpr std::uint32_t kThreads = 128, kBlocks = 4;
  TranslationUnit unit = codegen::assemble_plain("tensor.cu", source, {9, 0, 'a'});
  unit.kernels = {"k"};
  Work work(name, compiler, unit);
  work.add_memory("out", std::uint64_t{kBlocks} * kThreads / 32 * 256 * sizeof(float));
  ResolvedLaunch launch;
  launch.kernel = "k";
  launch.grid = {kBlocks, 1, 1};
  launch.block = {kThreads, 1, 1};
  launch.arguments = {ResolvedPointer{"out"}, ResolvedScalar{.type = ScalarType::i32, .integer = rounds}};
  work.add_launch(launch);
  return work;
}

}  // namespace

std::vector<WorkFactory> tensor_works(runtime::Compiler& compiler, bool quick) {
  const auto factory = [&](const std::string& name, const std::string& source, int rounds) {
    return WorkFactory{name,
                       [=, &compiler] { return make_work(name, source, compiler, quick ? 4 : rounds); }};
  };
  return {factory("wmma m16n16k16 f32 f16", std::string(kWmma), 8000),
          factory("mma m16n8k16 f32 bf16", std::string(kMma), 16000),
          factory(fmt::format("wgmma m64n{}k16 f32 f16", kWgmmaColumns), wgmma_source(), 1000)};
}

}  // namespace ak::benchmark
