// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  if (x[threadIdx.x] > 1.6f)
    __syncthreads();  // FAULT barrier_divergence  // ALSO deadlock
  y[threadIdx.x] = tile[threadIdx.x];
}
