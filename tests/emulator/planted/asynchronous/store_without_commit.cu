// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 128}, {"out": 128}]}
// A wait covers committed groups only.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[64];
  for (int i = 0; i < 2; ++i) {
    tile[threadIdx.x] = x[i * 64 + threadIdx.x];  // FAULT async_pending
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      STORE(y + i * 64, tile, 256);
#ifdef FIXED
      COMMIT();
#endif
      WAIT_READ(0);
    }
    __syncthreads();
  }
}
