// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 1024}, {"out": 1024}]}
// Two buffers, and a wait that leaves two stores.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[2][128];
  for (int i = 0; i < 8; ++i) {
    if (threadIdx.x == 0) {
#ifdef FIXED
      WAIT_READ(1);
#else
      WAIT_READ(2);
#endif
    }
    __syncthreads();
    tile[i % 2][threadIdx.x] = x[i * 128 + threadIdx.x] + 1;  // FAULT async_pending
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      STORE(y + i * 128, tile[i % 2], 512);
      COMMIT();
    }
  }
}
