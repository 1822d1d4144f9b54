// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 1}], "shared_bytes": 128}
// Before the dynamic array lies a static one.
extern "C" __global__ void k(const float* x, float* y, int step) {
  __shared__ float fixed_part[32];
  extern __shared__ float dynamic_part[];
  const int i = threadIdx.x;
  fixed_part[i] = x[i];
  dynamic_part[i] = x[i];
  __syncthreads();
#ifdef FIXED
  const int left = i < step ? 31 : i - step;
#else
  const int left = i - step;
#endif
  y[i] = dynamic_part[left] + fixed_part[i];  // FAULT out_of_bounds
}
