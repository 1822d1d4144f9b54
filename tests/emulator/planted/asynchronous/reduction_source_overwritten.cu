// SPDX-License-Identifier: Apache-2.0
// {"grid": [1], "block": [128], "args": [{"in": 512}, {"zero": 128}]}
// The next partial sums overwrite what the reduction of the last ones still reads.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define REDUCE(to, from, n) \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(ADDR(from)), "r"(n) : "memory")
#define COMMIT() asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read " #n ";" ::: "memory")
#define PROXY_FENCE() asm volatile("fence.proxy.async.shared::cta;" ::: "memory")

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ alignas(128) float partial[128];
  for (int i = 0; i < 4; ++i) {
    partial[threadIdx.x] = 2 * x[i * 128 + threadIdx.x];  // FAULT async_pending
    PROXY_FENCE();
    __syncthreads();
    if (threadIdx.x == 0) {
      REDUCE(y, partial, 512);
      COMMIT();
#ifdef FIXED
      WAIT_READ(0);
#endif
    }
    __syncthreads();
  }
}
