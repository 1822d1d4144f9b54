// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = tile[63 - threadIdx.x];  // FAULT shared_race  // ALSO uninitialized_read
}
