/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies float16, with chains of products in scalar float16 arithmetic next to it.
#include <cuda_fp16.h>

__global__ void k(const __half* x, __half* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const __half value = x[i], zero = __float2half(0.0f);
  const __half factor = __float2half(0.5f), term = __float2half(0.25f);
  __half chains[4];
  for (int c = 0; c < 4; ++c) chains[c] = __hmin(__habs(value), __float2half(float(c + 1)));
#pragma unroll
  for (int j = 0; j < 64; ++j)
    for (int c = 0; c < 4; ++c) chains[c] = __hfma(chains[c], factor, term);
  const __half least = __hmin(__hmin(chains[0], chains[1]), __hmin(chains[2], chains[3]));
  y[i] = __hlt(least, zero) ? zero : __hlt(value, zero) ? zero : value;  // never below
}
