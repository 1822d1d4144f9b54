// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// A fence of one lane, or of all, is no barrier of the warp.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  const int lane = threadIdx.x;
  tile[lane] = x[lane];  // FAULT shared_race
#ifdef FIXED
  __syncwarp();
#else
  __threadfence_block();
#endif
  y[lane] = tile[31 - lane];
}
