// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 32}, {"out": 32}, {"zero": 32}, {"zero": 1}]}
// A fence orders what its own thread does: that the others have passed theirs only a barrier tells.
extern "C" __global__ void k(const float* x, float* y, float* scratch, unsigned* ready) {
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    scratch[lane] = 2 * x[lane];  // FAULT global_race
    __threadfence();
#ifdef FIXED
    __syncwarp();
#endif
    if (lane == 0) atomicExch(ready, 1);
  } else {
    while (atomicAdd(ready, 0) == 0) {
    }
    __threadfence();
    y[lane] = scratch[31 - lane];
  }
}
