// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// An inclusive scan that trusts volatile to keep the lanes in step.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ volatile float v[64];
  const int i = threadIdx.x;
  v[i] = 0.0f;
  v[i + 32] = x[i];
#ifdef FIXED
  __syncwarp();
#endif
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float before = v[i + 32 - step];  // FAULT shared_race
#ifdef FIXED
    __syncwarp();
#endif
    v[i + 32] += before;  // FAULT shared_race
#ifdef FIXED
    __syncwarp();
#endif
  }
  y[i] = v[i + 32];
}
