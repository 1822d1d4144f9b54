/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["M"], "block": [1024], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Softmax that reads each row three times, rows being too long for caches.
__device__ float of_block(float value, bool most) {
  __shared__ float values[32];
  for (int d = 16; d > 0; d /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, d);
    value = most ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = value;
  __syncthreads();
  value = values[0];
  for (int j = 1; j < 32; ++j) value = most ? fmaxf(value, values[j]) : value + values[j];
  return value;
}

__global__ void __launch_bounds__(1024) k(const float* x, float* y, long long n) {
  const float* row = x + blockIdx.x * n;
  float most = -INFINITY, sum = 0;
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += 1024) most = fmaxf(most, row[i]);
  most = of_block(most, true);
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += 1024) sum += expf(row[i] - most);
  const float scale = 1 / of_block(sum, false);
#pragma unroll 4
  for (long long i = threadIdx.x; i < n; i += 1024) y[blockIdx.x * n + i] = expf(row[i] - most) * scale;
}
