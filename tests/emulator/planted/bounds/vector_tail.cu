// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 126}, {"out": 32}]}
extern "C" __global__ void k(const float4* x, float* y) {
  const float4 v = x[threadIdx.x];  // FAULT out_of_bounds
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
}
