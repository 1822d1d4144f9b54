// SPDX-License-Identifier: Apache-2.0
// The product of a block's tile by mma.sync (sm_80 and later), where the lines of both operands run along k.
//
// A tile is BM lines of A and BN lines of B (columns of B, each along k); a warp makes WM x WN of it. Slices of BYTES
// bytes of k come through a ring of STAGES in shared memory by cp.async, swizzled so that neither copies nor ldmatrix
// meet a bank twice. Fragments are loaded one step of 32 bytes ahead, also across slices. Where lines lie is the
// caller's: rows may be gathered, and slices may be anywhere in the lines.
//
//   shared memory:  [BM lines of A | BN lines of B] x STAGES; afterwards 16 rows of results for every warp
#pragma once

#include <ak/copies.cuh>
#include <ak/fragments.cuh>
#include <ak/mma.cuh>
#include <ak/swizzle.cuh>
#include <ak/vectors.cuh>

namespace ak {

// This thread's share of copying LINES lines, BYTES (64 or 128) bytes of each at a time: 16 bytes of every kApart-th
// line. Where those begin it keeps as distances from the tensor's begin, in chunks of 16 bytes: a register each.
template <int LINES, int BYTES, int THREADS>
struct LineCopies {
  static constexpr int kChunks = BYTES / 16, kApart = THREADS / kChunks, kCopies = LINES / kApart;
  static_assert(kCopies * kApart == LINES, "all threads copy alike");
  static constexpr u32 kZeros = 0xffffffffu;
  const unsigned char* tensor;
  u32 lines[kCopies];

  // line_at(i): where line i begins, aligned to 16 bytes and less than 64 GiB from `from`, where the tensor begins; or
  // nullptr for a line of zeros.
  template <class LineAt>
  __device__ __forceinline__ LineCopies(const void* from, LineAt line_at)
      : tensor(static_cast<const unsigned char*>(from)) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const void* line = line_at(static_cast<int>(threadIdx.x) % THREADS / kChunks + i * kApart);
      lines[i] = line == nullptr ? kZeros : static_cast<u32>((static_cast<const unsigned char*>(line) - tensor) / 16);
    }
  }
  // Starts copying bytes [offset, offset + BYTES) of every line to `tile`; zeros from byte `end` on.
  __device__ __forceinline__ void start(u32 tile, long long offset, long long end) const {
    const int chunk = static_cast<int>(threadIdx.x) % kChunks, line = static_cast<int>(threadIdx.x) % THREADS / kChunks;
    const unsigned char* from = tensor + offset + chunk * 16;
    const bool within = offset + chunk * 16 < end;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool inside = within && lines[i] != kZeros;
      copy_async(tile + swizzled<BYTES>(line + i * kApart, chunk), inside ? from + lines[i] * 16ull : tensor, inside);
    }
  }
};

template <class In, int BM, int BN, int WM, int WN, int BYTES, int STAGES>
struct BlockProduct {
  static constexpr int kWarpsN = BN / WN, kWarps = BM / WM * kWarpsN, kThreads = kWarps * 32;
  static constexpr int kBlocksM = WM / 16, kBlocksN = WN / 8, kSteps = BYTES / 32;
  static constexpr int kStageBytes = (BM + BN) * BYTES;
  static_assert(WM % 16 == 0 && WN % 16 == 0 && STAGES >= 2);
  // sums[i][j] of a thread: d of mma.cuh of rows 16 i and columns 8 j of the warp's tile.
  using Sums = float[kBlocksM][kBlocksN][4];
  using CopiesA = LineCopies<BM, BYTES, kThreads>;
  using CopiesB = LineCopies<BN, BYTES, kThreads>;

  static __device__ __forceinline__ int warp_row() { return warp_index() / kWarpsN * WM; }
  static __device__ __forceinline__ int warp_column() { return warp_index() % kWarpsN * WN; }

  // Adds the products of `slices` slices to `sums`. start(slice, a, b) starts the copies of a slice to those addresses;
  // done(slice) follows when its products are in the sums. Begins and ends with shared memory free for all.
  template <class Start, class Done>
  static __device__ __forceinline__ void add(Sums& sums, u32 memory, int slices, Start start, Done done) {
    if (slices == 0) return;
    const auto fetch = [&](int slice) {
      const u32 to = memory + slice % STAGES * kStageBytes;
      if (slice < slices) start(slice, to, to + BM * BYTES);
      commit_copies();  // empty ones keep the count of groups under way the same
    };
    for (int slice = 0; slice < STAGES - 1; ++slice) fetch(slice);
    u32 a[2][kBlocksM][4], b[2][WN / 16][4];
    const auto load = [&](int into, int stage, int step) {
      const u32 from = memory + stage * kStageBytes;
      load_lines<kBlocksM>(a[into], from, warp_row(), step);
      load_lines<WN / 16>(b[into], from + BM * BYTES, warp_column(), step);
    };
    wait_copies<STAGES - 2>();
    __syncthreads();
    load(0, 0, 0);
    int stage = 0;
    for (int slice = 0; slice < slices; ++slice) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        if (step == kSteps - 1) {  // everyone has loaded the last of this slice, and the next has arrived
          wait_copies<STAGES - 2>();
          __syncthreads();
          stage = stage + 1 == STAGES ? 0 : stage + 1;
        }
        if (step < kSteps - 1 || slice + 1 < slices) load((step + 1) % 2, stage, (step + 1) % kSteps);
        if (step == 0) fetch(slice + STAGES - 1);
#pragma unroll
        for (int i = 0; i < kBlocksM; ++i) {
#pragma unroll
          for (int j = 0; j < kBlocksN; ++j) {
            mma<In>(sums[i][j], a[step % 2][i], b[step % 2][j / 2][j % 2], b[step % 2][j / 2][2 + j % 2]);
          }
        }
      }
      done(slice);
    }
    wait_copies<0>();
    __syncthreads();
  }

 private:
  // Fragments of 16 COUNT lines from line `first` on: lines 0-7 and 8-15 of the first 16 bytes, then of the second.
  template <int COUNT>
  static __device__ __forceinline__ void load_lines(u32 (&r)[COUNT][4], u32 tile, int first, int step) {
    const int lane = lane_index();
#pragma unroll
    for (int block = 0; block < COUNT; ++block) {
      load_matrices(r[block], tile + swizzled<BYTES>(first + block * 16 + lane % 16, step * 2 + lane / 16));
    }
  }
};

// Bytes of shared memory in which store_tile stages the results of one warp.
template <class T, int BLOCKS_N>
constexpr int kStoredBytes = 16 * (BLOCKS_N * 8 + 8) * static_cast<int>(sizeof(T));

// Stores a warp's results, of 16 bits, laid out as Sums. row_at(y): where the warp's row y begins, aligned to 16 bytes,
// or nullptr where it is not to be written. Of each row `columns` are inside, a multiple of 8. `staged`: this warp's own.
template <class T, int BLOCKS_M, int BLOCKS_N, class RowAt>
__device__ __forceinline__ void store_tile(T* staged, const float (&results)[BLOCKS_M][BLOCKS_N][4], int columns,
                                           RowAt row_at) {
  constexpr int kPitch = BLOCKS_N * 8 + 8;  // rows then begin 4 banks apart
  const int lane = lane_index(), chunk = lane % BLOCKS_N;
#pragma unroll
  for (int i = 0; i < BLOCKS_M; ++i) {
#pragma unroll
    for (int j = 0; j < BLOCKS_N; ++j) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        *reinterpret_cast<u32*>(&staged[(lane / 4 + low * 8) * kPitch + j * 8 + lane % 4 * 2]) =
            pack_pair<Element<T>>(results[i][j][low * 2], results[i][j][low * 2 + 1]);
      }
    }
    __syncwarp();
#pragma unroll
    for (int y = lane / BLOCKS_N; y < 16; y += 32 / BLOCKS_N) {
      T* row = row_at(i * 16 + y);
      if (row != nullptr && chunk * 8 < columns) store(row + chunk * 8, load<8>(&staged[y * kPitch + chunk * 8]));
    }
    __syncwarp();
  }
}

}  // namespace ak
