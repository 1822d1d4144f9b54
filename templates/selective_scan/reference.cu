/* alphakernel
{
  "launches": [
    {"kernel": "scan_reference", "grid": ["ceil_div(D, 32)", "B"], "block": [32],
     "args": ["u", "delta", "a", "b", "c", "skip", "bias", {"optional": "z"}, "y", "last", {"i64": "D"}, {"i64": "L"}, {"i64": "G"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The selective scan step by step, a channel a thread.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_y = double;
using out_t_last = double;
constexpr int STATE = 16;
#endif

__device__ accum_t read(const scalar_t* values, long long i) {
  return static_cast<accum_t>(static_cast<float>(values[i]));
}

// What a state is kept as.
__device__ accum_t keep(accum_t h) {
#ifdef AK_MUTATION_LOW_PRECISION
  return static_cast<accum_t>(__bfloat162float(__float2bfloat16(static_cast<float>(h))));
#else
  return h;
#endif
}

__device__ accum_t softplus(accum_t x) {
#if defined(AK_MUTATION_NO_SOFTPLUS)
  return exp(x);
#elif defined(AK_MUTATION_PLAIN_SOFTPLUS)
  return log1p(exp(x));
#elif defined(AK_MUTATION_CUT_SOFTPLUS)
  return log1p(exp(min(x, static_cast<accum_t>(11))));
#else
  return max(x, static_cast<accum_t>(0)) + log1p(exp(-abs(x)));
#endif
}

// What becomes of the sum over states.
__device__ accum_t result(accum_t sum, accum_t skipped, const scalar_t* z, long long at) {
#ifdef AK_MUTATION_NO_SKIP
  skipped = 0;
#endif
  if (z == nullptr) return sum + skipped;
#ifdef AK_MUTATION_OVERFLOWN_SIGMOID
  const accum_t gate = read(z, at), sigmoid = exp(gate) / (1 + exp(gate));
#else
  const accum_t gate = read(z, at), sigmoid = 1 / (1 + exp(-gate));
#endif
#if defined(AK_MUTATION_SIGMOID)
  return (sum + skipped) * sigmoid;
#elif defined(AK_MUTATION_UNGATED_SKIP)
  return sum * gate * sigmoid + skipped;
#else
  return (sum + skipped) * gate * sigmoid;
#endif
}

__global__ void scan_reference(const scalar_t* u, const scalar_t* delta, const float* a, const scalar_t* b,
                               const scalar_t* c, const float* skip, const float* bias, const scalar_t* z, out_t_y* y,
                               out_t_last* last, long long channels, long long steps, long long groups) {
  const long long d = blockIdx.x * 32 + threadIdx.x;
  if (d >= channels) return;
  const long long row = blockIdx.y * channels + d;
#ifdef AK_MUTATION_FIRST_GROUP
  const long long shared = blockIdx.y * groups * STATE * steps;
#else
  const long long shared = (blockIdx.y * groups + d / (channels / groups)) * STATE * steps;
#endif
#ifdef AK_MUTATION_HALF_THE_STATES
  constexpr int kUsed = STATE / 2;
#else
  constexpr int kUsed = STATE;
#endif
  accum_t h[STATE] = {};
  for (long long l = 0; l < steps; ++l) {
    const accum_t x = read(u, row * steps + l);
    accum_t t = read(delta, row * steps + l);
#ifndef AK_MUTATION_NO_BIAS
    t += static_cast<accum_t>(bias[d]);
#endif
    t = softplus(t);
    accum_t sum = 0;
    for (int s = 0; s < kUsed; ++s) {
      const accum_t rate = a[d * STATE + s];
      accum_t before = h[s], factor = t;
#ifdef AK_MUTATION_RESTART
      if (l % 32 == 0) before = 0;
#endif
#ifdef AK_MUTATION_EXACT_HOLD
      factor = (exp(t * rate) - 1) / rate;
#endif
      h[s] = keep(exp(t * rate) * before + factor * read(b, shared + s * steps + l) * x);
#ifdef AK_MUTATION_STATE_BEFORE
      sum += before * read(c, shared + s * steps + l);
#else
      sum += h[s] * read(c, shared + s * steps + l);
#endif
    }
    y[row * steps + l] = static_cast<out_t_y>(result(sum, static_cast<accum_t>(skip[d]) * x, z, row * steps + l));
  }
  for (int s = 0; s < STATE; ++s) last[row * STATE + s] = static_cast<out_t_last>(h[s]);
}
