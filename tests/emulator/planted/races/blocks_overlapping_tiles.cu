// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [64], "args": [{"in": 128}, {"out": 96}]}
extern "C" __global__ void k(const float* x, float* y) {
  y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // FAULT global_conflict
}
