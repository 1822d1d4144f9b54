// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [160], "args": [{"in": 3456}, {"out": 512}]}
// One lane of each warp gives a stage back while the multiplication still reads it; once that is waited for, any may.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define EXPECT(b, n) \
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define LOAD(to, from, n, b) \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
               ::"r"(ADDR(to)), "l"(from), "r"(n), "r"(ADDR(&(b))) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
// 8 rows of 16 bytes in a block; blocks 128 bytes apart along k and 256 across.
#define DESC(p) (static_cast<unsigned long long>(ADDR(p) >> 4) | 8ull << 16 | 16ull << 32)
#define MMA(d, a, b) \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(DESC(a)), "l"(DESC(b)) : "memory")
#define MMA_FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define MMA_COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define MMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) unsigned a[2][512], b[2][64];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(full[i], 1);
      INIT(empty[i], 4);
    }
    INIT_FENCE();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    for (int i = 0; i < 6 && threadIdx.x == 128; ++i) {
      if (i >= 2) WAIT(empty[i % 2], (i / 2 - 1) % 2);
      EXPECT(full[i % 2], 2304);
      LOAD(a[i % 2], x + i * 576, 2048, full[i % 2]);  // FAULT async_pending shared_race
      LOAD(b[i % 2], x + i * 576 + 512, 256, full[i % 2]);  // ALSO async_pending shared_race
    }
    return;
  }
  float d[4] = {};
  for (int i = 0; i < 6; ++i) {
    WAIT(full[i % 2], i / 2 % 2);
    MMA_FENCE();
    MMA(d, a[i % 2], b[i % 2]);
    MMA_COMMIT();
#ifdef FIXED
    MMA_WAIT(0);
#endif
    if (threadIdx.x % 32 == 5) ARRIVE(empty[i % 2]);
  }
  MMA_WAIT(0);
  for (int i = 0; i < 4; ++i) y[threadIdx.x * 4 + i] = d[i];
}
