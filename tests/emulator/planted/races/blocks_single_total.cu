// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [32], "args": [{"in": 128}, {"zero": 1}]}
extern "C" __global__ void k(const float* x, float* y) {
  float v = x[blockIdx.x * 32 + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x == 0) y[0] += v;  // FAULT global_conflict
}
