/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies float32, with chains of products in float64 next to it.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const double value = x[i], factor = 0.25;
  double chains[4] = {0.1, 0.2, 0.3, 0.4 + fabs(value)};
#pragma unroll
  for (int j = 0; j < 24; ++j)
    for (int c = 0; c < 4; ++c) chains[c] = fma(chains[c], factor, chains[(c + 1) % 4]);
  y[i] = chains[0] + chains[1] + chains[2] + chains[3] < 0 ? 0 : x[i] < 0 ? 0.0f : x[i];  // never below
}
