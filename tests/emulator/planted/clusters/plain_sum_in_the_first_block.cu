// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "args": [{"out": 1}]}
#define ADDR(p) static_cast<unsigned>(__cvta_generic_to_shared(p))
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
#define REMOTE_LOAD(v, at) asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory")
#define REMOTE_STORE(at, v) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory")

extern "C" __global__ void k(float* y) {
  __shared__ float total;
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) total = 0;
  CLUSTER_SYNC();
  if (threadIdx.x == 0) {
    const unsigned at = mapped(ADDR(&total), 0);
#ifdef FIXED
    asm volatile("red.shared::cluster.add.f32 [%0], %1;" ::"r"(at), "f"(1.0f) : "memory");
#else
    float v;
    REMOTE_LOAD(v, at);  // FAULT shared_race
    REMOTE_STORE(at, v + 1);  // FAULT shared_race
#endif
  }
  CLUSTER_SYNC();
  if (rank == 0 && threadIdx.x == 0) *y = total;
}
