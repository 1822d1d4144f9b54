// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[34];
  const int i = threadIdx.x;
  tile[i + 1] = x[i];
  __syncthreads();
  y[i] = tile[i] + tile[i + 1] + tile[i + 2];  // FAULT uninitialized_read
}
