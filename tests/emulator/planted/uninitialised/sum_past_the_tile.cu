// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 40}, {"out": 32}, {"i32": 28}]}
// A load past the part that was filled is harmless while its value is not used.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float tile[33];
  const int i = threadIdx.x;
  if (i < n) tile[i] = x[i];
  __syncthreads();
  const float here = tile[i], next = tile[i + 1];  // FAULT uninitialized_read
#ifdef FIXED
  y[i] = i + 1 < n ? here + next : x[i];
#else
  y[i] = here + next;
#endif
}
