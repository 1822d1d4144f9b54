/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 1024)"], "block": [1024], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies; between barriers one warp of 32 works and the others wait.
__global__ void __launch_bounds__(1024) k(const float* x, float* y, long long n) {
  __shared__ float turn_of[32];
  const long long i = blockIdx.x * 1024LL + threadIdx.x;
  const float value = i < n ? x[i] : 0.0f;
  float chain = fminf(fabsf(value), 1.0f);
  for (int turn = 0; turn < 32; ++turn) {
    if (threadIdx.x / 32 == turn) {
#pragma unroll 1
      for (int j = 0; j < 32; ++j) chain = fmaf(chain, 0.5f, 0.25f);
      if (threadIdx.x % 32 == 0) turn_of[turn] = chain;
    }
    __syncthreads();
  }
  if (i < n) y[i] = turn_of[threadIdx.x % 32] < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
