// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
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
#ifdef FIXED
    INIT_FENCE();
#endif
    EXPECT(full, 256);
    LOAD(tile, x, 256, full);  // FAULT missing_proxy_fence
  }
  __syncthreads();
  WAIT(full, 0);
  y[threadIdx.x] = tile[threadIdx.x];
}
