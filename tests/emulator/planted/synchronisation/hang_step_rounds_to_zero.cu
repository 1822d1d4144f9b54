// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}], "budget": 100000}
extern "C" __global__ void k(const float* x, float* y) {
  float at = 16777216.0f, sum = 0;
  while (at < 16777300.0f) {  // FAULT instruction_budget
    sum += x[threadIdx.x];
    at += 1.0f;  // FAULT instruction_budget
  }
  y[threadIdx.x] = sum;
}
