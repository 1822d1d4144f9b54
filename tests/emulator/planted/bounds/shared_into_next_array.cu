// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}, {"i32": 4}]}
// The halo does not fit the first array, and lands in the second.
extern "C" __global__ void k(const float* x, float* y, int halo) {
#ifdef FIXED
  __shared__ float row[64 + 4];
#else
  __shared__ float row[64];
#endif
  __shared__ float weights[64];
  const int i = threadIdx.x;
  weights[i] = 1.0f;
  __syncthreads();
  row[i] = x[i];
  if (i < halo) row[64 + i] = 0.0f;  // FAULT out_of_bounds
  __syncthreads();
  y[i] = row[i] * weights[i];
}
