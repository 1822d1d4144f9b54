// SPDX-License-Identifier: Apache-2.0
// {"grid": [2], "block": [32], "cluster": [2], "args": [{"in": 256}, {"out": 256}]}
// The next tile overwrites what the other block still reads.
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
  for (int i = 0; i < 4; ++i) {
    tile[threadIdx.x] = x[(i * 2 + rank) * 32 + threadIdx.x];  // FAULT shared_race
    CLUSTER_SYNC();
    float v;
    REMOTE_LOAD(v, mapped(ADDR(&tile[31 - threadIdx.x]), rank ^ 1));  // ALSO shared_race
    y[(i * 2 + rank) * 32 + threadIdx.x] = v;
#ifdef FIXED
    CLUSTER_SYNC();
#endif
  }
  CLUSTER_SYNC();
}
