// SPDX-License-Identifier: Apache-2.0
// The tensor memory accelerator: boxes of tensors to and from shared memory.
//
// One thread starts a copy of a whole box; a tensor map of the launch plan describes tensor, box and swizzle.
// Coordinates are elements, innermost dimension first, and may lie outside: loads bring zeros there, stores write
// nothing. Shared memory is aligned to 128 bytes, to 1024 with the 128-byte swizzle. A load completes on a barrier that
// was told its bytes (barriers.cuh). A store is waited for in groups: commit_stores(), wait_stores.
#pragma once

#include <cuda.h>

#include <ak/threads.cuh>

namespace ak {

/// How L2 keeps what a copy brings. Costs one instruction to make, once a thread.
struct CachePolicy {
  u64 bits;
};
/// For what is read once: its lines are the first to be driven out, so that others stay.
__device__ __forceinline__ CachePolicy evict_first() {
  CachePolicy policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy.bits));
  return policy;
}

/// Brings the box at these coordinates to `to`; `barrier` counts its bytes.
__device__ __forceinline__ void tma_load(u32 to, const CUtensorMap* map, u32 barrier, int x) {
  asm volatile(
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2}], [%3];" ::"r"(to), "l"(map), "r"(x), "r"(barrier) : "memory");
}
__device__ __forceinline__ void tma_load(u32 to, const CUtensorMap* map, u32 barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
__device__ __forceinline__ void tma_load(u32 to, const CUtensorMap* map, u32 barrier, CachePolicy policy, int x,
                                         int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier), "l"(policy.bits)
      : "memory");
}
__device__ __forceinline__ void tma_load(u32 to, const CUtensorMap* map, u32 barrier, int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}
__device__ __forceinline__ void tma_load(u32 to, const CUtensorMap* map, u32 barrier, int x, int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier)
      : "memory");
}

/// The same for every block of the cluster in `blocks` (a bit a rank), at the same addresses, each with its barrier.
__device__ __forceinline__ void tma_load_multicast(u32 to, const CUtensorMap* map, u32 barrier, u16 blocks, int x,
                                                   int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(blocks) : "memory");
}
__device__ __forceinline__ void tma_load_multicast(u32 to, const CUtensorMap* map, u32 barrier, u16 blocks, int x,
                                                   int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier), "h"(blocks) : "memory");
}

__device__ __forceinline__ void tma_load_multicast(u32 to, const CUtensorMap* map, u32 barrier, u16 blocks, int x,
                                                   int y, int z, int w) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(z), "r"(w), "r"(barrier), "h"(blocks) : "memory");
}

/// The same for all BLOCKS blocks of the cluster; a plain load where that is one.
template <int BLOCKS, class... At>
__device__ __forceinline__ void tma_load_for_all(u32 to, const CUtensorMap* map, u32 barrier, At... at) {
  if constexpr (BLOCKS == 1) {
    tma_load(to, map, barrier, at...);
  } else {
    tma_load_multicast(to, map, barrier, static_cast<u16>((1 << BLOCKS) - 1), at...);
  }
}

/// Writes the box at `from` to these coordinates. fence_shared_writes() comes before, in the threads that filled it.
__device__ __forceinline__ void tma_store(const CUtensorMap* map, u32 from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(from) : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap* map, u32 from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(from) : "memory");
}
__device__ __forceinline__ void tma_store(const CUtensorMap* map, u32 from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(w), "r"(from) : "memory");
}
/// Adds the box to what is there, element by element, in order of arrival.
__device__ __forceinline__ void tma_add(const CUtensorMap* map, u32 from, int x, int y) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(from) : "memory");
}

/// Copies `bytes` neighbouring bytes without a tensor map: a multiple of 16, both ends aligned to 16.
__device__ __forceinline__ void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

/// The same under an L2 policy, cache_policy() of copies.cuh.
__device__ __forceinline__ void bulk_load(u32 to, const void* from, u32 bytes, u32 barrier, u64 policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(to),
      "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
}

/// Closes a group of this thread's stores.
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most LEFT groups still read shared memory: those before may be overwritten.
template <int LEFT>
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
/// Waits until all groups but LEFT are written.
template <int LEFT>
__device__ __forceinline__ void wait_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(LEFT) : "memory");
}

/// Fetches a tensor map ahead of its first use.
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

}  // namespace ak
