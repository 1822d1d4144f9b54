/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with a chain of products that the threads of a warp compute one after the other.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  float chain = fminf(fabsf(value), 1.0f);
#pragma unroll 1
  for (int turn = 0; turn < 32; ++turn) {
    if (threadIdx.x % 32 == turn) {
#pragma unroll 1
      for (int j = 0; j < 16; ++j) chain = fmaf(fmaf(chain, 0.5f, 0.25f), fmaf(chain, 0.125f, 0.5f), 0.125f);
    }
  }
  y[i] = chain < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
