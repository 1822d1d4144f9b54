// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 128}, {"out": 1}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float sums[128];
  const int i = threadIdx.x;
  sums[i] = x[i];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (i < half) sums[i] += sums[i + half];  // FAULT shared_race
  }
  __syncthreads();
  if (i == 0) y[0] = sums[0];
}
