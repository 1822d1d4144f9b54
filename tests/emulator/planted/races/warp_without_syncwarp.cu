// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ volatile float unused[1];
  __shared__ float tile[32];
  const int i = threadIdx.x;
  tile[i] = x[i];
#ifdef FIXED
  __syncwarp();
#endif
  y[i] = tile[(i + 1) % 32];  // FAULT shared_race
}
