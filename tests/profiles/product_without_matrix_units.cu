/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 64)", "ceil_div(M, 64)"], "block": [256],
     "args": ["a", "b", "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A matrix product of bfloat16 in float32 arithmetic: 4 x 4 results a thread, tiles in shared memory.
#include <cuda_bf16.h>

__global__ void __launch_bounds__(256) k(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                                         int n, int k_size) {
  __shared__ float left[16][68], right[16][64];
  const int row0 = blockIdx.y * 64, column0 = blockIdx.x * 64, t = threadIdx.x, tx = t % 16, ty = t / 16;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < k_size; k0 += 16) {
    for (int e = t; e < 1024; e += 256) {
      const int row = row0 + e / 16, inner = k0 + e % 16;
      left[e % 16][e / 16] = row < m && inner < k_size ? float(a[(long long)row * k_size + inner]) : 0.0f;
      const int column = column0 + e % 64, depth = k0 + e / 64;
      right[e / 64][e % 64] = column < n && depth < k_size ? float(b[(long long)depth * n + column]) : 0.0f;
    }
    __syncthreads();
    for (int s = 0; s < 16; ++s) {
      float l[4], r[4];
      for (int i = 0; i < 4; ++i) l[i] = left[s][ty * 4 + i], r[i] = right[s][tx * 4 + i];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += l[i] * r[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = row0 + ty * 4 + i, column = column0 + tx * 4 + j;
      if (row < m && column < n) c[(long long)row * n + column] = __float2bfloat16(sums[i][j]);
    }
}
