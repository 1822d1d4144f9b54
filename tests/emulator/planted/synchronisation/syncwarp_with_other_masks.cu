// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Both branches have a barrier of the warp; the masks must agree.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float even[16], odd[16];
  const int i = threadIdx.x;
  if (i % 2 == 0) {
    even[i / 2] = x[i];
    __syncwarp();
    y[i] = odd[i / 2] * 2.0f;  // ALSO shared_race
  } else {
    odd[i / 2] = -x[i];
#ifdef FIXED
    __syncwarp();
#else
    __syncwarp(0xAAAAAAAAu);
#endif
    y[i] = even[i / 2] + 1.0f;  // FAULT shared_race // ALSO uninitialized_read
  }
}
