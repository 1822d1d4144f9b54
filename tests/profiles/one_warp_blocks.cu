/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 2048)"], "block": [32], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds with blocks of one warp: an SM takes 32 blocks, half of its warps. Loads wait for the ones before.
__global__ void k(const float* a, const float* b, float* c, long long n) {
  long long i = blockIdx.x * 2048LL + threadIdx.x;
#pragma unroll 1
  for (int step = 0; step < 64; ++step) {
    if (i >= n) return;
    const float sum = a[i] + b[i];
    c[i] = sum;
    i += 32 + (sum == 1.2345e30f);  // never
  }
}
