// SPDX-License-Identifier: Apache-2.0
// What lanes, blocks and clusters find in a row, joined without a barrier of the cluster.
//
// Blocks of a cluster send each other 16 bytes a row (st.async), and wait for those alone.
#pragma once

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/threads.cuh>

namespace ak {

[[maybe_unused]] constexpr int kMostBlocksOfARow = 16;  // of a cluster of sm_90; other devices have 8

// The value of the lane whose number differs in the bits of `offset`, of a struct of words.
template <class Found>
__device__ __forceinline__ Found exchange_words(Found found, int offset) {
  static_assert(sizeof(Found) % 4 == 0 && sizeof(Found) <= 16,
                "what a row's threads find is 16 bytes at most");
  u32* words = reinterpret_cast<u32*>(&found);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Found) / 4); ++i)
    words[i] = __shfl_xor_sync(0xffffffffu, words[i], offset);
  return found;
}
// What `lanes` neighbouring lanes (a power of two) have found, the same in each.
template <class Operator, class Found>
__device__ __forceinline__ Found found_by_lanes(const Operator& op, Found found, int lanes) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    if (offset < lanes) found = op.both(found, exchange_words(found, offset));
  }
  return found;
}

// Sends 16 bytes to the shared memory of a block of the cluster, and tells its barrier; addresses are remote ones.
__device__ __forceinline__ void send_remote(u32 to, u32 barrier, uint4 words) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          to),
      "r"(words.x), "r"(words.y), "r"(words.z), "r"(words.w), "r"(barrier)
      : "memory");
}

// Joins what the THREADS threads of a block, and the blocks of its cluster, found in a row. Two sets of parts take turns.
template <int THREADS>
class RowExchange {
 public:
  struct Shared {
    uint4 of_warps[2][THREADS / 32], of_blocks[2][kMostBlocksOfARow];
    u64 met[2];
  };
  // By one thread, before publish_barriers().
  static __device__ __forceinline__ void init(Shared& shared) {
    barrier_init(shared_address(&shared.met[0]), 1);
    barrier_init(shared_address(&shared.met[1]), 1);
  }
  __device__ __forceinline__ RowExchange(Shared& shared, int rank, int blocks)
      : shared_(shared), rank_(rank), blocks_(blocks) {}

  // The same in all threads of the row, of which all take part.
  template <class Operator, class Found>
  __device__ __forceinline__ Found operator()(const Operator& op, Found found) {
    constexpr int kWarps = THREADS / 32;
    const int lane = lane_index(), turn = turn_;
    found = found_by_lanes(op, found, 32);
    if (lane == 0) *reinterpret_cast<Found*>(&shared_.of_warps[turn][warp_index()]) = found;
    named_barrier<THREADS>(1);
    if (blocks_ == 1 || warp_index() == 0) {
      found = *reinterpret_cast<const Found*>(&shared_.of_warps[turn][lane % kWarps]);
      found = found_by_lanes(op, found, kWarps);
    }
    if (blocks_ > 1) {
      const u32 met = shared_address(&shared_.met[turn]);
      if (warp_index() == 0) {
        if (lane == 0) barrier_expect(met, blocks_ * 16);
        if (lane < blocks_) {
          union {
            uint4 words;
            Found part;
          } sent;
          sent.words = make_uint4(0, 0, 0, 0);
          sent.part = found;
          send_remote(remote_address(shared_address(&shared_.of_blocks[turn][rank_]), lane),
                      remote_address(met, lane), sent.words);
        }
      }
      barrier_wait(met, parity_);
      found = *reinterpret_cast<const Found*>(&shared_.of_blocks[turn][lane % blocks_]);
      found = found_by_lanes(op, found, blocks_);
    }
    turn_ ^= 1;
    parity_ ^= turn_ == 0 ? 1 : 0;
    return found;
  }

 private:
  Shared& shared_;
  int rank_, blocks_, turn_ = 0;
  u32 parity_ = 0;
};

}  // namespace ak
