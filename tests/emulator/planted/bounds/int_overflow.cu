// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 1048576}]}
extern "C" __global__ void k(const float* x, float* y, int stride) {
  const int i = threadIdx.x;
  y[i] = x[i * stride * 4096 / stride / 4096];
  y[i] += x[(i * stride) >> 5];  // FAULT out_of_bounds
}
