// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 128}]}
// Atomics on what a store still reads.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float sums[64];
  sums[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    atomicAdd(&sums[63 - threadIdx.x], x[threadIdx.x]);  // FAULT async_pending  // ALSO shared_race
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      STORE(y + i * 64, sums, 256);
      COMMIT();
#ifdef FIXED
      WAIT_READ(0);
#endif
    }
    __syncthreads();
  }
}
