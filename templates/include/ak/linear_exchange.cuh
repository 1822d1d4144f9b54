// SPDX-License-Identifier: Apache-2.0
// Sums of a linear layer on Hopper to 16-bit results, finished by the threads that have them.
//
// CONSUMERS warp groups have BM rows and 64 * BLOCKS lines each. K_GROUPS of them have the same lines, and SPLIT_K blocks
// of a cluster the same tile: these are the parties of a tile. Each finishes a share of its rows (some none, where the
// tile has fewer than eight rows for each). It leaves the sums of the other shares in its shared memory, as its threads
// hold them, and adds those of the others to its own, thread by thread, in the order of ranks and turns: the same bits
// each time.
//
// Steps are applied where wgmma left the sums. Results go through shared memory as matrices of 8 x 8, for lines of 128
// bytes of y: half the bytes that sums would take, and no bank twice.
#pragma once

#include <ak/clusters.cuh>
#include <ak/fragments.cuh>
#include <ak/linear_staging.cuh>
#include <ak/swizzle.cuh>

namespace ak {

// Four sums to shared memory, at a multiple of 16 bytes.
template <class Sum>
__device__ __forceinline__ void leave_sums(u32 to, const Sum* sums) {
  static_assert(sizeof(Sum) == 4);
  u32 words[4];
#pragma unroll
  for (int e = 0; e < 4; ++e) words[e] = reinterpret_cast<const u32&>(sums[e]);
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3]) : "memory");
}
// And back, from the shared memory of block `rank` of a cluster of CLUSTER.
template <int CLUSTER, class Sum>
__device__ __forceinline__ void fetch_sums(Sum* sums, u32 from, int rank) {
  u32 words[4];
  if constexpr (CLUSTER > 1) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(remote_address(from, rank)) : "memory");
  } else {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(from) : "memory");
  }
#pragma unroll
  for (int e = 0; e < 4; ++e) sums[e] = reinterpret_cast<const Sum&>(words[e]);
}

template <class Sum, int CONSUMERS, int K_GROUPS, int BLOCKS, int BM, int SPLIT_K>
struct LinearExchange {
  using Groups = LinearGroups<Sum, CONSUMERS, K_GROUPS, BLOCKS, BM>;
  using Sums = typename Groups::Sums;
  using Share = typename Groups::Share;
  static constexpr int kParties = K_GROUPS * SPLIT_K;
  static constexpr bool kMeet = kParties > 1;
  static constexpr int kShares = BM / 8 < kParties ? BM / 8 : kParties, kRows = BM / kShares;  // rows of a share
  static constexpr int kEach = kRows / 2;  // sums of a share that a thread has of 64 lines
  static constexpr int kShareBytes = kRows * Groups::kGroupLines * 4;
  static constexpr int kChunk = kMeet ? kRows : BM % 32 == 0 ? 32 : BM % 16 == 0 ? 16 : 8;  // rows written at a time
  static constexpr int kArea = kMeet ? kShares * kShareBytes : kChunk * Groups::kGroupLines * 2;
  static constexpr int kBytes = CONSUMERS * kArea;
  static_assert(BM % (8 * kShares) == 0);

  // ---- results

  // Two rows of one line as they go to a matrix. `sums`: of both.
  template <class Store>
  static __device__ __forceinline__ u32 results_of(const Store& store, const Sum* sums, int row, int line, int rows) {
    using Out = typename Store::Result;
    Pack<Out, 2> pack;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const float sum = static_cast<float>(sums[e]);
      pack.value[e] = static_cast<Out>(store.step(sum, min(row + e, rows - 1), min(line, store.columns - 1)));
    }
    return pack.raw;
  }

  // kChunk rows of sums, from `first` of the tile, through `area` to rows `row` and on of y; by the warp group of a
  // barrier. A lane has rows lane % 4 * 2 and the next of each eight, lines lane / 4 and eight further of a warp's 16.
  template <class Store>
  static __device__ __forceinline__ void write_rows(u32 area, const Sums& sums, int first, int row, int line,
                                                    const LinearWork& work, int barrier, const Store& store) {
    constexpr int kMatrices = kChunk / 8 * 2;  // of a warp: eights of rows by eights of lines
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
      for (int four = 0; four < kMatrices; four += 4) {
        u32 m[4];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int matrix = four + e % kMatrices;  // eight rows are two matrices, written twice
          m[e] = results_of(store, sums.d[b] + first / 2 + matrix * 2, row + matrix / 2 * 8 + lane % 4 * 2,
                            line + b * 64 + warp * 16 + matrix % 2 * 8 + lane / 4, work.rows);
        }
        const int matrix = four + lane / 8 % kMatrices;
        const int to = swizzled(matrix / 2 * 8 + lane % 8, warp * 2 + matrix % 2);
        store_matrices_transposed(area + b * kChunk * 128 + to, m[0], m[1], m[2], m[3]);
      }
    }
    named_barrier<128>(barrier);
    for (int i = threadIdx.x % 128; i < BLOCKS * kChunk * 8; i += 128) {
      const int b = i / (kChunk * 8), of_chunk = i / 8 % kChunk, eight = i % 8;
      const int column = line + b * 64 + eight * 8;
      if (row + of_chunk >= work.rows || column >= store.columns) continue;
      Pack<typename Store::Result, 8> results;
      results.raw = load_words(area + b * kChunk * 128 + swizzled(of_chunk, eight));
      store_eight(store.y + static_cast<long long>(row + of_chunk) * store.columns + column, results.value,
                  store.columns - column, store.columns % 8 == 0);
    }
  }

  // The results of a tile that a consumer has all sums of.
  template <class Tile, class Store>
  static __device__ __forceinline__ void write_tile(Sum* staged, const LinearWork& work, const Tile& tile,
                                                    const Share& share, const Sums& sums, const Store& store) {
    const int line = tile.line + share.lines * Groups::kGroupLines, barrier = share.lines + 1;
    if (line >= work.lines) return;
#pragma unroll
    for (int first = 0; first < BM; first += kChunk) {
      if (tile.row + first >= work.rows) break;
      named_barrier<128>(barrier);  // the chunk before has been read
      write_rows(shared_address(staged) + share.lines * kArea, sums, first, tile.row + first, line, work, barrier, store);
    }
  }

  // ---- parties

  static __device__ __forceinline__ u32 area_of(Sum* staged, const Share& share, int turn) {
    return shared_address(staged) + (turn * Groups::kLineGroups + share.lines) * kArea;
  }
  // Where this thread's sums `i` to `i + 3` of a share and 64 lines are in an area.
  static __device__ __forceinline__ u32 place(int share, int block, int i) {
    return share * kShareBytes + ((block * kEach + i) / 4 * 128 + threadIdx.x % 128) * 16;
  }

  // Leaves the sums of the shares of others.
  static __device__ __forceinline__ void leave(Sum* staged, const Share& own, const Sums& sums, int party) {
#pragma unroll
    for (int share = 0; share < kShares; ++share) {
      if (share == party) continue;
      const u32 area = area_of(staged, own, own.turn);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
        for (int i = 0; i < kEach; i += 4) leave_sums(area + place(share, b, i), sums.d[b] + share * kEach + i);
      }
    }
  }

  // Adds the sums of all parties for share OWN, in place. All are asked for before the first is added.
  template <int OWN>
  static __device__ __forceinline__ void join(Sum* staged, const Share& share, Sums& sums) {
    Sum parts[kParties][BLOCKS][kEach];
#pragma unroll
    for (int from = 0; from < kParties; ++from) {
      if (from == OWN) continue;
      const u32 area = area_of(staged, share, from % K_GROUPS);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
        for (int i = 0; i < kEach; i += 4) {
          fetch_sums<SPLIT_K>(parts[from][b] + i, area + place(OWN, b, i), from / K_GROUPS);
        }
      }
    }
#pragma unroll
    for (int b = 0; b < BLOCKS; ++b) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        Sum& own = sums.d[b][OWN * kEach + i];
        Sum sum = OWN == 0 ? own : parts[0][b][i];
#pragma unroll
        for (int from = 1; from < kParties; ++from) sum += from == OWN ? own : parts[from][b][i];
        own = sum;
      }
    }
  }

  // All parties of a tile, in all blocks of the cluster: leave sums, meet, finish shares.
  template <class Tile, class Store>
  static __device__ __forceinline__ void meet(Sum* staged, const LinearWork& work, const Tile& tile, const Share& share,
                                              Sums& sums, int rank, const Store& store) {
    const int party = rank * K_GROUPS + share.turn;
    leave(staged, share, sums, party);
    if constexpr (SPLIT_K > 1) {
      cluster_sync();
    } else {
      named_barrier<K_GROUPS * 128>(share.lines + 2);  // 1 is of all groups
    }
    if (tile.line + share.lines * Groups::kGroupLines < work.lines) {
      finish<0>(staged, work, tile, share, sums, party, store);
    }
  }

  // The one of the shares from OWN on that is this party's. Its number is one that the compiler knows: sums stay in
  // registers.
  template <int OWN, class Tile, class Store>
  static __device__ __forceinline__ void finish(Sum* staged, const LinearWork& work, const Tile& tile,
                                                const Share& share, Sums& sums, int party, const Store& store) {
    if (party == OWN) {
      const int row = tile.row + OWN * kRows, line = tile.line + share.lines * Groups::kGroupLines;
      if (row >= work.rows) return;
      join<OWN>(staged, share, sums);
      // Nobody reads what would be this party's own share: room for its results, of half the size.
      const u32 area = area_of(staged, share, share.turn) + OWN * kShareBytes;
      write_rows(area, sums, OWN * kRows, row, line, work, 8 + share.turn * Groups::kLineGroups + share.lines, store);
    } else if constexpr (OWN + 1 < kShares) {
      finish<OWN + 1>(staged, work, tile, share, sums, party, store);
    }
  }
};

}  // namespace ak
