// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"zero": 1}]}
// Threads that find something raise a flag, all with one value; the broken one with its own.
extern "C" __global__ void k(const float* x, int* found) {
  const int i = threadIdx.x;
#ifdef FIXED
  if (x[i] > 2.0f) *found = 1;  // NOTE global_race
#else
  if (x[i] > 2.0f) *found = i + 1;  // FAULT global_race
#endif
}
