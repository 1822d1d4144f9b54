// SPDX-License-Identifier: Apache-2.0
// A linear layer with wgmma (sm_90a): packed weights as the A operand from registers, rows of x as the B operand.
//
// The product is y^T = W x^T: 64 lines of the weight are the instruction's rows, BM rows of x (8 to 256) its columns,
// so that few rows waste nothing. Weights come packed (packed_weights.cuh) through a ring of slices (linear_ring.cuh): a
// lane's 16 bytes are its operand, unpacked in registers while the products before are under way, and never written to
// shared memory again. CONSUMERS warp groups have 64 * BLOCKS lines each and all BM rows. K_GROUPS of them have the same
// lines and take slices in turn: where few tiles leave an SM one, it unpacks and multiplies for several.
//
//   shared memory:  the ring   sums or results for every consumer   barriers of the ring
//
// Blocks that share a tile along k leave their sums where the ring was, and each adds a share of the tile up, in the
// order of ranks: no workspace, no second launch, the same bits each time. PROMOTE > 0: after so many slices sums are
// added, times scales, to float registers of their own.
//
// Sums become results in one of two ways: staged in shared memory for all threads (linear_staging.cuh), or by the
// threads that have them (linear_exchange.cuh). The latter is for few rows, where a block has one tile: it also asks for
// its first slices before its groups meet, and has products of 64 bytes of k under way at once.
#pragma once

#include <ak/clusters.cuh>
#include <ak/linear_exchange.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_ring.cuh>
#include <ak/linear_slice.cuh>
#include <ak/linear_staging.cuh>

namespace ak {

// How sums become results: staged, or by the threads that have them.
enum class LinearEnd { staged, exchange };
template <LinearEnd END>
struct LinearEndOf {
  template <class Sum, int... SIZES>
  using Type = LinearExchange<Sum, SIZES...>;
};
template <>
struct LinearEndOf<LinearEnd::staged> {
  template <class Sum, int... SIZES>
  using Type = LinearStaging<Sum, SIZES...>;
};

// The layer's work as a type. W: format of the weights. SCALED: scales along k (BlockScales), promoted every slice.
template <class W, int CONSUMERS, int BLOCKS, int BM, int BK, int STAGES, int SPLIT_K, int SHARE, int GROUP,
          int K_GROUPS = 1, int PROMOTE = 0, bool SCALED = false, LinearEnd END = LinearEnd::staged>
struct LinearWgmma {
  using X = typename W::X;
  using Sum = typename X::Sum;
  static constexpr bool kExchange = END == LinearEnd::exchange;

  using Groups = LinearGroups<Sum, CONSUMERS, K_GROUPS, BLOCKS, BM>;
  using Sums = typename Groups::Sums;
  using Share = typename Groups::Share;
  using End = typename LinearEndOf<END>::template Type<Sum, CONSUMERS, K_GROUPS, BLOCKS, BM, SPLIT_K>;
  static constexpr int kThreads = (CONSUMERS + 1) * 128;
  static constexpr int kGroupLines = Groups::kGroupLines, kChunkBytes = End::kBytes;
  using Ring = LinearRing<W, Groups::kLineGroups, Groups::kLines, BM, BK, STAGES, SPLIT_K, SHARE, GROUP, SCALED>;
  using Slice = LinearSlice<W, Ring, Sums, BLOCKS, BM, BK, kExchange>;
  using Place = typename Ring::Place;
  using Tile = typename Ring::Tile;
  static constexpr bool kMeet = End::kMeet;  // sums of several are added up, in the memory of the ring
  static constexpr int kBarriersAt =         // from the first multiple of 1024
      !kMeet                       ? Ring::kBytes + kChunkBytes
      : Ring::kBytes > kChunkBytes ? Ring::kBytes
                                   : kChunkBytes;
  // Dynamic shared memory of the launch; the plan computes the same.
  static constexpr int kShared = 1024 + kBarriersAt + STAGES * 16;
  // Every group keeps a slice until it has the next one, and one more has to be on its way.
  static_assert(K_GROUPS < STAGES);
  static_assert(!SCALED || (PROMOTE == 1 && BK == 128));

  // ---- sums

  // sums += parts, times the scales of this slice where there are any.
  static __device__ __forceinline__ void promote(const Ring& ring, int stage, Sums& sums, const Sums& parts,
                                                 const float (&of_lines)[BLOCKS]) {
    const u32 scales = ring.slice(stage) + Ring::kScalesAt + threadIdx.x % 4 * 8;
#pragma unroll
    for (int c = 0; c < BM / 8; ++c) {
      float2 of_rows = {1.0f, 1.0f};
      if constexpr (SCALED) {
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                     : "=f"(of_rows.x), "=f"(of_rows.y)
                     : "r"(scales + c * 32)
                     : "memory");
      }
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const float first = of_rows.x * of_lines[b], second = of_rows.y * of_lines[b];
#pragma unroll
        for (int e = 0; e < 4; ++e) sums.d[b][c * 4 + e] += parts.d[b][c * 4 + e] * (e % 2 == 0 ? first : second);
      }
    }
  }

  template <class Scales>
  static __device__ __forceinline__ void sum_up(const Ring& ring, Place& place, const Tile& tile, const Share& share,
                                                Sums& sums, const Scales& scales) {
    const int count = tile.part.count;
    if constexpr (PROMOTE == 0) {
      int last = -1;
      for (int i = 0; i < count; ++i) {
        if (share.takes(i)) {
          barrier_wait(place.of(ring.full), place.parity);
          Slice::multiply(ring, place.stage, share.lines, sums, last < 0, last);
          last = place.stage;
        }
        place.advance();
      }
      wgmma_wait<0>();
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) keep_behind(sums.d[b]);
      Slice::give_back(ring, last);
    } else {
      Sums parts;
      for (int i = 0, taken = 0; i < count; ++i) {
        if (share.takes(i)) {
          float of_lines[BLOCKS];
#pragma unroll
          for (int b = 0; b < BLOCKS; ++b) {
            of_lines[b] = scales.line(tile.part.first + i, tile.line + share.lines * kGroupLines + b * 64);
          }
          barrier_wait(place.of(ring.full), place.parity);
          Slice::multiply(ring, place.stage, share.lines, parts, taken % PROMOTE == 0, -1);
          wgmma_wait<0>();
          ++taken;
          if (taken % PROMOTE == 0 || i + K_GROUPS >= count) promote(ring, place.stage, sums, parts, of_lines);
          Slice::give_back(ring, place.stage);
        }
        place.advance();
      }
    }
  }

  // ---- the kernel

  // All of it. map_x: boxes of 128 bytes of k by BM / SHARE rows, swizzled; x's rows are multiples of 16 bytes.
  template <class Scales, class Store>
  static __device__ __forceinline__ void run(unsigned char* memory, const CUtensorMap* map_x,
                                             const unsigned char* packed, int rows, int lines, int k,
                                             const Scales& scales, const Store& store) {
    const u32 first = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned char* aligned = memory + (first - shared_address(memory));
    Sum* staged = reinterpret_cast<Sum*>(aligned + (kMeet ? 0 : Ring::kBytes));
    const Ring ring{first, first + kBarriersAt, first + kBarriersAt + STAGES * 8};
    const LinearWork work{packed, rows, lines, k};
    const int rank = Ring::kCluster > 1 ? static_cast<int>(cluster_rank()) : 0;
    const int group = warp_group();
    const Share share(group);
    int filled = 0;
    if (threadIdx.x == CONSUMERS * 128) {
      prefetch_map(map_x);
      ring.start();
      if constexpr (kExchange && SHARE == 1 && !SCALED) filled = ring.fill_first(map_x, work, rank);
    }
    __syncthreads();
    if constexpr (SHARE > 1) cluster_sync();

    if (group == CONSUMERS) {
      if constexpr (CONSUMERS > 1) give_registers<56>();
      if (threadIdx.x % 128 < 32) ring.fill(map_x, work, rank, scales, uniform(filled));
      __syncwarp();
      if constexpr (SPLIT_K > 1) cluster_sync();
    } else {
      if constexpr (CONSUMERS == 2) take_registers<224, 2, 56>();
      if constexpr (CONSUMERS == 3) take_registers<152, 3, 56>();
      if constexpr (CONSUMERS == 4) take_registers<104, 4, 56>();
      Place place;
      constexpr int kCluster = Ring::kCluster;
      for (int index = blockIdx.x / kCluster; index < Ring::tiles(work); index += gridDim.x / kCluster) {
        const Tile tile = Ring::tile_at(work, index, rank);
        Sums sums = {};
        sum_up(ring, place, tile, share, sums, scales);
        if constexpr (kMeet) {  // such a launch has a cluster for every tile
          named_barrier<CONSUMERS * 128>(1);  // the ring has been read by all groups
          End::meet(staged, work, tile, share, sums, rank, store);
        } else {
          End::write_tile(staged, work, tile, share, sums, store);
        }
      }
    }
    // A block that is gone could not be read or arrived at.
    if constexpr (Ring::kCluster > 1) cluster_sync();
  }
};

}  // namespace ak
