/* alphakernel
{
  "options": ["maxrregcount=32"],
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with 96 sums next to it that 32 registers do not hold.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  float sums[96];
#pragma unroll
  for (int j = 0; j < 96; ++j) sums[j] = fabsf(value) * j;
#pragma unroll 1
  for (int turn = 0; turn < 8; ++turn) {
#pragma unroll
    for (int j = 0; j < 96; ++j) sums[j] = sums[j] * 0.5f + sums[(j + 37) % 96];
  }
  float least = 0;
#pragma unroll
  for (int j = 0; j < 96; ++j) least = fminf(least, sums[j]);
  y[i] = least < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
