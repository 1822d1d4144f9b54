// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 66}]}
// Smoothing in place: neighbours read what has been replaced already.
extern "C" __global__ void k(float* x) {
  const int i = threadIdx.x + 1;
  const float left = x[i - 1], right = x[i + 1];
#ifdef FIXED
  __syncthreads();
#endif
  x[i] = 0.5f * (left + right);  // FAULT global_race
}
