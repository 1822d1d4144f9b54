// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [64], "args": [{"in": 256}, {"out": 64}, {"zero": 192}, {"zero": 1}]}
// Each block leaves its part and counts itself, before all of its threads have written.
extern "C" __global__ void k(const float* x, float* y, float* parts, unsigned* arrived) {
  const float v = x[blockIdx.x * 64 + threadIdx.x];
  if (blockIdx.x != 0) {
    parts[(blockIdx.x - 1) * 64 + threadIdx.x] = v;  // FAULT global_conflict
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1);
    }
    return;
  }
  if (threadIdx.x == 0) {
    while (atomicAdd(arrived, 0) != 3) {
    }
    __threadfence();
  }
  __syncthreads();
  float sum = v;
  for (int b = 0; b < 3; ++b) sum += parts[b * 64 + threadIdx.x];
  y[threadIdx.x] = sum;
}
