// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Two lanes own the same element: the index loses its lowest bit.
extern "C" __global__ void k(const float* x, float* y) {
  const int i = threadIdx.x;
#ifdef FIXED
  y[i] = x[i];
#else
  y[i / 2] = x[i];  // FAULT global_race
#endif
}
