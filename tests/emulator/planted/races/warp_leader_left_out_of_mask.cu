// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Lane 0 publishes a scale, but the mask of those who wait for it does not name it.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float scale;
  const int i = threadIdx.x;
  if (i == 0) scale = x[0] + x[31];
#ifdef FIXED
  __syncwarp();
#else
  if (i != 0) __syncwarp(0xFFFFFFFEu);
#endif
  y[i] = x[i] * scale;  // FAULT shared_race // ALSO uninitialized_read
}
