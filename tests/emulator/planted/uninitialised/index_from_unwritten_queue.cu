// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// The queue holds fewer entries than are taken from it.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ int queue[32];
  const int i = threadIdx.x;
#ifdef FIXED
  queue[i] = i;
#else
  if (i < 30) queue[i] = i;
#endif
  __syncthreads();
  const int from = queue[31 - i];  // FAULT uninitialized_read
  y[i] = x[from];  // ALSO out_of_bounds
}
