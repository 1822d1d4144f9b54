// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "budget": 200000, "args": [{"in": 32}, {"out": 32}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
__device__ unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ unsigned mapped(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ unsigned long long ready;
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    INIT(ready, 1);
    INIT_FENCE();
  }
#ifdef FIXED
  CLUSTER_SYNC();
#else
  __syncthreads();
#endif
  if (rank == 0 && threadIdx.x == 0)
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapped(ADDR(&ready), 1)) : "memory");  // FAULT shared_race uninitialized_read
  if (rank == 1) {
    WAIT(ready, 0);
    y[threadIdx.x] = x[threadIdx.x];
  }
  CLUSTER_SYNC();
}
