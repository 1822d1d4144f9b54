// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  const int i = threadIdx.x;
  tile[i + i / 16] = x[i];  // FAULT out_of_bounds
  __syncthreads();
  y[i] = tile[i];  // ALSO uninitialized_read
}
