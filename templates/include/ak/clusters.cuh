// SPDX-License-Identifier: Apache-2.0
// Thread block clusters: ranks, barriers, shared memory of other blocks, reductions over the cluster.
//
// Up to 8 blocks (16 where it is asked for) that run at the same time and reach each other's shared memory, at about
// the latency of L2. A block must not end while others may still reach it: cluster_sync() last.
#pragma once

#include <ak/reduce.cuh>
#include <ak/threads.cuh>

namespace ak {

/// This block's number in its cluster, and how many blocks that has.
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ u32 cluster_size() {
  u32 size;
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(size));
  return size;
}

/// Waits for all threads of the cluster; orders what they did in memory. In two halves: work between them overlaps the
/// wait.
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

/// What is at `address` of this block's shared memory, in that of block `rank`.
__device__ __forceinline__ u32 remote_address(u32 address, u32 rank) {
  u32 remote;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(address), "r"(rank));
  return remote;
}
/// Reads or writes a float, or four of them (aligned to 16 bytes), in the cluster's shared memory, at a remote_address.
__device__ __forceinline__ float load_remote(u32 address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}
__device__ __forceinline__ float4 load_remote_vector(u32 address) {
  float4 v;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ void store_remote(u32 address, float value) {
  asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

/// Adds COUNT neighbouring numbers of 32 bits to `sums`, from a remote_address that is a multiple of 16 bytes.
template <class T, int COUNT>
__device__ __forceinline__ void add_remote(T (&sums)[COUNT], u32 address) {
  static_assert(sizeof(T) == 4 && COUNT % 4 == 0);
#pragma unroll
  for (int i = 0; i < COUNT; i += 4) {
    u32 words[4];
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(address + i * 4) : "memory");
#pragma unroll
    for (int e = 0; e < 4; ++e) sums[i + e] += reinterpret_cast<const T&>(words[e]);
  }
}

/// Combines one value a block, which all its threads hold, over BLOCKS blocks (32 at most) in the order of ranks; the
/// same in every thread. Costs one barrier of the cluster and one load from another block. A cluster_sync() comes before
/// a second use of the same USE, and before the block ends. Whole warps only.
template <int BLOCKS, int USE = 0, class Operation>
__device__ __forceinline__ float reduce_cluster(float value, Operation operation) {
  __shared__ float part;
  if (threadIdx.x == 0 && threadIdx.y == 0) part = value;
  cluster_sync();
  // Lane r fetches the part of block r: only now is it known that the others have begun.
  const u32 rank = min(threadIdx.x % 32, BLOCKS - 1);
  const float parts = load_remote(remote_address(shared_address(&part), rank));
  value = __shfl_sync(0xffffffffu, parts, 0);
#pragma unroll
  for (int block = 1; block < BLOCKS; ++block) value = operation(value, __shfl_sync(0xffffffffu, parts, block));
  return value;
}

}  // namespace ak
