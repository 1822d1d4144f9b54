// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [64], "args": [{"in": 250}, {"out": 250}]}
extern "C" __global__ void k(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];  // FAULT out_of_bounds
}
