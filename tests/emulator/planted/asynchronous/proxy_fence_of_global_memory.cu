// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [64], "args": [{"in": 64}, {"out": 64}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define STORE(to, from, n) \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_ALL() asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float tile[64];
  tile[threadIdx.x] = x[threadIdx.x] + 1;
#ifdef FIXED
  asm volatile("fence.proxy.async;" ::: "memory");
#else
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    STORE(y, tile, 256);  // FAULT missing_proxy_fence
    COMMIT();
    WAIT_ALL();
  }
}
