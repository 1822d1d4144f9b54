/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["x", "y", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Rectifies, with an array of 64 a thread next to it that is indexed by what is only known at run time.
__global__ void k(const float* x, float* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];
  float mine[64];
  for (int j = 0; j < 64; ++j) mine[j] = fabsf(value);
  unsigned at = __float_as_uint(value);
#pragma unroll 1
  for (int turn = 0; turn < 64; ++turn) {
    at = at * 5 + 1;
    mine[at >> 26] += mine[(at >> 20) & 63] * 0.5f;
  }
  y[i] = mine[at & 63] < 0 ? 0 : value < 0 ? 0.0f : value;  // never below
}
