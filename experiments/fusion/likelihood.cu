/* alphakernel
{
  "tunables": {"THREADS": {"values": [256], "default": 256}},
  "launches": [
    {"kernel": "loss", "grid": ["M"], "block": ["THREADS"],
     "args": ["log_p", "target", "ignore_index", "smoothing", "loss", {"i64": "M"}, {"i64": "N"}]},
    {"kernel": "gradient", "grid": ["ceil_div(N, THREADS * 8)", "M"], "block": ["THREADS"],
     "args": ["log_p", "target", "dloss", "ignore_index", "smoothing", "dlogits", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Losses from the logarithms of probabilities, and the gradient of the logits from these: what follows a log_softmax.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
using scalar_t = __nv_bfloat16;
#endif

__device__ __forceinline__ bool counts(long long target, long long ignored, long long n) {
  return target != ignored && target >= 0 && target < n;
}

// A block a row. Without smoothing one logarithm is read.
__global__ void __launch_bounds__(THREADS)
    loss(const scalar_t* __restrict__ log_p, const long long* __restrict__ target, long long ignored, float smoothing,
         float* __restrict__ losses, long long m, long long n) {
  __shared__ float parts[THREADS / 32];
  const long long row = blockIdx.x, wanted = target[row];
  const bool counted = counts(wanted, ignored, n);
  float sum = 0.0f;
  if (counted && smoothing != 0.0f)
    for (long long at = threadIdx.x; at < n; at += THREADS) sum += static_cast<float>(log_p[row * n + at]);
  sum = ak::reduce_lanes(sum, ak::Sum());
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0.0f;
  for (int part = 0; part < THREADS / 32; ++part) sum += parts[part];
  const float own = counted ? static_cast<float>(log_p[row * n + wanted]) : 0.0f;
  const float spread = smoothing != 0.0f ? smoothing * sum / static_cast<float>(n) : 0.0f;
  losses[row] = counted ? -((1.0f - smoothing) * own + spread) : 0.0f;
}

__global__ void __launch_bounds__(THREADS)
    gradient(const scalar_t* __restrict__ log_p, const long long* __restrict__ target, const float* __restrict__ dloss,
             long long ignored, float smoothing, scalar_t* __restrict__ dlogits, long long n) {
  const long long row = blockIdx.y, wanted = target[row];
  const bool counted = counts(wanted, ignored, n);
  const float slope = dloss[row], spread = smoothing / static_cast<float>(n);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const long long at = (blockIdx.x * 8ll + i) * THREADS + threadIdx.x;
    if (at >= n) continue;
    const float p = __expf(static_cast<float>(log_p[row * n + at]));
    const float one = at == wanted ? 1.0f - smoothing : 0.0f;
    dlogits[row * n + at] = static_cast<scalar_t>(counted ? slope * (p - one - spread) : 0.0f);
  }
}
