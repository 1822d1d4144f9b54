/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 256)"], "block": [256], "args": ["a", "b", "c", {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds at addresses whose bits are interleaved and put back six times: integer work that leads nowhere.
__device__ unsigned spread(unsigned v) {
  v = (v | v << 8) & 0x00ff00ffu;
  v = (v | v << 4) & 0x0f0f0f0fu;
  v = (v | v << 2) & 0x33333333u;
  return (v | v << 1) & 0x55555555u;
}
__device__ unsigned gather(unsigned v) {
  v &= 0x55555555u;
  v = (v | v >> 1) & 0x33333333u;
  v = (v | v >> 2) & 0x0f0f0f0fu;
  v = (v | v >> 4) & 0x00ff00ffu;
  return (v | v >> 8) & 0x0000ffffu;
}

__global__ void k(const float* a, const float* b, float* c, long long n) {
  unsigned i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
#pragma unroll 1
  for (int turn = 0; turn < 6; ++turn) {
    const unsigned mixed = spread(i & 0xffffu) | spread(i >> 16) << 1;
    i = gather(mixed) | gather(mixed >> 1) << 16;
  }
  c[i] = a[i] + b[i];
}
