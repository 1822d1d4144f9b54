// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [32], "args": [{"in": 128}, {"out": 128}, {"zero": 128}]}
extern "C" __global__ void k(const float* x, float* y, float* partial) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  partial[i] = x[i];
  __syncthreads();
  y[i] = partial[i] + partial[(i + 64) % 128];  // FAULT global_conflict
}
