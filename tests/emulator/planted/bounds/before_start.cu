// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  const int i = threadIdx.x;
  y[i] = x[i] - x[i - 1];  // FAULT out_of_bounds
}
