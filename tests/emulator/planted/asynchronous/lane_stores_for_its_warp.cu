// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [32], "args": [{"in": 32}, {"out": 32}]}
// Each lane's proxy fence covers its own write: that the others have got there only a barrier tells.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
               ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define STORES_LEFT(n) asm volatile("cp.async.bulk.wait_group %0;" ::"n"(n) : "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[32];
  tile[threadIdx.x] = 2 * x[threadIdx.x];
  PROXY_FENCE();
#ifdef FIXED
  __syncwarp();
#endif
  if (threadIdx.x == 0) {
    STORE(y, tile, 128);  // FAULT shared_race
    COMMIT();
    STORES_LEFT(0);
  }
}
