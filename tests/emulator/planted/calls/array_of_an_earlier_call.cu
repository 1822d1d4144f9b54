// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 3}]}
__device__ __noinline__ float descend(const float* x, float* sums, int depth) {
  float mine[4];
#ifdef FIXED
  for (int i = 0; i < 4; ++i) mine[i] = 0.0f;
#else
  if (depth == 3)
    for (int i = 0; i < 4; ++i) mine[i] = 0.0f;
#endif
  mine[(depth + threadIdx.x) & 3] = x[depth];
  if (depth > 0) descend(x, mine, depth - 1);
  for (int i = 0; i < 4; ++i) sums[i] += mine[i];  // FAULT uninitialized_read
  return sums[depth & 3];
}

extern "C" __global__ void k(const float* x, float* y, int depth) {
  float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  y[threadIdx.x] = descend(x, sums, depth);
}
