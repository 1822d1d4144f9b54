// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [96], "args": [{"in": 96}, {"out": 96}]}
// A 3 x 32 matrix read as if it were 32 x 3.
extern "C" __global__ void k(const float* x, float* y) {
  const int row = threadIdx.x / 32, column = threadIdx.x % 32;
  y[row * 32 + column] = x[column * 32 + row];  // FAULT out_of_bounds
}
