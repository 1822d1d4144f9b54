// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float stage[2][64];
  const int i = threadIdx.x;
  stage[0][i] = x[i];
  __syncthreads();
  stage[1][i] = stage[0][63 - i] * 2;
  y[i] = stage[1][63 - i];  // FAULT shared_race  // ALSO uninitialized_read
}
