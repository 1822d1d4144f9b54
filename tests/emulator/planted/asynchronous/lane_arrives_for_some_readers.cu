// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 48}, {"out": 48}]}
// Eight lanes read a stage, of which the one that gives it back has met four.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define EXPECT(b, n) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define LOAD(to, from, n, b) \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
               ::"r"(ADDR(to)), "l"(from), "r"(n), "r"(ADDR(&(b))) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#ifdef FIXED
#define READERS 0xFFu
#else
#define READERS 0xFu
#endif

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float ring[2][8];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(full[i], 1);
      INIT(empty[i], 1);
    }
    INIT_FENCE();
  }
  __syncthreads();
  if (threadIdx.x == 32) {
    for (int i = 0; i < 6; ++i) {
      WAIT(empty[i % 2], (i / 2 + 1) % 2);
      EXPECT(full[i % 2], 32);
      LOAD(ring[i % 2], x + i * 8, 32, full[i % 2]);  // FAULT shared_race
    }
  } else if (threadIdx.x < 8) {
    for (int i = 0; i < 6; ++i) {
      WAIT(full[i % 2], i / 2 % 2);
      y[i * 8 + threadIdx.x] = ring[i % 2][threadIdx.x];
      if ((READERS >> threadIdx.x & 1) != 0) __syncwarp(READERS);
      if (threadIdx.x == 0) ARRIVE(empty[i % 2]);
    }
  }
}
