// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 64}]}
// A tree of sums in global memory, read as constant.
__device__ float pair(const float* __restrict__ from, int i) {
  float2 both;
#ifdef FIXED
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(both.x), "=f"(both.y) : "l"(from + 2 * i) : "memory");
#else
  asm volatile("ld.global.nc.v2.f32 {%0, %1}, [%2];" : "=f"(both.x), "=f"(both.y) : "l"(from + 2 * i) : "memory");  // FAULT non_coherent_read
#endif
  return both.x + both.y;
}
extern "C" __global__ void k(const float* x, float* scratch) {
  scratch[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 16) scratch[32 + threadIdx.x] = pair(scratch, threadIdx.x);
}
