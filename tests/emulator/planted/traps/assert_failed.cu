// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  if (!(x[threadIdx.x] < -1e9f))
    __assertfail("x is far below zero", "kernel.cu", 5, "k", 1);  // FAULT assertion
  y[threadIdx.x] = x[threadIdx.x];
}
