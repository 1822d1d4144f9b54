// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "args": [{"in": 64}, {"out": 64}]}
// A block may return while the other still reads its shared memory.
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

extern "C" __global__ void k(const float* x, float* y) {
  __shared__ float tile[32];
  const unsigned rank = cluster_rank();
  tile[threadIdx.x] = x[rank * 32 + threadIdx.x];
  CLUSTER_SYNC();
  float v;
  REMOTE_LOAD(v, mapped(ADDR(&tile[threadIdx.x]), rank ^ 1));  // FAULT cluster_lifetime
#ifdef FIXED
  CLUSTER_SYNC();
#endif
  y[rank * 32 + threadIdx.x] = v;
}
