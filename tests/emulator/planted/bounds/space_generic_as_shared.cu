// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// The low half of a global address taken for a shared one.
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  float v;
  const unsigned address = static_cast<unsigned>(reinterpret_cast<unsigned long long>(x + threadIdx.x)) | 0x40000000u;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(address));  // FAULT out_of_bounds
  y[threadIdx.x] = v + tile[threadIdx.x];
}
