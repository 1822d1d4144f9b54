// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}, {"i32": 1}]}
// The left neighbour of the first element lies in the array before.
extern "C" __global__ void k(const float* x, float* y, int step) {
  __shared__ float first[32];
  __shared__ float second[32];
  const int i = threadIdx.x;
  first[i] = x[i];
  second[i] = 2.0f * x[i];
  __syncthreads();
#ifdef FIXED
  const int left = max(i - step, 0);
#else
  const int left = i - step;
#endif
  y[i] = first[left] + second[left];  // FAULT out_of_bounds
}
