/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 16384)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies with loads that wait for each other: where the next one lies depends on the last.
__global__ void k(const float* x, float* y, long long n) {
  long long i = blockIdx.x * 16384LL + threadIdx.x;
#pragma unroll 1
  for (int step = 0; step < 64; ++step) {
    if (i >= n) return;
    const float value = x[i];
    y[i] = fmaxf(value, 0.0f);
    i += 256 + (value == 1.2345e30f);  // never
  }
}
