// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32, 4], "args": [{"in": 128}, {"out": 128}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[4][33];
  const int i = threadIdx.y * 32 + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[i];
  y[i] = tile[i % 4][i / 4];  // FAULT shared_race  // ALSO uninitialized_read
}
