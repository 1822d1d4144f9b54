// SPDX-License-Identifier: Apache-2.0
// A tile of a linear layer with mma.sync: packed weights as A, rows of x as B.
//
// The product is y^T = W x^T: BN lines of the weight are the instruction's rows, BM rows of x its columns, so that one
// row of x costs 8 columns and not 16 rows. A warp has WN lines and all BM rows; WARPS_K warps share a tile along k and
// add up in shared memory, in their order. Slices of BK arrive through a ring of STAGES (cp.async); weights are packed
// (packed_weights.cuh), read from device memory once and from shared memory by one warp, 16 bytes a lane.
//
//   shared memory:  [x: panels of BM lines of 128 swizzled bytes | weights: BN / 64 strips] x STAGES
//   after the last slice, over them:  sums [BM][BN + 4]
//
// PROMOTED scales: fresh sums for every slice, times scales, are added to float registers of their own.
#pragma once

#include <ak/copies.cuh>
#include <ak/fragments.cuh>
#include <ak/linear_results.cuh>
#include <ak/mma.cuh>
#include <ak/packed_weights.cuh>
#include <ak/swizzle.cuh>
#include <ak/tiles.cuh>

namespace ak {

// The tile's work as a type. W: format of the weights.
template <class W, int BN, int BM, int BK, int WN, int WARPS_K, int STAGES>
struct LinearMma {
  using X = typename W::X;
  using Sum = typename X::Sum;

  static constexpr int kWarpsN = BN / WN, kThreads = kWarpsN * WARPS_K * 32;
  static constexpr int kSixteens = WN / 16;  // of lines, of a warp
  static constexpr int kPanels = BK * X::kBytes / 128;
  static constexpr int kBlocks = BK / W::kDepth;  // of packed weights, in a strip of a slice
  static constexpr int kPanelBytes = BM * 128, kXBytes = kPanels * kPanelBytes;
  static constexpr int kStripBytes = kBlocks * W::kBytes;
  static constexpr int kStageBytes = kXBytes + BN / 64 * kStripBytes;
  static constexpr int kPitch = BN + 4;               // of sums: neighbouring pairs of rows then meet different banks
  static constexpr int kUnits = kBlocks * W::kUnits;  // of a slice
  static_assert(BN % 64 == 0 && BM % 8 == 0 && kUnits % WARPS_K == 0 && BK % W::kDepth == 0);

  struct Sums {
    Sum d[kSixteens][BM / 8][4];
  };

  // Rows of x at k. WIDE: rows are multiples of 16 bytes.
  template <bool WIDE>
  static __device__ __forceinline__ void fetch_x(u32 to, const unsigned char* x, int first_row, int rows, int first_k,
                                                 int k) {
    constexpr int kChunks = kPanels * 8, kElements = 16 / X::kBytes;
#pragma unroll 4
    for (int i = threadIdx.x; i < BM * kChunks; i += kThreads) {
      const int row = i / kChunks, chunk = i % kChunks, at = first_k + chunk * kElements;
      const u32 place = to + chunk / 8 * kPanelBytes + swizzled(row, chunk % 8);
      const long long from = (static_cast<long long>(first_row + row) * k + at) * X::kBytes;
      const bool inside = first_row + row < rows && at < k;
      if constexpr (WIDE) {
        copy_async(place, inside ? x + from : x, inside);
      } else {
        u32 words[4] = {};
#pragma unroll
        for (int e = 0; e < kElements; ++e) {
          if (!inside || at + e >= k) continue;
          const u32 bits = X::kBytes == 2 ? reinterpret_cast<const u16*>(x + from)[e] : (x + from)[e];
          words[e * X::kBytes / 4] |= bits << e * X::kBytes % 4 * 8;
        }
        asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(place), "r"(words[0]), "r"(words[1]),
                     "r"(words[2]), "r"(words[3])
                     : "memory");
      }
    }
  }

  // Packed weights of a slice; zeros past the last strip and block.
  static __device__ __forceinline__ void fetch_weights(u32 to, const unsigned char* packed, int first_strip, int strips,
                                                       int first_block, int blocks, u64 policy) {
    constexpr int kChunks = kStripBytes / 16;
#pragma unroll 4
    for (int i = threadIdx.x; i < BN / 64 * kChunks; i += kThreads) {
      const int strip = i / kChunks, chunk = i % kChunks;
      const bool inside = first_strip + strip < strips && first_block + chunk * 16 / W::kBytes < blocks;
      const long long block = static_cast<long long>(first_strip + strip) * blocks + first_block;
      copy_async(to + i * 16, inside ? packed + block * W::kBytes + chunk * 16 : packed, inside, policy);
    }
  }

  // Fragments of all rows for 32 bytes of k.
  static __device__ __forceinline__ void load_rows(u32 (&b)[BM / 8][2], u32 x, int step) {
    const int lane = threadIdx.x % 32, chunk = step % 4 * 2 + lane / 8 % 2;
    const u32 panel = x + step / 4 * kPanelBytes;
    if constexpr (BM == 8) {
      load_matrices(b[0], panel + swizzled(lane % 8, chunk));
    } else {
#pragma unroll
      for (int pair = 0; pair < BM / 16; ++pair) {
        u32 four[4];
        load_matrices(four, panel + swizzled(pair * 16 + lane / 16 * 8 + lane % 8, chunk));
        b[pair * 2][0] = four[0], b[pair * 2][1] = four[1], b[pair * 2 + 1][0] = four[2], b[pair * 2 + 1][1] = four[3];
      }
    }
  }

  // Adds this warp's share of a slice.
  static __device__ __forceinline__ void multiply(Sums& sums, u32 stage, int warp_n, int warp_k) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kUnits / WARPS_K; ++i) {
      const int unit = i * WARPS_K + warp_k;
      uint4 words[kSixteens];
      typename W::Lines lines[kSixteens];
#pragma unroll
      for (int s = 0; s < kSixteens; ++s) {
        const int sixteen = warp_n * kSixteens + s;
        const u32 block = stage + kXBytes + sixteen / 4 * kStripBytes + unit / W::kUnits * W::kBytes;
        words[s] = load_words(block + (unit % W::kUnits * 4 + sixteen % 4) * 512 + lane * 16);
        lines[s] = W::lines(block, sixteen % 4);
      }
#pragma unroll
      for (int step = 0; step < W::kSteps; ++step) {
        u32 b[BM / 8][2];
        load_rows(b, stage, unit * W::kSteps + step);
#pragma unroll
        for (int s = 0; s < kSixteens; ++s) {
          u32 a[4];
          W::fragment(a, words[s], step, lines[s]);
#pragma unroll
          for (int c = 0; c < BM / 8; ++c) mma<X>(sums.d[s][c], a, b[c][0], b[c][1]);
        }
      }
    }
  }

  // sums += parts, times the scales of this slice.
  template <class Scales>
  static __device__ __forceinline__ void promote(Sums& sums, const Sums& parts, const Scales& scales, int block,
                                                 int first_row, int first_line) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 0; s < kSixteens; ++s) {
      const float of_lines = scales.line(block, first_line + s * 16);
#pragma unroll
      for (int c = 0; c < BM / 8; ++c) {
        const int row = first_row + c * 8 + lane % 4 * 2;
        const float first = of_lines * scales.row(block, row), second = of_lines * scales.row(block, row + 1);
#pragma unroll
        for (int e = 0; e < 4; ++e) sums.d[s][c][e] += parts.d[s][c][e] * (e % 2 == 0 ? first : second);
      }
    }
  }

  // Sums of all warps into shared memory, those of WARPS_K in their order.
  static __device__ __forceinline__ void stage_sums(Sum* staged, const Sums& sums, int warp_n, int warp_k) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int turn = 0; turn < WARPS_K; ++turn) {
      if (turn == warp_k) {
#pragma unroll
        for (int s = 0; s < kSixteens; ++s) {
#pragma unroll
          for (int c = 0; c < BM / 8; ++c) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              Sum* to = staged + (c * 8 + lane % 4 * 2 + e % 2) * kPitch + warp_n * WN + s * 16 + lane / 4 + e / 2 * 8;
              *to = turn == 0 ? sums.d[s][c][e] : *to + sums.d[s][c][e];
            }
          }
        }
      }
      __syncthreads();
    }
  }

  // The tile at (first_row, first_line) over the slices of `part`.
  template <bool WIDE, class Scales, class Store>
  static __device__ __forceinline__ void make_tile(unsigned char* memory, const void* x, const unsigned char* packed,
                                                   int rows, int lines, int k, int first_row, int first_line,
                                                   TilePart part, const Scales& scales, const Store& store) {
    const u32 stages = shared_address(memory);
    const int warp = threadIdx.x / 32, warp_n = warp % kWarpsN, warp_k = warp / kWarpsN;
    const int strips = (lines + 63) / 64, blocks = W::blocks(k);
    const u64 policy = cache_policy(rows <= BM);  // else other tiles read the weights, too
    const auto fetch = [&](int slice) {
      if (slice < part.count) {
        const u32 to = stages + slice % STAGES * kStageBytes;
        const int at = part.first + slice;
        fetch_x<WIDE>(to, static_cast<const unsigned char*>(x), first_row, rows, at * BK, k);
        fetch_weights(to + kXBytes, packed, first_line / 64, strips, at * kBlocks, blocks, policy);
      }
      commit_copies();
    };
    for (int slice = 0; slice < STAGES - 1; ++slice) fetch(slice);
    Sums sums = {};
    for (int slice = 0; slice < part.count; ++slice) {
      wait_copies<STAGES - 2>();
      __syncthreads();
      fetch(slice + STAGES - 1);
      const u32 stage = stages + slice % STAGES * kStageBytes;
      if constexpr (Scales::kPromoted) {
        static_assert(BK == 128, "scales are of 128 along k");
        Sums parts = {};
        multiply(parts, stage, warp_n, warp_k);
        promote(sums, parts, scales, part.first + slice, first_row, first_line + warp_n * WN);
      } else {
        multiply(sums, stage, warp_n, warp_k);
      }
    }
    wait_copies<0>();
    __syncthreads();
    Sum* staged = reinterpret_cast<Sum*>(memory);
    stage_sums(staged, sums, warp_n, warp_k);
    constexpr int kAcross = BN / Store::kLines;
    for (int i = threadIdx.x; i < BM * kAcross; i += kThreads) {
      const int row = i / kAcross, line = i % kAcross * Store::kLines;
      if (first_row + row < rows && first_line + line < lines) {
        Sum values[Store::kLines];
        load_sums(values, stages + (row * kPitch + line) * 4);
        store(values, first_row + row, first_line + line);
      }
    }
  }
  // Makes tile blockIdx.x of rows x lines; those that share weights are neighbours. memory: dynamic shared memory; x:
  // rows x k. SPLIT_K > 1: part blockIdx.y of k only.
  template <bool WIDE, int SPLIT_K = 1, class Scales, class Store>
  static __device__ __forceinline__ void run(unsigned char* memory, const void* x, const unsigned char* packed,
                                             int rows, int lines, int k, const Scales& scales, const Store& store) {
    const int across = (rows + BM - 1) / BM, tile = blockIdx.x;
    make_tile<WIDE>(memory, x, packed, rows, lines, k, tile % across * BM, tile / across * BN,
                    split_part<SPLIT_K>(tile, (k + BK - 1) / BK, blockIdx.y), scales, store);
  }
};

}  // namespace ak
