// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 16}]}
extern "C" __global__ void k(const int* x, int* bins) {
  atomicAdd(&bins[x[threadIdx.x] & 15], 1);  // FAULT uninitialized_read
}
