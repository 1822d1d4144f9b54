// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [16, 8], "args": [{"in": 256}, {"out": 16}]}
// Half a warp folds a row; the second half of the warp folds the next row.
extern "C" __global__ void k(const float* x, float* sums) {
  __shared__ volatile float rows[8][16];
  const int c = threadIdx.x, r = threadIdx.y;
  rows[r][c] = x[(blockIdx.x * 8 + r) * 16 + c];
  __syncwarp();
  for (int step = 8; step > 0; step /= 2) {
    const float other = c < step ? rows[r][c + step] : 0.0f;  // FAULT shared_race
#ifdef FIXED
    __syncwarp();
#endif
    if (c < step) rows[r][c] += other;  // FAULT shared_race
#ifdef FIXED
    __syncwarp();
#endif
  }
  if (c == 0) sums[blockIdx.x * 8 + r] = rows[r][0];
}
