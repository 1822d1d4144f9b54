// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 36}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ __align__(16) float tile[36];
  const int i = threadIdx.x;
  tile[i] = x[i];
  if (i < 4) tile[32 + i] = x[32 + i];
  __syncthreads();
  const float2 v = *reinterpret_cast<const float2*>(tile + i);  // FAULT misaligned
  y[i] = v.x + v.y;
}
