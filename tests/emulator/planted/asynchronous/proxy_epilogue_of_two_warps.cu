// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [96], "args": [{"in": 256}, {"out": 256}]}
// Two warps compute, one stores.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[64];
  for (int i = 0; i < 4; ++i) {
    if (threadIdx.x < 64) {
      if (i > 0) asm volatile("bar.sync 2, 96;" ::: "memory");
      tile[threadIdx.x] = x[i * 64 + threadIdx.x] + 1;
#ifdef FIXED
      PROXY_FENCE();
#endif
      asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 96;" ::: "memory");
      if (threadIdx.x == 64) {
        STORE(y + i * 64, tile, 256);  // FAULT missing_proxy_fence
        COMMIT();
        WAIT_READ(0);
      }
      __syncwarp();
      if (i < 3) asm volatile("bar.arrive 2, 96;" ::: "memory");
    }
  }
}
