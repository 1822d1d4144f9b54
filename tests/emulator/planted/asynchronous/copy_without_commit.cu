// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 128}, {"out": 32}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define COPY(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ADDR(to)), "l"(from) : "memory")
#define COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPY_WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")

extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 tile[32];
  COPY(&tile[threadIdx.x], x + threadIdx.x);
#ifdef FIXED
  COPY_COMMIT();
#endif
  COPY_WAIT(0);
  y[threadIdx.x] = tile[threadIdx.x].x;  // FAULT async_pending
}
