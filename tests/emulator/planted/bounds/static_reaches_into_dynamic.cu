// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}, {"i32": 64}], "shared_bytes": 256}
// The static array is half as long as the block has threads; what follows is dynamic shared memory.
extern "C" __global__ void k(const float* x, float* y, int n) {
  __shared__ float counts[32];
  extern __shared__ float values[];
  const int i = threadIdx.x;
  values[i] = x[i];
  __syncthreads();
#ifdef FIXED
  if (i < n / 2) counts[i] = 1.0f;
#else
  if (i < n) counts[i] = 1.0f;  // FAULT out_of_bounds
#endif
  __syncthreads();
  y[i] = values[i] + counts[i % 32];
}
