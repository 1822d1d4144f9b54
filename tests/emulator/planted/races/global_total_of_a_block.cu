// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [64], "args": [{"in": 256}, {"zero": 4}]}
// Every thread adds to its block's sum, which is in no one else's way, with a plain sum.
extern "C" __global__ void k(const float* x, float* sums) {
#ifdef FIXED
  atomicAdd(&sums[blockIdx.x], x[blockIdx.x * 64 + threadIdx.x]);
#else
  sums[blockIdx.x] += x[blockIdx.x * 64 + threadIdx.x];  // FAULT global_race
#endif
}
