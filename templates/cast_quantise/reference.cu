/* alphakernel
{
  "let": {"WIDTH": "128 if scales == 'block' else N"},
  "launches": [
    {"kernel": "cast_reference", "grid": ["M"], "block": [256],
     "args": ["x", {"optional": "scale"}, "y", {"optional": "row_scales"}, {"i64": "N"}, {"i64": "WIDTH"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x over the given scale, or over that of its row or its block of columns: the largest magnitude there over the largest
// code. One block a row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using out_t_y = double;
using out_t_row_scales = double;
#define AK_EXACT 1
#define AK_TO_FLOAT8_E4M3FN 1
#endif

#ifdef AK_EXACT
using real_t = double;
#else
using real_t = float;
#endif

#if defined(AK_TO_INT8)
constexpr real_t LARGEST = 127, LOWEST = -128;
#elif defined(AK_TO_FLOAT8_E5M2)
constexpr real_t LARGEST = 57344, LOWEST = -57344;
#else
constexpr real_t LARGEST = 448, LOWEST = -448;
#endif

__device__ real_t read(const scalar_t* x, long long i) { return static_cast<real_t>(static_cast<float>(x[i])); }
__device__ real_t maximum(real_t a, real_t b) { return a < b ? b : a; }

// The largest over the 256 threads of the block, in all of them.
__device__ real_t largest_of_block(real_t value) {
  __shared__ real_t shared[256];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] = maximum(shared[threadIdx.x], shared[threadIdx.x + half]);
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
  return value;
}

// The code of a normal number, with ties away from zero.
__device__ real_t half_away(real_t value) {
#ifdef AK_TO_INT8
  return round(value);
#else
#ifdef AK_TO_FLOAT8_E5M2
  constexpr unsigned int kHalf = 1u << 20;
#else
  constexpr unsigned int kHalf = 1u << 19;
#endif
  const unsigned int bits = __float_as_uint(static_cast<float>(value));
  return static_cast<real_t>(__uint_as_float((bits + kHalf) & ~(2 * kHalf - 1)));
#endif
}

__device__ real_t code(real_t value) {
#ifdef AK_MUTATION_CUT_OFF
  value *= real_t(0.97);  // below the nearest code as often as not
#endif
#ifdef AK_MUTATION_COARSE_QUOTIENT
#ifdef AK_DTYPE_BFLOAT16
  value = static_cast<real_t>(__bfloat162float(__float2bfloat16(static_cast<float>(value))));
#else
  value = static_cast<real_t>(__half2float(__float2half(static_cast<float>(value))));
#endif
#endif
#if defined(AK_MUTATION_HALF_AWAY)
  value = half_away(value);
#elif defined(AK_TO_INT8)
  value = rint(value);
#endif
#ifdef AK_MUTATION_HALF_RANGE
  return maximum(LOWEST / 2, value < LARGEST / 2 ? value : LARGEST / 2);
#else
  return maximum(LOWEST, value < LARGEST ? value : LARGEST);
#endif
}

// width: columns that share a scale.
__global__ void cast_reference(const scalar_t* x, const float* scale, out_t_y* y, out_t_row_scales* row_scales,
                               long long n, long long width) {
  const long long row = blockIdx.x, start = row * n;
  for (long long first = 0; first < n; first += width) {
    const long long last = first + width < n ? first + width : n;
    real_t divisor = 1;
    if (scale != nullptr) {
#ifdef AK_MUTATION_NO_SCALE
      divisor = static_cast<real_t>(1);
#else
      divisor = static_cast<real_t>(*scale);
#endif
    } else {
#if defined(AK_MUTATION_LAST_TILE)
      const long long end = last - (last - first < 32 ? (last - first) / 2 : 16);
#else
      const long long end = last;
#endif
      real_t largest = 0;
      for (long long i = first + threadIdx.x; i < end; i += 256) {
#ifdef AK_MUTATION_SIGNED_LARGEST
        largest = maximum(largest, read(x, start + i));
#else
        largest = maximum(largest, fabs(read(x, start + i)));
#endif
      }
      largest = largest_of_block(largest);
#ifdef AK_MUTATION_NO_FLOOR
      const real_t least = 0;
#else
      const real_t least = 0x1p-100;
#endif
      divisor = maximum(largest, least) / LARGEST;
      if (threadIdx.x == 0) {
        row_scales[row * ((n + width - 1) / width) + first / width] = static_cast<out_t_row_scales>(divisor);
      }
    }
    for (long long i = first + threadIdx.x; i < last; i += 256) {
      y[start + i] = static_cast<out_t_y>(code(read(x, start + i) / divisor));
    }
  }
}
