// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}, {"i32": 50}]}
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float tile[64];
  if (threadIdx.x >= n) return;
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();  // FAULT barrier_divergence  // ALSO deadlock
  y[threadIdx.x] = tile[threadIdx.x ^ 1];
}
