// SPDX-License-Identifier: Apache-2.0
// Stream-K: the tiles that would leave multiprocessors idle in the last round are cut along k into even shares.
//
// All rounds but the last full one are whole tiles; the slices of what is left, between one tile and two a worker, are
// lined up and cut into one share a worker. Whoever has the first slice of a tile owns it: the others leave their sums
// in a workspace, and the owner adds them in the order of slices, so that results are the same every time. A worker
// leaves one part at most, the first of its share, and owners come after it in the order of blocks: they only wait for
// blocks that began before them. Costs 8 bytes of traffic for each sum that is left, and about a microsecond from block
// to block.
#pragma once

#include <ak/elements.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>

namespace ak {

// The parts of worker `worker` of `workers`, for WgmmaPipeline; there are at least as many slices as workers.
struct StreamedTiles {
  int tile, whole, slices, worker, workers, tiles;  // tiles before `whole` are not cut
  StreamK share;

  __device__ StreamedTiles(int this_worker, int all_workers, int all_tiles, int slices_per_tile)
      : tile(this_worker), whole(whole_tiles(all_tiles, all_workers)), slices(slices_per_tile), worker(this_worker),
        workers(all_workers), tiles(all_tiles),
        share(all_tiles - whole, slices_per_tile, all_workers - 1 - this_worker, all_workers) {}

  __device__ __forceinline__ bool more() const { return tile < whole || share.more(); }
  __device__ __forceinline__ TilePart next() {
    if (tile < whole) {
      const TilePart part = {tile, 0, slices, true, true};
      tile += workers;
      return part;
    }
    TilePart part = share.next();
    part.tile += whole;
    return part;
  }
  // Whether the `i`-th worker before this one (1, 2, ...) has a part of the tile that this one owns.
  __device__ __forceinline__ bool has_part(int i, int of_tile) const {
    const long long cut = static_cast<long long>(tiles - whole) * slices;
    const long long begin = cut * (workers - 1 - worker + i) / workers;
    return i <= worker && begin < static_cast<long long>(of_tile - whole + 1) * slices;
  }

 private:
  static __device__ __forceinline__ int whole_tiles(int tiles, int workers) {
    if (tiles % workers == 0) return tiles;
    return max(tiles / workers - 1, 0) * workers;
  }
};

// Which of the two.
template <bool STREAMED>
struct TilesOfKind {
  using type = WholeTiles;
};
template <>
struct TilesOfKind<true> {
  using type = StreamedTiles;
};
// StreamedTiles or WholeTiles.
template <bool STREAMED>
using TilesOf = typename TilesOfKind<STREAMED>::type;

// Sums that warp groups leave for others, COUNT a thread. arrived: a zero for each slot when the launch begins.
template <class Sum, int COUNT>
struct LeftSums {
  Sum* sums;  // [slot][i][thread of the group]
  unsigned int* arrived;

  // Joins a tile's parts: leaves this one for another worker and is false, or adds those that others left. A worker
  // has `slots` slots, of which this group's is number `slot`. Whole tiles are complete. barrier: a named one of the
  // group.
  template <class Work, int BLOCKS, int EACH>
  __device__ __forceinline__ bool complete(Sum (&d)[BLOCKS][EACH], const Work& work, const TilePart& part, int slots,
                                           int slot, int barrier) const {
    if constexpr (kSame<Work, WholeTiles>) {
      return true;
    } else {
      return complete_streamed(d, work, part, slots, slot, barrier);
    }
  }

 private:
  template <int BLOCKS, int EACH>
  __device__ __forceinline__ bool complete_streamed(Sum (&d)[BLOCKS][EACH], const StreamedTiles& work,
                                                    const TilePart& part, int slots, int slot, int barrier) const {
    if (!part.first_part) {
      leave(d, work.worker * slots + slot, barrier);
      return false;
    }
    if (!part.last_part) {
      for (int i = 1; work.has_part(i, part.tile); ++i) join(d, (work.worker - i) * slots + slot, barrier);
    }
    return true;
  }

  // Leaves the group's sums in `slot`.
  template <int BLOCKS, int EACH>
  __device__ __forceinline__ void leave(const Sum (&d)[BLOCKS][EACH], int slot, int barrier) const {
    static_assert(BLOCKS * EACH == COUNT);
    Sum* to = sums + static_cast<long long>(slot) * COUNT * 128 + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) __stcg(to + i * 128, d[i / EACH][i % EACH]);
    __threadfence();
    named_barrier<128>(barrier);
    if (threadIdx.x % 128 == 0) atomicExch(arrived + slot, 1u);
  }
  // Waits for what is left in `slot` and adds it.
  template <int BLOCKS, int EACH>
  __device__ __forceinline__ void join(Sum (&d)[BLOCKS][EACH], int slot, int barrier) const {
    static_assert(BLOCKS * EACH == COUNT);
    if (threadIdx.x % 128 == 0) {
      while (*static_cast<volatile unsigned int*>(arrived + slot) == 0u) __nanosleep(32);
      __threadfence();
    }
    named_barrier<128>(barrier);
    const Sum* from = sums + static_cast<long long>(slot) * COUNT * 128 + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) d[i / EACH][i % EACH] += __ldcg(from + i * 128);
  }
};

}  // namespace ak
