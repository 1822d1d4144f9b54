// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
// __syncthreads() demands that a warp's threads execute it together; barrier.sync counts each thread.
#ifdef FIXED
#define BARRIER "barrier.sync 0;"
#else
#define BARRIER "barrier.sync.aligned 0;"
#endif
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  if (i % 2 == 0) {
    tile[i] = x[i];
    asm volatile(BARRIER ::: "memory");  // FAULT barrier_divergence
  } else {
    tile[i] = -x[i];
    asm volatile(BARRIER ::: "memory");  // FAULT barrier_divergence
  }
  y[i] = tile[63 - i];  // ALSO shared_race
}
