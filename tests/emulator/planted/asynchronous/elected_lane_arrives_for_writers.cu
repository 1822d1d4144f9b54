// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 192}, {"out": 192}]}
// A warp writes a stage, and its elected lane alone says so.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ADDR(&(b))) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")

__device__ bool elected() {
  unsigned mine;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xFFFFFFFF; selp.u32 %0, 1, 0, p; }" : "=r"(mine)::"memory");
  return mine != 0;
}

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float ring[2][32];
  __shared__ unsigned long long full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      INIT(full[i], 1);
      INIT(empty[i], 32);
    }
  }
  __syncthreads();
  for (int i = 0; i < 6; ++i) {
    if (threadIdx.x < 32) {
      WAIT(empty[i % 2], (i / 2 + 1) % 2);
#ifdef FIXED
      if (!elected()) continue;
      for (int j = 0; j < 32; ++j) ring[i % 2][j] = x[i * 32 + j];
      ARRIVE(full[i % 2]);
#else
      ring[i % 2][threadIdx.x] = x[i * 32 + threadIdx.x];  // FAULT shared_race
      if (elected()) ARRIVE(full[i % 2]);
#endif
    } else {
      WAIT(full[i % 2], i / 2 % 2);
      y[i * 32 + threadIdx.x % 32] = ring[i % 2][threadIdx.x % 32];
      ARRIVE(empty[i % 2]);
    }
  }
}
