// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 1}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  total += x[threadIdx.x];  // FAULT shared_race
  __syncthreads();
  if (threadIdx.x == 0) y[0] = total;
}
