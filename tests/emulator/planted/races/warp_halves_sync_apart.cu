// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Each half of the warp waits for itself only, and then reads what the other half wrote.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  const int i = threadIdx.x;
#ifdef FIXED
  const unsigned members = 0xFFFFFFFFu;
#else
  const unsigned members = i < 16 ? 0x0000FFFFu : 0xFFFF0000u;
#endif
  tile[i] = x[i];
  __syncwarp(members);
  y[i] = tile[31 - i];  // FAULT shared_race
}
