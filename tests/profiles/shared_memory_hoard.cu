/* alphakernel
{
  "launches": [
    {"kernel": "k", "grid": ["ceil_div(N, 8192)"], "block": [128],
     "args": ["a", "b", "c", {"i64": "N"}], "shared_bytes": 204800}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Adds with 200 KB of shared memory a block: 4 warps an SM.
__global__ void k(const float* a, const float* b, float* c, long long n) {
  extern __shared__ float mine[];
#pragma unroll 1
  for (int step = 0; step < 64; ++step) {
    const long long i = (blockIdx.x * 64LL + step) * 128 + threadIdx.x;
    if (i >= n) return;
    mine[threadIdx.x] = a[i] + b[i];
    c[i] = mine[threadIdx.x];
  }
}
