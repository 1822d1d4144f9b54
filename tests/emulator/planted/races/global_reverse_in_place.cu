// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}]}
// Reversing a row in place: all threads swap, where half of them would do.
extern "C" __global__ void k(float* x) {
  const int i = threadIdx.x;
#ifdef FIXED
  if (i >= 32) return;
#endif
  const float a = x[i], b = x[63 - i];
  x[i] = b;       // FAULT global_race
  x[63 - i] = a;  // FAULT global_race
}
