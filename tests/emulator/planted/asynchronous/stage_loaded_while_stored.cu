// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 512}, {"out": 512}]}
// Load, scale in place, store: the next load goes where the store still reads.
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
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float stage[128];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    INIT(full, 1);
    INIT_FENCE();
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x == 0) {
#ifdef FIXED
      WAIT_READ(0);
#endif
      EXPECT(full, 512);
      LOAD(stage, x + i * 128, 512, full);  // FAULT async_pending
    }
    WAIT(full, i % 2);
    stage[threadIdx.x] *= 2;  // ALSO async_pending
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      STORE(y + i * 128, stage, 512);
      COMMIT();
    }
  }
}
