// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 32}, {"out": 32}]}
// The first lane's fence publishes what it wrote itself, and what it knows of the others.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  __shared__ volatile int ready;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[lane] = x[lane];  // FAULT shared_race
#ifdef FIXED
    __syncwarp();
#endif
    if (lane == 0) {
      __threadfence_block();
      ready = 1;
    }
  } else {
    while (ready == 0) {
    }
    __threadfence_block();
    y[lane] = tile[31 - lane];
  }
}
