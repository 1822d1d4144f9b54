// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "budget": 100000, "args": [{"in": 256}, {"out": 256}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define EXPECT(b, n) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define LOAD(to, from, n, b) \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
               ::"r"(ADDR(to)), "l"(from), "r"(n), "r"(ADDR(&(b))) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[64];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(full, 1);
    INIT_FENCE();
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x == 0) {
      EXPECT(full, 256);
      LOAD(tile, x + i * 64, 256, full);  // ALSO async_pending
    }
    __syncthreads();
#ifdef FIXED
    WAIT(full, i % 2);
#else
    WAIT(full, 0);  // ALSO instruction_budget
#endif
    y[i * 64 + threadIdx.x] = tile[threadIdx.x];  // FAULT async_pending
    __syncthreads();  // ALSO instruction_budget
  }
}
