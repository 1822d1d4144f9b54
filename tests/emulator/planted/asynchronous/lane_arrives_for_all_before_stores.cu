// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [256], "args": [{"in": 768}, {"out": 768}]}
// Four warps store what four others read; of each of those only the first lane says that it has read.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float ring[2][128];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(full[i], 128);
#ifdef FIXED
      INIT(empty[i], 128);
#else
      INIT(empty[i], 4);
#endif
    }
  }
  __syncthreads();
  const int at = threadIdx.x % 128;
  for (int i = 0; i < 6; ++i) {
    if (threadIdx.x >= 128) {
      WAIT(empty[i % 2], (i / 2 + 1) % 2);
      ring[i % 2][at] = x[i * 128 + at];  // FAULT shared_race
      ARRIVE(full[i % 2]);
    } else {
      WAIT(full[i % 2], i / 2 % 2);
      y[i * 128 + at] = ring[i % 2][at / 32 * 32] + ring[i % 2][at];
#ifdef FIXED
      ARRIVE(empty[i % 2]);
#else
      if (at % 32 == 0) ARRIVE(empty[i % 2]);
#endif
    }
  }
}
