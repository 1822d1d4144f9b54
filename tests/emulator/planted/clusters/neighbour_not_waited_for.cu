// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [64], "cluster": [2], "args": [{"in": 128}, {"out": 128}]}
// __syncthreads orders one block only.
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
  __shared__ float tile[64];
  const unsigned rank = cluster_rank();
  CLUSTER_SYNC();
  tile[threadIdx.x] = x[rank * 64 + threadIdx.x];  // ALSO shared_race
#ifdef FIXED
  CLUSTER_SYNC();
#else
  __syncthreads();
#endif
  float v;
  REMOTE_LOAD(v, mapped(ADDR(&tile[threadIdx.x]), rank ^ 1));  // FAULT shared_race  // ALSO uninitialized_read
  CLUSTER_SYNC();
  y[rank * 64 + threadIdx.x] = v;
}
