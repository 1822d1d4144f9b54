// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32, "read_only": true}, {"out": 32}]}
extern "C" __global__ void k(float* x, float* y) {
  x[threadIdx.x] *= 0.5f;  // FAULT read_only
  y[threadIdx.x] = x[threadIdx.x];
}
