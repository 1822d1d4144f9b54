// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "args": [{"out": 64}]}
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
  __shared__ float tile[32];
  const unsigned rank = cluster_rank();
#ifdef FIXED
  CLUSTER_SYNC();
#endif
  REMOTE_STORE(mapped(ADDR(&tile[threadIdx.x]), rank ^ 1), 1.0f + rank);  // FAULT cluster_lifetime
  CLUSTER_SYNC();
  y[rank * 32 + threadIdx.x] = tile[threadIdx.x];  // ALSO uninitialized_read
}
