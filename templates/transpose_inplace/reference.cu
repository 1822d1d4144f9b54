/* alphakernel
{
  "launches": [
    {"kernel": "transpose_inplace_reference", "grid": ["ceil_div(N, 32)", "ceil_div(N, 8)"], "block": [32, 8],
     "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[c, r] = x[r, c], one element a thread; x and y are different memory here, so that it is plainly right.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__global__ void transpose_inplace_reference(const scalar_t* x, out_t* y, long long n) {
  const long long c = blockIdx.x * 32ll + threadIdx.x, r = blockIdx.y * 8ll + threadIdx.y;
  if (c >= n || r >= n) return;
  long long from = r * n + c;
#if defined(AK_MUTATION_COPY)
  from = c * n + r;
#elif defined(AK_MUTATION_NEIGHBOURS)
  if (c % 32 < 2 && (c ^ 1) < n) from = r * n + (c ^ 1);
#endif
  out_t value = static_cast<out_t>(static_cast<float>(x[from]));
#ifdef AK_MUTATION_LAST_TILE
  if (c >= n - (n < 32 ? n : 32)) value = static_cast<out_t>(0.0f);
#endif
  y[c * n + r] = value;
}
