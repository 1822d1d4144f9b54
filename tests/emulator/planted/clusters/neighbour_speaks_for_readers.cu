// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [64], "cluster": [2], "args": [{"in": 64}, {"out": 64}]}
// The neighbour says that the tile is free. It was told so by the warp that writes, not by the one that reads.
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ADDR(&(b))), "r"(n) : "memory")
#define INIT_FENCE() asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define WAIT(b, parity) \
  for (unsigned done = 0; done == 0;) \
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;" \
               " selp.u32 %0, 1, 0, p; }" \
               : "=r"(done) : "r"(ADDR(&(b))), "r"(static_cast<unsigned>(parity)) : "memory")
#define REMOTE_ARRIVE(at) \
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory")
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
  __shared__ float tile[32];
  __shared__ unsigned long long told, free_again;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    INIT(told, 32);
    INIT(free_again, 32);
    INIT_FENCE();
  }
  if (threadIdx.x < 32) tile[lane] = x[lane];
  CLUSTER_SYNC();
  if (cluster_rank() == 1) {
    if (threadIdx.x < 32) {
      WAIT(told, 0);
      REMOTE_ARRIVE(mapped(ADDR(&free_again), 0));
    }
  } else if (threadIdx.x < 32) {
    y[lane] = tile[31 - lane];  // FAULT shared_race
#ifdef FIXED
    REMOTE_ARRIVE(mapped(ADDR(&told), 1));
#endif
  } else {
#ifndef FIXED
    REMOTE_ARRIVE(mapped(ADDR(&told), 1));
#endif
    WAIT(free_again, 0);
    tile[lane] = x[32 + lane];
    y[32 + lane] = tile[lane];
  }
  CLUSTER_SYNC();
}
