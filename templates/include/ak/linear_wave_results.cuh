// SPDX-License-Identifier: Apache-2.0
// Sums of linear_wave.cuh to results.
//
// Parts of k meet in shared memory, then comes what follows the sums, then rows of y.
// Threads keep their places from the product to the result: of 64 rows and BN columns a warp has 16 rows, as wgmma.cuh
// lays them out. SPLIT_K blocks of a cluster have the sums of a tile over their parts of k, and finish BN / SPLIT_K of
// its columns each: a thread writes what others finish into their shared memory, for the same thread, and adds what it
// was given to its own, in an order that never changes. Results go through 1 KiB a warp, 32 columns at a time, so that
// a warp writes whole sectors.
//
//   shared memory:  sums given by other parts   16 x 32 results a warp   two numbers for each column, a warp group
//
// Follow says what becomes of a sum: row(row) is a number for a row, column(column) two for a column, and result(sums,
// of row, of column) the result. They are asked for before the products and wait in registers.
#pragma once

#include <ak/clusters.cuh>
#include <ak/fragments.cuh>
#include <ak/linear_results.cuh>
#include <ak/swizzle.cuh>
#include <ak/vectors.cuh>

namespace ak {

// For what follows no numbers of rows and columns.
struct NoTerms {
  static constexpr bool kTerms = false;
  __device__ __forceinline__ float row(int) const { return 1.0f; }
  __device__ __forceinline__ float2 column(int) const { return make_float2(1.0f, 0.0f); }
};

template <class Sum, int WEIGHTS, int BM, int BN, int SPLIT_K>
struct WaveResults {
  static constexpr int kShare = BN / SPLIT_K, kEach = kShare / 2;  // columns of a block, sums of a thread
  static constexpr int kThreads = BM * 2;
  static constexpr int kGivenBytes = (SPLIT_K - 1) * WEIGHTS * kEach * 4 * kThreads;
  static constexpr int kStagedBytes = BM / 16 * 1024, kTermBytes = BM / 64 * kShare * 8;
  static constexpr int kBytes = kGivenBytes + kStagedBytes + kTermBytes;
  static_assert(BN % (8 * SPLIT_K) == 0);

  struct Sums {
    Sum d[WEIGHTS * BN / 2];  // of the first matrix's BN columns, then of the next one's
  };
  struct Own {
    Sum d[WEIGHTS][kEach];
  };

  // Numbers that a thread asks for: of its two rows, and of every 128th column.
  template <class Follow>
  struct Terms {
    float rows[2];
    float2 columns[(kShare + 127) / 128];
    // row, column: of the block's first result.
    __device__ __forceinline__ Terms(const Follow& follow, int row, int column, int row_count,
                                     int column_count) {
      if constexpr (Follow::kTerms) {
        const int own_row = row + warp_index() * 16 + lane_index() / 4;
        rows[0] = follow.row(min(own_row, row_count - 1)),
        rows[1] = follow.row(min(own_row + 8, row_count - 1));
#pragma unroll
        for (int i = 0; i < (kShare + 127) / 128; ++i) {
          columns[i] =
              follow.column(min(column + i * 128 + static_cast<int>(threadIdx.x % 128), column_count - 1));
        }
      }
    }
  };

  // ---- parts of k

  // Sums of a tile that was not split.
  static __device__ __forceinline__ void take(const Sums& sums, Own& own) {
#pragma unroll
    for (int w = 0; w < WEIGHTS; ++w) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) own.d[w][i] = sums.d[w * kEach + i];
    }
  }
  // Where a thread's sums i to i + 3 from another part are: for this block, as the `from`-th that gives.
  static __device__ __forceinline__ u32 place(u32 given, int from, int w, int i) {
    return given + (((from * WEIGHTS + w) * kEach + i) / 4 * kThreads + threadIdx.x) * 16;
  }
  // Gives the sums that other parts finish to block rank + p * step of the cluster, which has part p, and keeps its own.
  static __device__ __forceinline__ void give(u32 given, const Sums& sums, Own& own, int part, int rank,
                                              int step) {
#pragma unroll
    for (int p = 0; p < SPLIT_K; ++p) {
#pragma unroll
      for (int w = 0; w < WEIGHTS; ++w) {
        const Sum* from = sums.d + w * (BN / 2) + p * kEach;
        if (p == part) {
#pragma unroll
          for (int i = 0; i < kEach; ++i) own.d[w][i] = from[i];
        } else {
#pragma unroll
          for (int i = 0; i < kEach; i += 4) {
            u32 words[4];
#pragma unroll
            for (int e = 0; e < 4; ++e) words[e] = reinterpret_cast<const u32&>(from[i + e]);
            const u32 to = remote_address(place(given, part - (part > p), w, i), rank + p * step);
            asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]),
                         "r"(words[1]), "r"(words[2]), "r"(words[3])
                         : "memory");
          }
        }
      }
    }
  }
  // Adds the sums that others gave.
  static __device__ __forceinline__ void add_given(u32 given, Own& own) {
#pragma unroll
    for (int from = 0; from < SPLIT_K - 1; ++from) {
#pragma unroll
      for (int w = 0; w < WEIGHTS; ++w) {
#pragma unroll
        for (int i = 0; i < kEach; i += 4) {
          Sum four[4];
          load_sums(four, place(given, from, w, i));
#pragma unroll
          for (int e = 0; e < 4; ++e) own.d[w][i + e] += four[e];
        }
      }
    }
  }

  // ---- results

  // Shows the numbers of columns to the warp group.
  template <class Follow>
  static __device__ __forceinline__ void show(u32 columns, const Terms<Follow>& terms) {
    const int barrier = 1 + warp_index() / 4;
    named_barrier<128>(barrier);  // those of the tile before have been read
#pragma unroll
    for (int i = 0; i < (kShare + 127) / 128; ++i) {
      const int column = i * 128 + threadIdx.x % 128;
      if (column < kShare) {
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(columns + column * 8), "f"(terms.columns[i].x),
                     "f"(terms.columns[i].y)
                     : "memory");
      }
    }
    named_barrier<128>(barrier);
  }

  // Eight columns of this thread's two rows: two results of each.
  template <class Out, class Follow>
  static __device__ __forceinline__ void finish(u32 (&words)[2], const Own& own, int eight, u32 columns,
                                                const Terms<Follow>& terms, const Follow& follow) {
    float of[4] = {1.0f, 0.0f, 1.0f, 0.0f};  // of both columns
    if constexpr (Follow::kTerms) load_sums(of, columns + (eight * 8 + lane_index() % 4 * 2) * 8);
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      Pack<Out, 2> pack;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float sums[WEIGHTS];
#pragma unroll
        for (int w = 0; w < WEIGHTS; ++w) sums[w] = static_cast<float>(own.d[w][eight * 4 + low * 2 + e]);
        const float row = Follow::kTerms ? terms.rows[low] : 1.0f;
        pack.value[e] = static_cast<Out>(follow.result(sums, row, make_float2(of[e * 2], of[e * 2 + 1])));
      }
      words[low] = pack.raw;
    }
  }

  // Writes the block's share of a tile, whose first result is y[row][column].
  template <class Follow, class Out>
  static __device__ __forceinline__ void write(u32 memory, const Own& own, const Terms<Follow>& terms,
                                               const Follow& follow, Out* y, int row, int column, int rows,
                                               int columns) {
    const int lane = lane_index(), warp = warp_index();
    const u32 staged = memory + kGivenBytes + warp * 1024;
    const u32 shown = memory + kGivenBytes + kStagedBytes + warp / 4 * kShare * 8;
    if constexpr (Follow::kTerms) show(shown, terms);
#pragma unroll
    for (int first = 0; first < kShare; first += 32) {
#pragma unroll
      for (int at = first; at < first + 32 && at < kShare; at += 16) {
        u32 left[2], right[2];
        finish<Out>(left, own, at / 8, shown, terms, follow);
        const bool both = at + 8 < kShare;  // else the same twice
        finish<Out>(right, own, at / 8 + (both ? 1 : 0), shown, terms, follow);
        const int chunk = (at - first) / 8 + (both ? lane / 16 : 0);
        store_matrices(staged + swizzled<64>(lane % 16, chunk), left[0], left[1], right[0], right[1]);
      }
      __syncwarp();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int of_warp = half * 8 + lane / 4, eight = first + lane % 4 * 8;
        const int to_row = row + warp * 16 + of_warp, to_column = column + eight;
        if (eight >= kShare || to_row >= rows || to_column >= columns) continue;
        Pack<Out, 8> results;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(results.raw.x), "=r"(results.raw.y), "=r"(results.raw.z), "=r"(results.raw.w)
                     : "r"(staged + swizzled<64>(of_warp, lane % 4))
                     : "memory");
        store_eight(y + static_cast<long long>(to_row) * columns + to_column, results.value,
                    columns - to_column, columns % 8 == 0);
      }
      __syncwarp();
    }
  }
};

}  // namespace ak
