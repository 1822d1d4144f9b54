// SPDX-License-Identifier: Apache-2.0
// The device headers of linear layers: linear_headers_test.cpp knows what they give.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_wgmma.cuh>
#include <ak/packed_weights.cuh>
#include <ak/wgmma_int8.cuh>

using Bfloats = ak::PlainWeights<ak::bf16>;
using Bytes = ak::PlainWeights<ak::s8>;
using BytesToHalves = ak::ByteWeights<ak::f16>;
using BytesToBfloats = ak::ByteWeights<ak::bf16>;
using FoursToHalves = ak::Int4Weights<ak::f16, true>;
using FoursToBfloats = ak::Int4Weights<ak::bf16, false>;

// ---- packed weights: one block of 64 lines, packed and read back as operands

template <class W>
__device__ unsigned int bits_of(int number) {
  if constexpr (W::kBits == 16) return __bfloat16_as_ushort(__int2bfloat16_rn(number));
  return number;
}
__device__ unsigned int half_bits(float x) { return __half_as_ushort(__float2half_rn(x)); }
__device__ unsigned int bfloat_bits(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }

// numbers, back: [64][kDepth]. Line i of int4 has the scale i % 3 + 1 and, where there are any, the zero point i % 16.
template <class W>
__global__ void fragments(const int* numbers, float* back) {
  __shared__ __align__(16) unsigned char block[W::kBytes];
  ak::pack_block<W>(block, [&](int line, int k) -> unsigned int { return bits_of<W>(numbers[line * W::kDepth + k]); });
  if constexpr (W::kBits == 4) {
    if (threadIdx.x < 64) {
      const int line = W::line_of_entry(threadIdx.x);
      const float scale = line % 3 + 1;
      W::put_line(block, threadIdx.x, ak::kSame<typename W::X, ak::f16> ? half_bits(scale) : bfloat_bits(scale), line % 16);
    }
  }
  __syncthreads();
  const int lane = threadIdx.x % 32, sixteen = threadIdx.x / 32;
  const ak::u32 address = ak::shared_address(block);
  const typename W::Lines lines = W::lines(address, sixteen);
  for (int unit = 0; unit < W::kUnits; ++unit) {
    const uint4 words = ak::load_words(address + (unit * 4 + sixteen) * 512 + lane * 16);
    for (int step = 0; step < W::kSteps; ++step) {
      ak::u32 a[4];
      W::fragment(a, words, step, lines);
      for (int r = 0; r < 4; ++r) {
        const int line = sixteen * 16 + lane / 4 + r % 2 * 8;
        const int k = unit * W::kUnitDepth + step * W::kStepDepth + r / 2 * (W::kStepDepth / 2) + lane % 4 * W::kElements;
        float* to = back + line * W::kDepth + k;
        if constexpr (W::kElements == 4) {
          for (int e = 0; e < 4; ++e) to[e] = static_cast<signed char>(a[r] >> 8 * e);
        } else {
          const float2 pair = ak::unpack_pair<typename W::X>(a[r]);
          to[0] = pair.x, to[1] = pair.y;
        }
      }
    }
  }
}

// ---- whole layers: weights of bytes, [lines][k], by rows of bytes

extern "C" {

__global__ void pack_bytes(const unsigned char* weight, unsigned char* packed, int lines, int k) {
  unsigned char* block = packed + (blockIdx.y * gridDim.x + blockIdx.x) * Bytes::kBytes;
  ak::pack_block<Bytes>(block, [&](int line, int at) -> unsigned int {
    const int row = blockIdx.y * 64 + line, column = blockIdx.x * 128 + at;
    return row < lines && column < k ? weight[row * k + column] : 0;
  });
}
// 128 threads, parts of k in blockIdx.y.
__global__ void by_mma(const signed char* x, const unsigned char* packed, int* parts, int rows, int lines, int k) {
  __shared__ __align__(128) unsigned char memory[3 * (16 + 64) * 128];
  const ak::StoreSums<int> store{parts + blockIdx.y * rows * lines, lines};
  ak::LinearMma<Bytes, 64, 16, 128, 32, 2, 3>::run<false, 2>(memory, x, packed, rows, lines, k, ak::NoScales(), store);
}
__global__ void add_two(const int* parts, float* y, int rows, int lines) {
  const auto store = ak::store_results(y, lines, ak::AsItIs());
  ak::add_parts<2>(parts, rows, lines, blockIdx.x * 32 + threadIdx.x, store);
}
__global__ void gated(const float* sums, float* y, int columns) {
  float sixteen[16];
  for (int i = 0; i < 16; ++i) sixteen[i] = sums[threadIdx.x * 16 + i];
  ak::StoreGated<float>{y, columns}(sixteen, 0, threadIdx.x * 16);
}

}  // extern "C"

// SPLIT_K or SHARE blocks of a cluster; CONSUMERS = 1.
template <int SPLIT_K, int SHARE>
__global__ void __launch_bounds__(256) by_wgmma(const __grid_constant__ CUtensorMap map_x, const unsigned char* packed,
                                                float* y, int rows, int lines, int k) {
  extern __shared__ __align__(1024) unsigned char dynamic_memory[];
  using Layer = ak::LinearWgmma<Bytes, 1, 1, 16, 128, 2, SPLIT_K, SHARE, 8>;
  Layer::run(dynamic_memory, &map_x, packed, rows, lines, k, ak::NoScales(), ak::store_results(y, lines, ak::AsItIs()));
}

// The same with results of 16 bits, which the threads that have the sums finish.
template <int CONSUMERS, int K_GROUPS, int BM, int SPLIT_K, int SHARE>
__global__ void __launch_bounds__((CONSUMERS + 1) * 128)
    by_exchange(const __grid_constant__ CUtensorMap map_x, const unsigned char* packed, __half* y, int rows, int lines,
                int k) {
  extern __shared__ __align__(1024) unsigned char dynamic_memory[];
  using Layer =
      ak::LinearWgmma<Bytes, CONSUMERS, 1, BM, 128, 3, SPLIT_K, SHARE, 8, K_GROUPS, 0, false, ak::LinearEnd::exchange>;
  Layer::run(dynamic_memory, &map_x, packed, rows, lines, k, ak::NoScales(), ak::store_results(y, lines, ak::AsItIs()));
}
