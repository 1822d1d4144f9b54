// SPDX-License-Identifier: Apache-2.0
// Sums of a linear layer on Hopper from registers to results: an area of shared memory for every warp group.
//
// CONSUMERS warp groups have BM rows and 64 * BLOCKS lines each; K_GROUPS of them have the same lines, of which their sums
// are added up in the order of their turns, and SPLIT_K blocks of a cluster the same tile. An area is
// [rows of a chunk][64 * BLOCKS + 4]: 32 rows at a time, or all where blocks of a cluster read them.
#pragma once

#include <ak/clusters.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_ring.cuh>

namespace ak {

// The warp groups of a tile: which lines each has, and which of the slices.
template <class Sum, int CONSUMERS, int K_GROUPS, int BLOCKS, int BM>
struct LinearGroups {
  static constexpr int kGroupLines = 64 * BLOCKS, kLineGroups = CONSUMERS / K_GROUPS;
  static constexpr int kLines = kGroupLines * kLineGroups;
  static_assert(CONSUMERS % K_GROUPS == 0);

  struct Sums {
    Sum d[BLOCKS][BM / 2];
  };
  struct Share {
    int lines, turn;
    __device__ explicit Share(int consumer) : lines(consumer % kLineGroups), turn(consumer / kLineGroups) {}
    __device__ __forceinline__ bool takes(int slice) const { return K_GROUPS == 1 || slice % K_GROUPS == turn; }
  };
};

template <class Sum, int CONSUMERS, int K_GROUPS, int BLOCKS, int BM, int SPLIT_K>
struct LinearStaging {
  using Groups = LinearGroups<Sum, CONSUMERS, K_GROUPS, BLOCKS, BM>;
  using Sums = typename Groups::Sums;
  using Share = typename Groups::Share;
  static constexpr int kGroupLines = Groups::kGroupLines, kLineGroups = Groups::kLineGroups;
  static constexpr bool kMeet = SPLIT_K > 1;
  static constexpr int kChunk = SPLIT_K > 1 ? BM : BM < 32 ? BM : BM % 32 == 0 ? 32 : BM % 16 == 0 ? 16 : 8;
  static constexpr int kPitch = kGroupLines + 4;  // neighbouring pairs of columns then meet different banks
  static constexpr int kArea = kChunk * kPitch, kBytes = CONSUMERS * kArea * 4;

  // Sums of the rows of a chunk into a consumer's area of shared memory: [row][line].
  static __device__ __forceinline__ void stage_chunk(Sum* staged, const Sums& sums, int chunk) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
#pragma unroll
    for (int part = 0; part < BM / kChunk; ++part) {
      if (part != chunk) continue;
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
        for (int i = 0; i < kChunk / 2; ++i) {
          const int row = i / 4 * 8 + lane % 4 * 2 + i % 2, line = b * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
          staged[row * kPitch + line] = sums.d[b][part * (kChunk / 2) + i];
        }
      }
    }
  }

  // Consumers with the same lines add their sums up, in the order of their turns.
  template <class Tile, class Store>
  static __device__ __forceinline__ void write_tile(Sum* staged, const LinearWork& work, const Tile& tile,
                                                    const Share& share, const Sums& sums, const Store& store) {
    constexpr int kAcross = kGroupLines / Store::kLines, kTogether = K_GROUPS * 128;
    Sum* first_area = staged + share.lines * kArea;
    const int first_line = tile.line + share.lines * kGroupLines;
#pragma unroll
    for (int chunk = 0; chunk < BM / kChunk; ++chunk) {
      const int first_row = tile.row + chunk * kChunk;
      if (first_row >= work.rows) break;
      named_barrier<kTogether>(share.lines + 1);  // the chunk before has been read
      stage_chunk(first_area + share.turn * kLineGroups * kArea, sums, chunk);
      named_barrier<kTogether>(share.lines + 1);
      for (int i = share.turn * 128 + threadIdx.x % 128; i < kChunk * kAcross; i += kTogether) {
        const int row = i / kAcross, line = i % kAcross * Store::kLines;
        if (first_row + row < work.rows && first_line + line < work.lines) {
          Sum values[Store::kLines];
          load_sums(values, shared_address(first_area + row * kPitch + line));
#pragma unroll
          for (int turn = 1; turn < K_GROUPS; ++turn) {
            add_sums(values, shared_address(first_area + turn * kLineGroups * kArea + row * kPitch + line));
          }
          store(values, first_row + row, first_line + line);
        }
      }
    }
  }

  // A share of the tile for this block of the cluster: adds the sums of all ranks, in their order.
  template <class Tile, class Store>
  static __device__ __forceinline__ void write_share(Sum* areas, const LinearWork& work, const Tile& tile,
                                                     int rank, const Store& store) {
    constexpr int kAcross = Groups::kLines / Store::kLines;
    const u32 staged = shared_address(areas);
    const int rows = min(BM, work.rows - tile.row);
    for (int i = rank * CONSUMERS * 128 + threadIdx.x; i < rows * kAcross; i += SPLIT_K * CONSUMERS * 128) {
      const int row = i / kAcross, line = i % kAcross * Store::kLines;
      if (tile.line + line >= work.lines) continue;
      const u32 at = staged + (line / kGroupLines * kArea + row * kPitch + line % kGroupLines) * 4;
      Sum sums[Store::kLines] = {};
#pragma unroll
      for (int from = 0; from < SPLIT_K; ++from) {
#pragma unroll
        for (int turn = 0; turn < K_GROUPS; ++turn) {
          add_remote(sums, remote_address(at + turn * kLineGroups * kArea * 4, from));
        }
      }
      store(sums, tile.row + row, tile.line + line);
    }
  }

  // A tile that blocks of a cluster share: all of its sums are staged, then every block writes a share.
  template <class Tile, class Store>
  static __device__ __forceinline__ void meet(Sum* staged, const LinearWork& work, const Tile& tile, const Share& share,
                                              const Sums& sums, int rank, const Store& store) {
    stage_chunk(staged + (share.turn * kLineGroups + share.lines) * kArea, sums, 0);
    cluster_sync();
    write_share(staged, work, tile, rank, store);
  }
};

}  // namespace ak
