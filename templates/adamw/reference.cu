/* alphakernel
{
  "launches": [
    {"kernel": "adamw_reference", "grid": ["ceil_div(N, 256)"], "block": [256],
     "args": ["param", "grad", "m", "v", "offsets", "decay", "grad_scale", "param_out", "m_out", "v_out", {"optional": "model"},
              "lr", "beta1", "beta2", "epsilon", "step", {"i64": "N"}, {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A step of AdamW, one weight a thread, whose tensor it finds by bisection.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
using scalar_t = float;
using accum_t = double;
using out_t_param_out = double;
using out_t_m_out = double;
using out_t_v_out = double;
using out_t_model = double;
#endif

#if AK_MASTER
using Weight = float;
#else
using Weight = scalar_t;
#endif

// The last tensor that begins at or before weight i.
__device__ int tensor_of(const long long* offsets, int tensors, long long i) {
#ifdef AK_MUTATION_NEXT_TENSOR
  if (i > 0) --i;
#endif
  int low = 0, high = tensors;  // it is low or later, and before high
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (offsets[middle] <= i ? low : high) = middle;
  }
  return low;
}

// A moment as it is kept.
__device__ accum_t keep(accum_t moment) {
#ifdef AK_MUTATION_ROUNDED_MOMENTS
  return static_cast<accum_t>(__bfloat162float(__float2bfloat16(static_cast<float>(moment))));
#else
  return moment;
#endif
}

// 1 - beta^step, also where beta is close to 1.
__device__ accum_t correction(accum_t beta, int step) {
#ifdef AK_MUTATION_NO_CORRECTION
  return 1;
#else
  return -expm1(static_cast<accum_t>(step) * log1p(beta - 1));
#endif
}

__global__ void adamw_reference(const Weight* param, const scalar_t* grad, const float* m, const float* v,
                                const long long* offsets, const float* decays, const float* grad_scale,
                                out_t_param_out* param_out, out_t_m_out* m_out, out_t_v_out* v_out, out_t_model* model,
                                float lr, float beta1, float beta2, float epsilon, int step, long long n, int tensors) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const accum_t b1 = beta1, b2 = beta2, rate = lr, old = static_cast<float>(param[i]);
#ifndef AK_MUTATION_PADDING_TOO
  if (i >= offsets[tensors]) {
    param_out[i] = static_cast<out_t_param_out>(old);
    m_out[i] = static_cast<out_t_m_out>(m[i]);
    v_out[i] = static_cast<out_t_v_out>(v[i]);
    if (model != nullptr) model[i] = static_cast<out_t_model>(old);
    return;
  }
#endif
#if defined(AK_MUTATION_NO_DECAY)
  const accum_t decay = 0;
#elif defined(AK_MUTATION_ONE_DECAY)
  const accum_t decay = decays[0];
#else
  const accum_t decay = decays[tensor_of(offsets, tensors, i)];
#endif
  accum_t g = static_cast<accum_t>(static_cast<float>(grad[i])) * static_cast<accum_t>(*grad_scale);
#ifdef AK_MUTATION_COUPLED_DECAY
  g += decay * old;
  accum_t w = old;
#else
  accum_t w = old - rate * decay * old;
#endif
#ifdef AK_MUTATION_UNSCALED_SQUARE
  const accum_t square = static_cast<accum_t>(static_cast<float>(grad[i])) * g;
#else
  const accum_t square = g * g;
#endif
  const accum_t old_m = m[i], old_v = v[i];
  const accum_t new_m = keep(b1 * old_m + (1 - b1) * g), new_v = keep(b2 * old_v + (1 - b2) * square);
#ifdef AK_MUTATION_OLD_MOMENTS
  const accum_t first = old_m / correction(b1, step), second = old_v / correction(b2, step);
#else
  const accum_t first = new_m / correction(b1, step), second = new_v / correction(b2, step);
#endif
#if defined(AK_MUTATION_EPSILON_INSIDE)
  w -= rate * first / sqrt(second + static_cast<accum_t>(epsilon));
#elif defined(AK_MUTATION_NO_EPSILON)
  w -= rate * first / sqrt(second);
#else
  w -= rate * first / (sqrt(second) + static_cast<accum_t>(epsilon));
#endif
  param_out[i] = static_cast<out_t_param_out>(w);
  m_out[i] = static_cast<out_t_m_out>(new_m);
  v_out[i] = static_cast<out_t_v_out>(new_v);
#ifdef AK_MUTATION_STALE_MODEL
  if (model != nullptr) model[i] = static_cast<out_t_model>(old);
#else
  if (model != nullptr) model[i] = static_cast<out_t_model>(w);
#endif
}
