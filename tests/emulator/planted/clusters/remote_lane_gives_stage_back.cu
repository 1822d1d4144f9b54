// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "args": [{"in": 64}, {"out": 64}]}
// A block stores into its neighbour's tile, twice. One lane there gives the tile back, the others may still read.
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
#define REMOTE_STORE(at, v) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory")
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
  __shared__ unsigned long long full, empty;
  const int lane = threadIdx.x;
  tile[lane] = 0;
  if (lane == 0) {
    INIT(full, 32);
    INIT(empty, 1);
    INIT_FENCE();
  }
  CLUSTER_SYNC();
  if (cluster_rank() == 1) {
    for (int i = 0; i < 2; ++i) {
      if (i > 0) WAIT(empty, 0);
      REMOTE_STORE(mapped(ADDR(&tile[lane]), 0), x[i * 32 + lane]);  // FAULT shared_race
      REMOTE_ARRIVE(mapped(ADDR(&full), 0));
    }
  } else {
    for (int i = 0; i < 2; ++i) {
      WAIT(full, i);
      y[i * 32 + lane] = tile[31 - lane];
#ifdef FIXED
      __syncwarp();
#endif
      if (lane == 0) REMOTE_ARRIVE(mapped(ADDR(&empty), 1));
    }
  }
  CLUSTER_SYNC();
}
