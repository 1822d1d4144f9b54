// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 192}, {"out": 192}]}
// A warp reads a stage, and its first lane has the next tile copied there, while the others may still read.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
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

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float ring[2][32];
  __shared__ unsigned long long full[2];
  const int lane = threadIdx.x;
  const auto load = [&](int i) {
    EXPECT(full[i % 2], 128);
    LOAD(ring[i % 2], x + i * 32, 128, full[i % 2]);  // FAULT shared_race
  };
  if (lane == 0) {
    INIT(full[0], 1);
    INIT(full[1], 1);
    INIT_FENCE();
    load(0);
    load(1);
  }
  __syncwarp();
  for (int i = 0; i < 6; ++i) {
    WAIT(full[i % 2], i / 2 % 2);
    y[i * 32 + lane] = ring[i % 2][31 - lane];  // ALSO shared_race
#ifdef FIXED
    __syncwarp();
#endif
    if (lane == 0 && i + 2 < 6) load(i + 2);
  }
}
