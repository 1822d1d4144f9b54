/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with some 12,000 different instructions in a row next to it: more than instruction caches hold.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  float chain = fabsf(value);
#pragma unroll
  for (int j = 0; j < 12288; ++j) chain = fmaf(chain, 0.5f, 1.0f + float(j));
  y[i] = chain < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
