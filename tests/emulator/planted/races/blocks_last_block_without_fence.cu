// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [32], "args": [{"in": 128}, {"out": 1}, {"zero": 4}, {"zero": 1}]}
// The last block adds what the others wrote, but nobody published it.
extern "C" __global__ void k(const float* x, float* y, float* partial, unsigned* arrived) {
  float v = x[blockIdx.x * 32 + threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = v;
  if (atomicAdd(arrived, 1) != gridDim.x - 1) return;
  float sum = 0;
  for (int b = 0; b < 4; ++b)
    sum += partial[b];  // FAULT global_conflict
  y[0] = sum;
}
