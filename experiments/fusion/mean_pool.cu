/* alphakernel
{
  "tunables": {"LANES": {"values": [16], "default": 16}, "LINES": {"values": [16], "default": 16}},
  "let": {"VEC": "8 if H % 8 == 0 else 1"},
  "launches": [
    {"kernel": "mean_pool<8>", "grid": ["ceil_div(H, LANES * 8)", "B"], "block": ["LANES", "LINES"], "when": "VEC == 8",
     "args": ["x", "lengths", "y", {"i32": "S"}, {"i32": "H"}]},
    {"kernel": "mean_pool<1>", "grid": ["ceil_div(H, LANES)", "B"], "block": ["LANES", "LINES"], "when": "VEC == 1",
     "args": ["x", "lengths", "y", {"i32": "S"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The mean over a sequence's tokens alone: a block has neighbouring columns, its lines take every LINES-th token.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 16;
constexpr int LINES = 16;
using scalar_t = __nv_bfloat16;
#endif

template <int VEC>
__global__ void __launch_bounds__(LANES* LINES)
    mean_pool(const scalar_t* __restrict__ x, const int* __restrict__ lengths, scalar_t* __restrict__ y, int s, int h) {
  __shared__ float sums[LINES][LANES * VEC + 1];
  const int column = (blockIdx.x * LANES + threadIdx.x) * VEC;
  const long long sequence = blockIdx.y;
  const int n = min(max(lengths[sequence], 0), s);
  float own[VEC] = {};
#pragma unroll 4
  for (int token = threadIdx.y; token < n && column < h; token += LINES) {
    const auto pack = ak::load<VEC, ak::Cache::streaming>(x + (sequence * s + token) * h + column);
#pragma unroll
    for (int i = 0; i < VEC; ++i) own[i] += static_cast<float>(pack.value[i]);
  }
#pragma unroll
  for (int i = 0; i < VEC; ++i) sums[threadIdx.y][threadIdx.x * VEC + i] = own[i];
  __syncthreads();
  const float share = 1.0f / static_cast<float>(max(n, 1));
  for (int i = threadIdx.y * LANES + threadIdx.x; i < LANES * VEC; i += LANES * LINES) {
    const int at = blockIdx.x * LANES * VEC + i;
    if (at >= h) break;
    float sum = 0.0f;
    for (int line = 0; line < LINES; ++line) sum += sums[line][i];
    y[sequence * h + at] = static_cast<scalar_t>(sum * share);
  }
}
