// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 7}]}
__device__ __noinline__ float halves(const float* x, int n) {
#ifdef FIXED
  if (n <= 1) return x[n];
#else
  if (n == 0) return x[0];
#endif
  return x[n] + 0.5f * halves(x, (n + 1) / 2);  // FAULT stack_overflow
}

extern "C" __global__ void k(const float* x, float* y, int n) { y[threadIdx.x] = halves(x, n); }
