/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 1024)"], "block": [1024], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with 128 reads of shared memory a thread next to it, none of which meet at a bank.
constexpr int kFloats = 1024 + 128 * 32;

__global__ void __launch_bounds__(1024) k(const float* x, float* y, long long n) {
  __shared__ float tile[kFloats];
  const long long i = blockIdx.x * 1024LL + threadIdx.x;
  const float value = i < n ? x[i] : 0.0f;
  for (int j = threadIdx.x; j < kFloats; j += 1024) tile[j] = fabsf(value);
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 128; ++j) sum += tile[threadIdx.x + j * 32];
  if (i < n) y[i] = sum < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
