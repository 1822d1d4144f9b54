// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [64], "args": [{"in": 128}, {"zero": 128}, {"out": 128}]}
// A block passes values through global memory, each in its own part of it.
extern "C" __global__ void k(const float* x, float* scratch, float* y) {
  const int i = threadIdx.x, base = blockIdx.x * 64;
  scratch[base + i] = x[base + i] * 2.0f;
#ifdef FIXED
  __syncthreads();
#endif
  y[base + i] = scratch[base + 63 - i];  // FAULT global_race
}
