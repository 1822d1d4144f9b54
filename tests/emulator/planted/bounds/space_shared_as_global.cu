// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  float v;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(&tile[threadIdx.x]));  // FAULT wrong_space
  y[threadIdx.x] = v;
}
