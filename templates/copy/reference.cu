/* alphakernel
{
  "let": {"BLOCKS": "min(ceil_div(N, 256), 65536)"},
  "launches": [
    {"kernel": "copy_reference", "grid": ["BLOCKS"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[i] = x[i], one element a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ float read(const scalar_t* x, long long i, long long n) {
#ifdef AK_MUTATION_NEIGHBOURS
  if ((i ^ 1) < n) i ^= 1;
#endif
#ifdef AK_MUTATION_LAST_TILE
  if (i >= n - (n < 256 ? n : 256)) return 0.0f;
#endif
  const float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  return __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#else
  return value;
#endif
}

__global__ void copy_reference(const scalar_t* x, out_t* y, long long n) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride)
    y[i] = static_cast<out_t>(read(x, i, n));
}
