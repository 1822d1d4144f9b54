/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with two products and a minimum in turns next to it: no unit is full, the schedulers are.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i], limit = fabsf(value) + 1.0f;
  float chains[4] = {0.1f, 0.2f, 0.3f, 0.4f};
#pragma unroll
  for (int j = 0; j < 48; ++j)
    for (int c = 0; c < 4; ++c) chains[c] = fminf(fmaf(fmaf(chains[c], limit, 0.5f), limit, 0.25f), limit);
  y[i] = chains[0] + chains[1] + chains[2] + chains[3] < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
