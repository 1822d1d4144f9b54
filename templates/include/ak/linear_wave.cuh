// SPDX-License-Identifier: Apache-2.0
// A linear layer in one wave (sm_90a): an even share of its lines for every SM.
//
// A block has BN lines of the weights, all of k, and BM rows of x. Rows of x are the instruction's rows, 64 for each
// of BM / 64 warp groups, and BN lines of the weights its columns, of WEIGHTS matrices beside each other: any
// multiple of 8, so that lines come out even over all SMs. Both operands come through shared memory as they are.
// They have a ring each and a warp each that fills it (linear_wave_ring.cuh): the weights, which come from device
// memory, wait for no other block where x, which comes from L2, is shared.
//
//   shared memory:  [slices of x] x X_STAGES   [slices of weights] x what is left   results (linear_wave_results.cuh)
//   a slice:        DEPTH panels of 128 bytes of k, swizzled; BN lines of each of WEIGHTS matrices
//
// What no other block has a share in is asked for before the blocks of a cluster meet. Without parts of k blocks stay
// resident and take tiles in turn.
#pragma once

#include <ak/clusters.cuh>
#include <ak/linear_wave_results.cuh>
#include <ak/linear_wave_ring.cuh>
#include <ak/wgmma.cuh>

namespace ak {

// The layer's work as a type; see WaveRings.
template <class X, int WEIGHTS, int BM, int BN, int DEPTH, int X_STAGES, int SPLIT_K, int ACROSS, int DOWN>
struct LinearWave {
  using Results = WaveResults<typename X::Sum, WEIGHTS, BM, BN, SPLIT_K>;
  using Sums = typename Results::Sums;
  using Product = Wgmma<X, WEIGHTS * BN>;
  // Dynamic shared memory of the launch: all that a block can have. The plan says the same.
  static constexpr int kShared = 232448;
  static constexpr int kStageBytes = DEPTH * WEIGHTS * BN * 128 + 16;  // with barriers
  static constexpr int kLeft = kShared - 1024 - X_STAGES * (DEPTH * BM * 128 + 16) - Results::kBytes;
  static constexpr int kStages = kLeft / kStageBytes < 16 ? kLeft / kStageBytes : 16;
  static_assert(kStages >= 2, "too little shared memory for the weights");
  using Rings = WaveRings<X, WEIGHTS, BM, BN, DEPTH, X_STAGES, kStages, SPLIT_K, ACROSS, DOWN>;
  using XRing = typename Rings::XRing;
  using WeightRing = typename Rings::WeightRing;
  using Tiles = typename Rings::Tiles;
  static constexpr int kWarps = Rings::kWarps,
                       kThreads = kWarps * 32 + 64;  // warps that multiply; and two that fetch
  static constexpr int kCluster = Rings::kCluster;
  static constexpr bool kFetchTogether = ACROSS * DOWN > 1;

  // ---- the warp groups that multiply

  // Where a warp group is in both rings.
  struct Place {
    typename XRing::Place x;
    typename WeightRing::Place weights;
  };

  // Tells the blocks that fill these stages that this warp's products have read them.
  static __device__ __forceinline__ void release(const XRing& x, const WeightRing& weights,
                                                 const Tiles& tiles, const Place& at) {
    const int lane = lane_index();
    if constexpr (ACROSS > 1) {
      if (lane < ACROSS) barrier_arrive_at(x.empty(at.x.stage), tiles.rank_at(lane, tiles.down));
    } else {
      if (lane == 0) barrier_arrive(x.empty(at.x.stage));
    }
    if constexpr (DOWN > 1) {
      if (lane < DOWN) barrier_arrive_at(weights.empty(at.weights.stage), tiles.rank_at(tiles.across, lane));
    } else {
      if (lane == 0) barrier_arrive(weights.empty(at.weights.stage));
    }
  }

  static __device__ __forceinline__ void multiply(u32 x, u32 weights, Sums& sums, bool first) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < DEPTH * 4; ++step) {  // of 32 bytes
      const u32 along = step % 4 * 32, panel = step / 4;
      Product::multiply(sums.d, wgmma_operand(x + panel * Rings::kXPanel + along),
                        wgmma_operand(weights + panel * WEIGHTS * Rings::kWeightPanel + along),
                        first && step == 0 ? 0 : 1);
    }
    wgmma_commit();
  }

  // The sums of a tile over this block's slices.
  static __device__ __forceinline__ void sum_up(const XRing& x, const WeightRing& weights, const Tiles& tiles,
                                                Place& place, int group, Sums& sums) {
    Place last = place;
    for (int i = 0; i < tiles.slices.count; ++i) {
      barrier_wait(weights.full(place.weights.stage), place.weights.parity);
      barrier_wait(x.full(place.x.stage), place.x.parity);
      multiply(x.slice(place.x.stage) + group * 64 * 128, weights.slice(place.weights.stage), sums, i == 0);
      if (i > 0) {  // the products before these have ended
        wgmma_wait<1>();
        release(x, weights, tiles, last);
      }
      last = place;
      place.x.advance();
      place.weights.advance();
    }
    wgmma_wait<0>();
    release(x, weights, tiles, last);
  }

  // ---- the kernel

  // Asks L2 for the first AHEAD slices of this block's lines of `weight`, whose lines are `pitch` bytes apart, by the
  // threads that multiply: before barriers and tensor maps are there for the first copies.
  template <int AHEAD>
  static __device__ __forceinline__ void ask_ahead(const void* weight, long long pitch,
                                                   const LayerSizes& sizes) {
    if (AHEAD == 0 || threadIdx.x >= kWarps * 32) return;
    const Tiles tiles(sizes, kCluster > 1 ? static_cast<int>(cluster_rank()) : 0);
    constexpr int kLines = BN / DOWN;
    const int first_line = tiles.at(tiles.first).line + (DOWN > 1 ? tiles.down * kLines : 0);
    const int begin = tiles.slices.first * DEPTH * 128;
    const int end = min(sizes.k * X::kBytes, begin + min(AHEAD, tiles.slices.count) * DEPTH * 128);
    const auto* bytes = static_cast<const unsigned char*>(weight);
    for (int i = threadIdx.x; i < AHEAD * DEPTH * kLines; i += kWarps * 32) {
      const int line = first_line + i % kLines, at = begin + i / kLines * 128;
      if (line < sizes.lines && at < end)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(bytes + line * pitch + at) : "memory");
    }
  }

  // All of it. map_x: boxes of 128 bytes of k by BM / ACROSS rows, maps: by BN / DOWN lines, both swizzled by 128 bytes.
  template <class Follow, class Out>
  static __device__ __forceinline__ void run(unsigned char* memory, const CUtensorMap* map_x,
                                             const CUtensorMap* const (&maps)[WEIGHTS],
                                             const LayerSizes& sizes, const Follow& follow, Out* y) {
    const u32 begin = (shared_address(memory) + 1023) / 1024 * 1024,
              staged = begin + XRing::kBytes + WeightRing::kBytes;
    const u32 barriers = staged + Results::kBytes;
    const XRing x{begin, barriers};
    const WeightRing weights{begin + XRing::kBytes, barriers + X_STAGES * 16};
    const Tiles tiles(sizes, kCluster > 1 ? static_cast<int>(cluster_rank()) : 0);
    const bool once =
        sizes.rows <= BM * DOWN;  // else other tiles read the weights, too
    typename Rings::FetchX fetch_x{map_x, x, tiles,
                                   evict_normal()};
    typename Rings::FetchWeights fetch_weights{{}, weights, tiles, once ? evict_first() : evict_normal()};
#pragma unroll
    for (int w = 0; w < WEIGHTS; ++w) fetch_weights.maps[w] = maps[w];

    const int warp = uniform(warp_index());
    const bool leader = lane_index() == 0;
    int filled = 0;
    if (warp == kWarps) {
      if (leader) {
#pragma unroll
        for (int w = 0; w < WEIGHTS; ++w) prefetch_map(maps[w]);
      }
      weights.start();
      if (DOWN == 1 && leader) filled = Rings::fill_first(fetch_weights);
    } else if (warp == kWarps + 1) {
      if (leader) prefetch_map(map_x);
      x.start();
      if (ACROSS == 1 && leader) filled = Rings::fill_first(fetch_x);
    }
    __syncwarp();
    if constexpr (kCluster > 1) cluster_arrive();
    if constexpr (kFetchTogether) {
      cluster_wait();  // all blocks have their barriers
    } else {
      __syncthreads();
    }

    if (warp == kWarps) {
      if (leader) Rings::fill(fetch_weights, filled);
    } else if (warp == kWarps + 1) {
      if (leader) Rings::fill(fetch_x, filled);
    }
    __syncwarp();
    if (warp >= kWarps) {
      if constexpr (SPLIT_K > 1 && !kFetchTogether) cluster_wait();
      if constexpr (kCluster > 1) cluster_sync();
      return;
    }
    Place place;
    for (int tile = tiles.first; tile < tiles.count; tile += tiles.step) {
      const typename Rings::Tile at = tiles.at(tile);
      Sums sums;
      const typename Results::template Terms<Follow> terms(
          follow, at.row, at.line + tiles.part * Results::kShare, sizes.rows, sizes.lines);
      sum_up(x, weights, tiles, place, warp / 4, sums);
      typename Results::Own own;
      if constexpr (SPLIT_K > 1) {                      // such a launch has a cluster for every tile
        if constexpr (!kFetchTogether) cluster_wait();  // all have begun
        Results::give(staged, sums, own, tiles.part, tiles.down * ACROSS + tiles.across, ACROSS * DOWN);
        cluster_sync();
        Results::add_given(staged, own);
      } else {
        Results::take(sums, own);
        if (kCluster > 1 && tile + tiles.step >= tiles.count)
          cluster_arrive();  // reaches no other block again
      }
      Results::write(staged, own, terms, follow, y, at.row, at.line + tiles.part * Results::kShare,
                     sizes.rows, sizes.lines);
    }
    if constexpr (kCluster > 1 && SPLIT_K == 1) cluster_wait();  // a block that is gone could not be reached
  }
};

}  // namespace ak
