// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "args": [{"in": 32}, {"out": 32}, {"zero": 32}, {"zero": 1}]}
// A release by one lane says nothing of what the other lanes of its warp have stored.
extern "C" __global__ void k(const float* x, float* y, float* scratch, unsigned* ready) {
  const int lane = threadIdx.x;
  if (blockIdx.x == 0) {
    scratch[lane] = 2 * x[lane];  // FAULT global_conflict
#ifdef FIXED
    __syncwarp();
#endif
    if (lane == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(ready) : "memory");
  } else {
    for (unsigned v = 0; v == 0;)
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(ready) : "memory");
    y[lane] = scratch[31 - lane];
  }
}
