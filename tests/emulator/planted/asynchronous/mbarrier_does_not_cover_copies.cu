// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 256}, {"out": 64}]}
// A plain arrival does not wait for the cp.async copies before it.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define COPY(to, from) \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(ADDR(to)), "l"(from) : "memory")

extern "C" __global__ void k(const float4* x, float* y) {
  __shared__ float4 tile[64];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) INIT(full, 64);
  __syncthreads();
  COPY(&tile[threadIdx.x], x + threadIdx.x);
#ifdef FIXED
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(ADDR(&full)) : "memory");
#else
  ARRIVE(full);
#endif
  WAIT(full, 0);
  y[threadIdx.x] = tile[threadIdx.x ^ 32].x;  // FAULT async_pending shared_race
}
