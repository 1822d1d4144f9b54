// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// The low half of a converted global address may look like an offset in shared memory.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
#ifdef FIXED
  const float* from = tile;
#else
  const float* from = x;
#endif
  float v;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(ADDR(from + threadIdx.x)) : "memory");  // FAULT wrong_space
  y[threadIdx.x] = v;
}
