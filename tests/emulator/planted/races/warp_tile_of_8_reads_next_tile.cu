// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
// Tiles of eight lanes meet by themselves; the halo belongs to the next tile.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float row[64];
  const int i = threadIdx.x, lane = i % 32;
  const unsigned members = 0xFFu << (lane & ~7);
  row[i] = x[i] * 2.0f;
  __syncwarp(members);
#ifdef FIXED
  const int next = (i & ~7) | ((i + 1) & 7);
#else
  const int next = (i & ~31) | ((lane + 1) & 31);
#endif
  y[i] = row[i] + row[next];  // FAULT shared_race
}
