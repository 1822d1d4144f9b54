// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 100}, {"out": 100}, {"i32": 100}]}
extern "C" __global__ void k(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += 32) y[i] = x[i];
  for (int i = threadIdx.x; i <= n; i += 50)
    y[i] = 1;  // FAULT out_of_bounds // ALSO global_race
}
