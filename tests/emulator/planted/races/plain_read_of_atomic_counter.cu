// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 128}, {"out": 128}]}
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  if (x[threadIdx.x] > 0) atomicAdd(&count, 1);
  y[threadIdx.x] = count;  // FAULT shared_race
}
