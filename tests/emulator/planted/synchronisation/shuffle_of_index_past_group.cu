// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// The owner of a column is looked for among lanes that do not take part.
extern "C" __global__ void k(const float* x, float* y) {
  const int i = threadIdx.x;
  float v = x[i];
  if (i < 8) {
#ifdef FIXED
    const int owner = (i + 3) % 8;
#else
    const int owner = i + 3;
#endif
    v = __shfl_sync(0xFFu, v, owner);  // FAULT inactive_lane
  }
  y[i] = v;
}
