// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [160], "args": [{"in": 768}, {"out": 768}]}
// A warp that stores gives a stage back before its store has read it.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define WAIT_ALL() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float ring[2][128];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(full[i], 128);
      INIT(empty[i], 1);
    }
    INIT_FENCE();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    for (int i = 0; i < 6; ++i) {
      if (i >= 2) WAIT(empty[i % 2], (i / 2 - 1) % 2);
      ring[i % 2][threadIdx.x] = x[i * 128 + threadIdx.x] * 3;  // FAULT async_pending shared_race
      PROXY_FENCE();
      ARRIVE(full[i % 2]);
    }
  } else if (threadIdx.x == 128) {
    for (int i = 0; i < 6; ++i) {
      WAIT(full[i % 2], i / 2 % 2);
      STORE(y + i * 128, ring[i % 2], 512);
      COMMIT();
#ifdef FIXED
      WAIT_READ(0);
#endif
      ARRIVE(empty[i % 2]);
    }
    WAIT_ALL();
  }
}
