/* alphakernel
{
  "constraints": ["dtype == 'float32'", "N % 4 == 0"],
  "launches": [{"kernel": "softmax_one_warp<4>", "grid": ["ceil_div(M, 4)"], "block": [128],
                "args": ["x", "y", {"i32": "M"}, {"i32": "N"}]}]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A warp a row, in two walks over it: the first keeps a running maximum and sum, the second writes. Left over from
// another kernel: macros for matrix units and a pipeline, and a helper with atomics, which nothing uses.
#ifndef ALPHAKERNEL
using scalar_t = float;
#endif

#define PIPELINE_STAGES 4
#define MMA_16816(d, a, b) asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 ..." ::: "memory")

__device__ __forceinline__ void raise_to(int* p, int v) { atomicMax(p, v); }

template <int ROWS>
__global__ void softmax_one_warp(const float* __restrict__ x, float* __restrict__ y, int m, int n) {
  const int lane = threadIdx.x & 31;
  const long long row = (long long)blockIdx.x * ROWS + (threadIdx.x >> 5);
  if (row >= m) return;
  const float4* from = reinterpret_cast<const float4*>(x + row * n);
  float top = -3.0e38f, sum = 0.0f;
  for (int i = lane; i < n / 4; i += 32) {
    const float4 v = __ldg(from + i);
    const float higher = fmaxf(top, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    sum = sum * __expf(top - higher) + __expf(v.x - higher) + __expf(v.y - higher) + __expf(v.z - higher) + __expf(v.w - higher);
    top = higher;
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    const float other = __shfl_xor_sync(~0u, top, mask), of_other = __shfl_xor_sync(~0u, sum, mask);
    const float higher = fmaxf(top, other);
    sum = sum * __expf(top - higher) + of_other * __expf(other - higher);
    top = higher;
  }
  const float scale = 1.0f / sum;
  float4* to = reinterpret_cast<float4*>(y + row * n);
  for (int i = lane; i < n / 4; i += 32) {
    float4 v = __ldg(from + i);
    v.x = __expf(v.x - top) * scale;
    v.y = __expf(v.y - top) * scale;
    v.z = __expf(v.z - top) * scale;
    v.w = __expf(v.w - top) * scale;
    to[i] = v;
  }
}
