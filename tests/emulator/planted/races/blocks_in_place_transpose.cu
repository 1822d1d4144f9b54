// SPDX-License-Identifier: Apache-2.0
// {"grid": [4, 4], "block": [8, 8], "args": [{"in": 1024}]}
extern "C" __global__ void k(float* x) {
  const int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  const float v = x[column * 32 + row];  // FAULT global_conflict
  __syncthreads();
  x[row * 32 + column] = v;  // FAULT global_conflict
}
