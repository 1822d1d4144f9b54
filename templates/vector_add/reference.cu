/* alphakernel
{
  "let": {"BLOCKS": "min(ceil_div(N, 256), 65536)"},
  "launches": [
    {"kernel": "vector_add_reference", "grid": ["BLOCKS"], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c[i] = a[i] + b[i], one element a thread at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ accum_t read(const scalar_t* x, long long i) {
  float value = static_cast<float>(x[i]);
#ifdef AK_MUTATION_LOW_PRECISION
  value = __uint_as_float(__float_as_uint(value) & 0xfff00000u);  // sign, exponent, 3 bits of mantissa
#endif
  return static_cast<accum_t>(value);
}

__global__ void vector_add_reference(const scalar_t* a, const scalar_t* b, out_t* c, long long n) {
#ifdef AK_MUTATION_LAST_TILE
  const long long end = n - (n < 256 ? n : 256);
#else
  const long long end = n;
#endif
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
#ifdef AK_MUTATION_NO_B
    const accum_t sum = read(a, i);
#else
    const accum_t sum = read(a, i) + read(b, i);
#endif
    c[i] = static_cast<out_t>(i < end ? sum : accum_t(0));
  }
}
