// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [64], "args": [{"zero": 8}, {"in": 128}]}
extern "C" __global__ void k(int* bins, const int* values) {
  const int v = (threadIdx.x & 7) + (values[threadIdx.x] > 0);
  atomicAdd(&bins[v], 1);  // FAULT out_of_bounds
}
