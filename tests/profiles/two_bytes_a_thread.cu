/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies float16, one element of two bytes a thread.
#include <cuda_fp16.h>

__global__ void k(const __half* x, __half* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = __hmax_nan(x[i], __float2half(0.0f));
}
