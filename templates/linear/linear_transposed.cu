/* alphakernel
{
  "tunables": {
    "BLOCK": {"values": [64, 128, 256], "default": 128},
    "ROWS": {"values": [1, 4, 8], "default": 4}
  },
  "workspace": [
    {"name": "columns", "dtype": "dtype", "count": "N * K", "prepared": true}
  ],
  "prepare": [
    {"kernel": "transpose_weight", "grid": ["ceil_div(K, 32)", "ceil_div(N, 32)"], "block": [32, 8],
     "args": ["weight", "columns", {"i64": "N"}, {"i64": "K"}]}
  ],
  "launches": [
    {"kernel": "linear", "grid": ["ceil_div(N, BLOCK)", "ceil_div(M, ROWS)"], "block": ["BLOCK"],
     "args": ["x", "columns", "bias", "y", {"i64": "M"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation(x weight^T + bias). The weights are transposed once, in `prepare`, so that neighbouring threads, which
// make neighbouring columns of the result, read neighbouring weights. A thread makes ROWS results of one column; all
// threads of a warp read the same element of x.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>

#ifndef ALPHAKERNEL
constexpr int BLOCK = 128;
constexpr int ROWS = 4;
using scalar_t = float;
#endif

__global__ void transpose_weight(const scalar_t* weight, scalar_t* columns, long long n, long long k) {
  __shared__ scalar_t tile[32][33];
  const long long first_k = blockIdx.x * 32ll, first_n = blockIdx.y * 32ll;
  for (int i = threadIdx.y; i < 32; i += 8)
    if (first_n + i < n && first_k + threadIdx.x < k)
      tile[i][threadIdx.x] = weight[(first_n + i) * k + first_k + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < 32; i += 8)
    if (first_k + i < k && first_n + threadIdx.x < n)
      columns[(first_k + i) * n + first_n + threadIdx.x] = tile[threadIdx.x][i];
}

__device__ __forceinline__ float activate(float x) {
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(x);
#elif defined(AK_ACTIVATION_GELU)
  return ak::gelu(x);
#elif defined(AK_ACTIVATION_SILU)
  return ak::silu(x);
#else
  return x;
#endif
}

__global__ void __launch_bounds__(BLOCK)
    linear(const scalar_t* x, const scalar_t* columns, const scalar_t* bias, scalar_t* y, long long m, long long n,
           long long k) {
  const long long column = blockIdx.x * static_cast<long long>(BLOCK) + threadIdx.x;
  const long long first = blockIdx.y * static_cast<long long>(ROWS);
  if (column >= n) return;
  float sums[ROWS] = {};
  for (long long i = 0; i < k; ++i) {
    const float factor = static_cast<float>(columns[i * n + column]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
      if (first + r < m) sums[r] += static_cast<float>(x[(first + r) * k + i]) * factor;
  }
  const float offset = static_cast<float>(bias[column]);
#pragma unroll
  for (int r = 0; r < ROWS; ++r)
    if (first + r < m) y[(first + r) * n + column] = static_cast<scalar_t>(activate(sums[r] + offset));
}
