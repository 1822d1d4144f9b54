// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 8}]}
// Lanes of one warp store different values to one bin.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float bins[8];
  const int i = threadIdx.x;
  if (i < 8) bins[i] = 0.0f;
  __syncwarp();
#ifdef FIXED
  atomicAdd(&bins[i % 8], x[i]);
#else
  bins[i % 8] = x[i];  // FAULT shared_race
#endif
  __syncwarp();
  if (i < 8) y[i] = bins[i];
}
