// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Lanes may meet in the same shuffle of two branches, and not in different ones.
extern "C" __global__ void k(const float* x, float* y) {
  float v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    v += 2 * __shfl_xor_sync(0xFFFFFFFFu, v, 16);  // FAULT deadlock
  } else {
#ifdef FIXED
    v -= __shfl_xor_sync(0xFFFFFFFFu, v, 16);
#else
    v -= __shfl_up_sync(0xFFFFFFFFu, v, 16);  // FAULT deadlock
#endif
  }
  y[threadIdx.x] = v;
}
