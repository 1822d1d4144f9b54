// SPDX-License-Identifier: Apache-2.0
// Rings of linear_wave.cuh, and who fills them.
//
// x and the weights have a ring each: STAGES stages of slices. `full` completes when all of a slice is there, `empty`
// when the warps of all blocks that share it have read it. A cluster has ACROSS tiles beside each other, whose blocks
// fetch a share of x each for all, DOWN tiles below each other, whose blocks fetch a share of the weights each, and
// SPLIT_K parts of k of each.
#pragma once

#include <ak/barriers.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>

namespace ak {

// The ring of one operand: STAGES stages of BYTES bytes, at a multiple of 1024. ARRIVALS warps read each stage.
template <int STAGES, int BYTES, int ARRIVALS>
struct OperandRing {
  using Place = Ring<STAGES>;
  static constexpr int kStages = STAGES, kBytes = STAGES * BYTES;
  u32 slices, barriers;
  __device__ __forceinline__ u32 slice(int stage) const { return slices + stage * BYTES; }
  __device__ __forceinline__ u32 full(int stage) const { return barriers + stage * 8; }
  __device__ __forceinline__ u32 empty(int stage) const { return full(STAGES + stage); }

  // Sets the barriers up, by one warp; a barrier of the block follows, or of the cluster.
  __device__ __forceinline__ void start() const {
    for (int stage = lane_index(); stage < STAGES; stage += 32) {
      barrier_init(full(stage), 1);
      barrier_init(empty(stage), ARRIVALS);
    }
    publish_barriers();
    __syncwarp();
  }
};

// Rows of x, lines of each matrix of weights, and what both are long.
struct LayerSizes {
  int rows, lines, k;
};

// Slices and who fetches them as a type. X: type of elements. STAGES: of the weights.
template <class X, int WEIGHTS, int BM, int BN, int DEPTH, int X_STAGES, int STAGES, int SPLIT_K, int ACROSS,
          int DOWN>
struct WaveRings {
  static constexpr int kWarps = BM / 16;                                   // that read
  static constexpr int kPanel = 128 / X::kBytes, kSlice = DEPTH * kPanel;  // elements of k
  static constexpr int kXPanel = BM * 128, kXBytes = DEPTH * kXPanel;
  static constexpr int kWeightPanel = BN * 128, kWeightBytes = DEPTH * WEIGHTS * kWeightPanel;
  static constexpr int kCluster = SPLIT_K * ACROSS * DOWN;
  static_assert(BM % (8 * ACROSS) == 0 && BN % (8 * DOWN) == 0);
  using XRing = OperandRing<X_STAGES, kXBytes, kWarps * ACROSS>;
  using WeightRing = OperandRing<STAGES, kWeightBytes, kWarps * DOWN>;

  // ---- tiles

  struct Tile {
    int row, line;
  };
  // This block's place in its cluster, its part of k, and the cluster's tiles: all rows of the same lines one after the
  // other, while L2 has these.
  struct Tiles {
    int across, down, part, high, count, first, step;
    TilePart slices;
    __device__ __forceinline__ Tiles(const LayerSizes& sizes, int rank)
        : across(rank % ACROSS),
          down(rank / ACROSS % DOWN),
          part(rank / (ACROSS * DOWN)),
          high((sizes.rows + BM * DOWN - 1) / (BM * DOWN)),
          count(high * ((sizes.lines + BN * ACROSS - 1) / (BN * ACROSS))),
          first(blockIdx.x / kCluster),
          step(gridDim.x / kCluster),
          slices(split_part<SPLIT_K>(0, (sizes.k + kSlice - 1) / kSlice, part)) {
      slices.count = max(slices.count, 1);  // a part without slices takes one behind the end of k: zeros
    }
    __device__ __forceinline__ Tile at(int tile) const {
      const int beside =
          high == 1 ? tile : tile / high;  // few rows wait for no division before their first copies
      return {((tile - beside * high) * DOWN + down) * BM, (beside * ACROSS + across) * BN};
    }
    // Number in the cluster of the block that has the same part of k at this place.
    __device__ __forceinline__ int rank_at(int at_across, int at_down) const {
      return (part * DOWN + at_down) * ACROSS + at_across;
    }
  };

  // ---- fetching

  // This block's share of a slice of x, for all blocks beside it.
  struct FetchX {
    const CUtensorMap* map;
    XRing ring;
    Tiles tiles;
    CachePolicy policy;
    __device__ __forceinline__ void operator()(const Tile& tile, int slice, int stage) const {
      constexpr int kRows = BM / ACROSS;
      const int first = ACROSS > 1 ? tiles.across * kRows : 0;
      barrier_expect(ring.full(stage), kXBytes);
#pragma unroll
      for (int panel = 0; panel < DEPTH; ++panel) {
        const u32 to = ring.slice(stage) + panel * kXPanel + first * 128;
        const int k = slice * kSlice + panel * kPanel;
        if constexpr (ACROSS > 1) {
          const u16 blocks = ((1 << ACROSS) - 1) << tiles.rank_at(0, tiles.down);
          tma_load_multicast(to, map, ring.full(stage), blocks, policy, k, tile.row + first);
        } else {
          tma_load(to, map, ring.full(stage), policy, k, tile.row);
        }
      }
    }
  };
  // This block's share of a slice of the weights, for all blocks above and below it.
  struct FetchWeights {
    const CUtensorMap* maps[WEIGHTS];
    WeightRing ring;
    Tiles tiles;
    CachePolicy policy;
    __device__ __forceinline__ void operator()(const Tile& tile, int slice, int stage) const {
      constexpr int kLines = BN / DOWN;
      const int first = DOWN > 1 ? tiles.down * kLines : 0;
      barrier_expect(ring.full(stage), kWeightBytes);
#pragma unroll
      for (int panel = 0; panel < DEPTH; ++panel) {
#pragma unroll
        for (int w = 0; w < WEIGHTS; ++w) {
          const u32 to = ring.slice(stage) + (panel * WEIGHTS + w) * kWeightPanel + first * 128;
          const int k = slice * kSlice + panel * kPanel;
          if constexpr (DOWN > 1) {
            u16 blocks = 0;
#pragma unroll
            for (int other = 0; other < DOWN; ++other) blocks |= 1 << tiles.rank_at(tiles.across, other);
            tma_load_multicast(to, maps[w], ring.full(stage), blocks, policy, k, tile.line + first);
          } else {
            tma_load(to, maps[w], ring.full(stage), policy, k, tile.line);
          }
        }
      }
    }
  };

  // Fills stages with the first slices of the first tile, before anyone waits for them, and says how many.
  template <class Fetch>
  static __device__ __forceinline__ int fill_first(const Fetch& fetch) {
    const Tiles& tiles = fetch.tiles;
    const int count = min(fetch.ring.kStages, tiles.slices.count);
#pragma unroll 1
    for (int i = 0; i < count; ++i) fetch(tiles.at(tiles.first), tiles.slices.first + i, i);
    return count;
  }
  // Fills stages with the slices of all tiles, of which the first `filled` are there; by one thread.
  template <class Fetch>
  static __device__ __forceinline__ void fill(const Fetch& fetch, int filled) {
    const Tiles& tiles = fetch.tiles;
    Ring<decltype(fetch.ring)::kStages> place;
    place.skip(filled);
    for (int tile = tiles.first; tile < tiles.count; tile += tiles.step) {
      for (int i = filled; i < tiles.slices.count; ++i, place.advance()) {
        barrier_wait(fetch.ring.empty(place.stage), place.parity ^ 1);
        fetch(tiles.at(tile), tiles.slices.first + i, place.stage);
      }
      filled = 0;
    }
  }
};

}  // namespace ak
