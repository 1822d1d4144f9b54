// SPDX-License-Identifier: Apache-2.0
// {"grid": [4], "block": [32], "cluster": [4], "args": [{"out": 4}]}
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
#define REMOTE_STORE(at, v) asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(v) : "memory")

extern "C" __global__ void k(float* y) {
  __shared__ float total[4];
  const unsigned rank = cluster_rank();
  CLUSTER_SYNC();
#ifdef FIXED
  if (threadIdx.x == 0) REMOTE_STORE(mapped(ADDR(&total[rank]), 0), 1.0f + rank);
#else
  if (threadIdx.x == 0) REMOTE_STORE(mapped(ADDR(&total[rank / 2]), 0), 1.0f + rank);  // FAULT shared_race
#endif
  CLUSTER_SYNC();
  if (rank == 0 && threadIdx.x < (4)) y[threadIdx.x] = total[threadIdx.x];  // ALSO uninitialized_read
}
