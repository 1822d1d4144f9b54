// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Only even lanes set their flag.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ int flags[32];
  const int i = threadIdx.x;
#ifdef FIXED
  flags[i] = 0;
#endif
  if (i % 2 == 0) flags[i] = 1;
  __syncthreads();
  float v = x[i];
  if (flags[31 - i] == 1) v = sqrtf(v) + x[31 - i];  // FAULT uninitialized_read
  y[i] = v;
}
