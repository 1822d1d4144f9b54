// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
// Lanes of one warp meet at two places: the barrier counts threads, and half of those it waits for never come.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[64];
  const int i = threadIdx.x;
  tile[i] = x[i];
#ifdef FIXED
  const int expected = 64;
#else
  const int expected = 96;
#endif
  if (i % 2 == 0)
    asm volatile("barrier.sync 1, %0;" ::"r"(expected) : "memory");  // FAULT deadlock
  else
    asm volatile("barrier.sync 1, %0;" ::"r"(expected) : "memory");  // FAULT deadlock
  y[i] = tile[63 - i];
}
