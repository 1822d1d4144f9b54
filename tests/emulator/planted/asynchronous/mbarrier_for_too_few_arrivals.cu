// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "budget": 50000, "args": [{"in": 64}, {"out": 64}]}
// Every arrival ends a phase, and 32 phases look like none.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
#ifdef FIXED
    INIT(full, 32);
#else
    INIT(full, 1);
#endif
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[threadIdx.x] = x[threadIdx.x];
    ARRIVE(full);
  } else {
    WAIT(full, 0);  // FAULT instruction_budget
    y[threadIdx.x - 32] = tile[threadIdx.x - 32];  // ALSO shared_race
  }
}
