/* alphakernel
{
  "launches": [
    {"kernel": "swiglu_reference", "grid": ["ceil_div(N, 16)", "ceil_div(M, 16)"], "block": [16, 16],
     "args": ["x", "gate", "up", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, n] = f(g) u, where g is the sum over k of x[m, k] gate[n, k] and u that of x[m, k] up[n, k]. One result a
// thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/plain_product.cuh>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t = double;
#endif

__device__ accum_t widen(scalar_t x) { return static_cast<accum_t>(static_cast<float>(x)); }

// What a running sum is kept as.
__device__ accum_t keep(accum_t sum) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__uint_as_float(__float_as_uint(static_cast<float>(sum)) & 0xffff0000u));
#else
  return sum;
#endif
}

// What the function of the gate lets through of it.
__device__ accum_t share(accum_t x) {
#if defined(AK_FUNCTION_GELU)
  return accum_t(0.5) * erfc(-x * accum_t(0.70710678118654752440));
#elif defined(AK_FUNCTION_GELU_TANH)
  // 1 + tanh(u) = 2 / (1 + exp(-2 u)), which does not cancel for u < 0.
  const accum_t u = accum_t(0.79788456080286535588) * (x + accum_t(0.044715) * x * x * x);
  return accum_t(1) / (accum_t(1) + exp(accum_t(-2) * u));
#else
  return accum_t(1) / (accum_t(1) + exp(-x));
#endif
}

__device__ accum_t gated(accum_t gate, accum_t up) {
#if defined(AK_MUTATION_NO_GATE)
  return gate * up;
#elif defined(AK_MUTATION_RELU)
  return gate > accum_t(0) ? gate * up : accum_t(0);
#elif defined(AK_MUTATION_SIGMOID)
  return share(gate) * up;
#elif defined(AK_MUTATION_SWAPPED)
  return share(up) * up * gate;
#else
  return share(gate) * gate * up;
#endif
}

__global__ void swiglu_reference(const scalar_t* x, const scalar_t* gate, const scalar_t* up, out_t* y, long long m,
                                 long long n, long long k) {
  const long long row = blockIdx.y * 16ll + threadIdx.y, column = blockIdx.x * 16ll + threadIdx.x;
  const long long line = blockIdx.x * 16ll + threadIdx.y;  // of the weights, that this thread loads
  const bool counts = row < m && column < n;
#ifdef AK_MUTATION_LAST_K
  const long long end = k - (k + 15) / 16;
#elif defined(AK_MUTATION_SHORT_TAIL)
  const long long end = k % 8 == 0 ? min(k, k / 64 * 64 + 8) : k;
#else
  const long long end = k;
#endif
  accum_t of_gate = 0, of_up = 0;
  const auto element_of_x = [&](long long i) { return row < m ? widen(x[row * k + i]) : accum_t(0); };
  ak::plain_product<accum_t>(
      end, counts, element_of_x, [&](long long i) { return line < n ? widen(gate[line * k + i]) : accum_t(0); },
      [&](long long, accum_t left, accum_t right) { of_gate = keep(of_gate + left * right); });
  ak::plain_product<accum_t>(
      end, counts, element_of_x, [&](long long i) { return line < n ? widen(up[line * k + i]) : accum_t(0); },
      [&](long long, accum_t left, accum_t right) { of_up = keep(of_up + left * right); });
  if (!counts) return;
  accum_t result = gated(of_gate, of_up);
#ifdef AK_MUTATION_LAST_TILE
  if (column >= n - (n < 16 ? n : 16)) result = 0;
#endif
  y[row * n + column] = static_cast<out_t>(result);
}
