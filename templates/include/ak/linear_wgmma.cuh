// SPDX-License-Identifier: Apache-2.0
// A linear layer with wgmma (sm_90a): packed weights as the A operand from registers, rows of x as the B operand.
//
// The product is y^T = W x^T: 64 lines of the weight are the instruction's rows, BM rows of x (8 to 256) its columns,
// so that few rows waste nothing. Weights are packed (packed_weights.cuh): a lane's 16 bytes are its operand, unpacked
// in registers while the products before are under way, and never written to shared memory again. One warp fetches
// slices of BK into a ring of STAGES: x through a tensor map, weights as bulk copies, which L2 drops first where no
// other tile reads them. CONSUMERS warp groups have 64 * BLOCKS lines each and all BM rows.
//
//   shared memory:  [x: panels of BM lines of 128 swizzled bytes | weights: strips of 64 lines | scales of x] x STAGES
//                   sums [columns of a chunk][64 * BLOCKS + 4] for every consumer   barriers: full, empty x STAGES
//
// SPLIT_K blocks of a cluster share a tile along k. Each leaves its sums in its shared memory, where the ring was, and
// every block adds a share of the tile up in the order of ranks: no workspace, no second launch, the same bits each
// time. SHARE blocks of a cluster have tiles of neighbouring lines and the same rows: each fetches its share of x for
// all. PROMOTE > 0: after so many slices the sums are added, times scales, to float registers of their own.
#pragma once

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/copies.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/packed_weights.cuh>
#include <ak/swizzle.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>

namespace ak {

/// The layer's work as a type. W: format of the weights. SCALED: scales along k (BlockScales), promoted every slice.
template <class W, int CONSUMERS, int BLOCKS, int BM, int BK, int STAGES, int SPLIT_K, int SHARE, int GROUP,
          int PROMOTE = 0, bool SCALED = false>
struct LinearWgmma {
  using X = typename W::X;
  using Sum = typename X::Sum;
  static constexpr int kThreads = (CONSUMERS + 1) * 128, kCluster = SPLIT_K * SHARE;
  static constexpr int kGroupLines = 64 * BLOCKS, kLines = kGroupLines * CONSUMERS, kStrips = kLines / 64;
  static constexpr int kPanels = BK * X::kBytes / 128, kPanelBytes = BM * 128, kXBytes = kPanels * kPanelBytes;
  static constexpr int kBlocks = BK / W::kDepth, kStripBytes = kBlocks * W::kBytes, kUnits = kBlocks * W::kUnits;
  static constexpr int kScalesAt = kXBytes + kStrips * kStripBytes;
  static constexpr int kStageBytes = (kScalesAt + (SCALED ? BM * 4 : 0) + 1023) / 1024 * 1024;
  static constexpr int kChunk = SPLIT_K > 1 ? BM : BM < 32 ? BM : BM % 32 == 0 ? 32 : BM % 16 == 0 ? 16 : 8;
  static constexpr int kPitch = kGroupLines + 4;  // neighbouring pairs of columns then meet different banks
  static constexpr int kChunkBytes = CONSUMERS * kChunk * kPitch * 4;
  static constexpr int kRingBytes = STAGES * kStageBytes;
  /// Dynamic shared memory of the launch; the plan computes the same.
  static constexpr int kShared =
      1024 + (SPLIT_K > 1 ? (kRingBytes > kChunkBytes ? kRingBytes : kChunkBytes) : kRingBytes + kChunkBytes) +
      STAGES * 16;
  static_assert(SPLIT_K == 1 || SHARE == 1);
  static_assert(BK % W::kDepth == 0 && kUnits % 2 == 0 && BM % (8 * SHARE) == 0);
  static_assert(!SCALED || (PROMOTE == 1 && BK == 128));

  using Ring = ak::Ring<STAGES>;
  using Product = Wgmma<X, BM>;
  struct Sums {
    Sum d[BLOCKS][BM / 2];
  };

  struct Shared {
    u32 slices, full, empty;
    Sum* staged;
    __device__ u32 slice(int stage) const { return slices + stage * kStageBytes; }
  };
  struct Work {
    const unsigned char* packed;
    int rows, lines, k;
    __device__ int down() const { return (lines + kLines * SHARE - 1) / (kLines * SHARE); }
    __device__ int across() const { return (rows + BM - 1) / BM; }
    __device__ int tiles() const { return down() * across(); }
  };
  struct Tile {
    int row, line;
    TilePart part;  // slices
  };

  // Tile `index` for this block: neighbours in a cluster have neighbouring lines or neighbouring parts of k.
  static __device__ __forceinline__ Tile tile_at(const Work& work, int index, int rank) {
    const TilePlace at = grouped_place<GROUP>(index, work.down(), work.across());
    const int slices = (work.k + BK - 1) / BK;
    return {at.column * BM, (at.row * SHARE + (SHARE > 1 ? rank : 0)) * kLines,
            split_part<SPLIT_K>(index, slices, SPLIT_K > 1 ? rank : 0)};
  }

  // ---- the warp that fetches

  static __device__ __forceinline__ void fetch(const CUtensorMap* map_x, const Shared& shared, const Work& work,
                                               const Tile& tile, int slice, int stage, int rank, u64 policy) {
    const u32 to = shared.slice(stage), barrier = shared.full + stage * 8;
    barrier_expect(barrier, kXBytes + kStrips * kStripBytes);
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      const int at = slice * BK + panel * (128 / X::kBytes);
      constexpr int kShare = BM / SHARE;
      if constexpr (SHARE == 1) {
        tma_load(to + panel * kPanelBytes, map_x, barrier, at, tile.row);
      } else {
        tma_load_multicast(to + panel * kPanelBytes + rank * kShare * 128, map_x, barrier, (1 << SHARE) - 1, at,
                           tile.row + rank * kShare);
      }
    }
    const int blocks = W::blocks(work.k), last = (work.lines - 1) / 64;  // past the last strip that one again
    for (int strip = 0; strip < kStrips; ++strip) {
      const long long block = static_cast<long long>(min(tile.line / 64 + strip, last)) * blocks + slice * kBlocks;
      bulk_load(to + kXBytes + strip * kStripBytes, work.packed + block * W::kBytes, kStripBytes, barrier, policy);
    }
  }

  // Scales of the rows, by all lanes; each arrives at the barrier when its copies have ended.
  static __device__ __forceinline__ void fetch_scales(const Shared& shared, const Tile& tile, const BlockScales& scales,
                                                      int slice, int stage) {
    const u32 to = shared.slice(stage) + kScalesAt;
    for (int i = threadIdx.x % 32; i < BM; i += 32) {
      const bool inside = tile.row + i < scales.row_count;
      const float* from = scales.rows + static_cast<long long>(slice) * scales.row_count + tile.row + i;
      copy_async<4>(to + i * 4, inside ? from : scales.rows, inside);
    }
    barrier_arrive_after_copies(shared.full + stage * 8);
  }

  template <class Scales>
  static __device__ __forceinline__ void produce(const CUtensorMap* map_x, const Shared& shared, const Work& work,
                                                 int rank, const Scales& scales) {
    Ring ring;
    const u64 policy = cache_policy(work.across() == 1);  // else other tiles read the weights, too
    for (int index = blockIdx.x / kCluster; index < work.tiles(); index += gridDim.x / kCluster) {
      const Tile tile = tile_at(work, index, rank);
      for (int i = 0; i < tile.part.count; ++i) {
        barrier_wait(shared.empty + ring.stage * 8, ring.parity ^ 1);
        if (threadIdx.x % 32 == 0) fetch(map_x, shared, work, tile, tile.part.first + i, ring.stage, rank, policy);
        if constexpr (SCALED) fetch_scales(shared, tile, scales, tile.part.first + i, ring.stage);
        ring.advance();
      }
    }
  }

  // ---- the warp groups that multiply

  // Tells every block that fills this slice that this warp has read it.
  static __device__ __forceinline__ void release(const Shared& shared, int stage) {
    const int lane = threadIdx.x % 32;
    if constexpr (SHARE > 1) {
      if (lane < SHARE) barrier_arrive_at(shared.empty + stage * 8, lane);
    } else {
      if (lane == 0) barrier_arrive(shared.empty + stage * 8);
    }
  }

  // Products of a slice, a unit at a time: the operands of one are unpacked while the products of the one before run.
  // At the end the last unit's are under way. previous: stage to release once its products have ended, or -1.
  static __device__ __forceinline__ void multiply(const Shared& shared, int stage, int consumer, Sums& sums, bool first,
                                                  int previous) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    const u32 x = shared.slice(stage), weights = x + kXBytes + consumer * BLOCKS * kStripBytes;
    u32 a[2][BLOCKS][W::kSteps][4];
#pragma unroll
    for (int unit = 0; unit < kUnits; ++unit) {
      wgmma_wait<1>();
      if (unit == 1 && previous >= 0) release(shared, previous);
#pragma unroll
      for (int b = 0; b < BLOCKS; ++b) {
        const u32 block = weights + b * kStripBytes + unit / W::kUnits * W::kBytes;
        const uint4 words = load_words(block + (unit % W::kUnits * 4 + warp) * 512 + lane * 16);
        const typename W::Lines lines = W::lines(block, warp);
#pragma unroll
        for (int step = 0; step < W::kSteps; ++step) W::fragment(a[unit % 2][b][step], words, step, lines);
      }
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < W::kSteps; ++step) {
        const int at = unit * W::kSteps + step;  // in steps of 32 bytes
        const u64 rows = wgmma_operand(x + at / 4 * kPanelBytes + at % 4 * 32);
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          Product::multiply(sums.d[b], a[unit % 2][b][step], rows, first && at == 0 ? 0 : 1);
        }
      }
      wgmma_commit();
    }
  }

  // sums += parts, times the scales of this slice where there are any.
  static __device__ __forceinline__ void promote(const Shared& shared, int stage, Sums& sums, const Sums& parts,
                                                 const float (&of_lines)[BLOCKS]) {
    const u32 scales = shared.slice(stage) + kScalesAt + threadIdx.x % 4 * 8;
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
  static __device__ __forceinline__ void sum_up(const Shared& shared, Ring& ring, const Tile& tile, int consumer,
                                                Sums& sums, const Scales& scales) {
    if constexpr (PROMOTE == 0) {
      int last = -1;
      for (int i = 0; i < tile.part.count; ++i) {
        barrier_wait(ring.of(shared.full), ring.parity);
        multiply(shared, ring.stage, consumer, sums, i == 0, last);
        last = ring.stage;
        ring.advance();
      }
      wgmma_wait<0>();
      if (last >= 0) release(shared, last);
    } else {
      Sums parts;
      for (int i = 0; i < tile.part.count; ++i) {
        float of_lines[BLOCKS];
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
          of_lines[b] = scales.line(tile.part.first + i, tile.line + consumer * kGroupLines + b * 64);
        }
        barrier_wait(ring.of(shared.full), ring.parity);
        multiply(shared, ring.stage, consumer, parts, i % PROMOTE == 0, -1);
        wgmma_wait<0>();
        if (i % PROMOTE == PROMOTE - 1 || i == tile.part.count - 1) promote(shared, ring.stage, sums, parts, of_lines);
        __syncwarp();
        release(shared, ring.stage);
        ring.advance();
      }
    }
  }

  // ---- results

  // Sums of the rows of a chunk into shared memory: [row][line of this consumer].
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

  template <class Store>
  static __device__ __forceinline__ void write_tile(const Shared& shared, const Work& work, const Tile& tile,
                                                    int consumer, const Sums& sums, const Store& store) {
    constexpr int kAcross = kGroupLines / Store::kLines;
    Sum* staged = shared.staged + consumer * kChunk * kPitch;
    const int first_line = tile.line + consumer * kGroupLines;
#pragma unroll
    for (int chunk = 0; chunk < BM / kChunk; ++chunk) {
      const int first_row = tile.row + chunk * kChunk;
      if (first_row >= work.rows) break;
      named_barrier<128>(consumer + 1);  // the chunk before has been read
      stage_chunk(staged, sums, chunk);
      named_barrier<128>(consumer + 1);
      for (int i = threadIdx.x % 128; i < kChunk * kAcross; i += 128) {
        const int row = i / kAcross, line = i % kAcross * Store::kLines;
        if (first_row + row < work.rows && first_line + line < work.lines) {
          Sum values[Store::kLines];
          load_sums(values, shared_address(staged + row * kPitch + line));
          store(values, first_row + row, first_line + line);
        }
      }
    }
  }

  // A share of the tile for this block of the cluster: adds the sums of all ranks, in their order.
  template <class Store>
  static __device__ __forceinline__ void write_share(const Shared& shared, const Work& work, const Tile& tile, int rank,
                                                     const Store& store) {
    constexpr int kAcross = kLines / Store::kLines;
    const u32 staged = shared_address(shared.staged);
    const int rows = min(BM, work.rows - tile.row);
    for (int i = rank * CONSUMERS * 128 + threadIdx.x; i < rows * kAcross; i += SPLIT_K * CONSUMERS * 128) {
      const int row = i / kAcross, line = i % kAcross * Store::kLines;
      if (tile.line + line >= work.lines) continue;
      const int consumer = line / kGroupLines;
      const u32 at = staged + ((consumer * kChunk + row) * kPitch + line % kGroupLines) * 4;
      Sum sums[Store::kLines] = {};
#pragma unroll
      for (int from = 0; from < SPLIT_K; ++from) {
        const u32 remote = remote_address(at, from);
#pragma unroll
        for (int e = 0; e < Store::kLines; e += 4) {
          const float4 bits = load_remote_four(remote + e * 4);
          sums[e] += reinterpret_cast<const Sum&>(bits.x);
          sums[e + 1] += reinterpret_cast<const Sum&>(bits.y);
          sums[e + 2] += reinterpret_cast<const Sum&>(bits.z);
          sums[e + 3] += reinterpret_cast<const Sum&>(bits.w);
        }
      }
      store(sums, tile.row + row, tile.line + line);
    }
  }

  // ---- the kernel

  /// All of it. map_x: boxes of 128 bytes of k by BM / SHARE rows, swizzled; x's rows are multiples of 16 bytes.
  template <class Scales, class Store>
  static __device__ __forceinline__ void run(unsigned char* memory, const CUtensorMap* map_x,
                                             const unsigned char* packed, int rows, int lines, int k,
                                             const Scales& scales, const Store& store) {
    Shared shared;
    shared.slices = (shared_address(memory) + 1023) / 1024 * 1024;
    unsigned char* aligned = memory + (shared.slices - shared_address(memory));
    shared.staged = reinterpret_cast<Sum*>(aligned + (SPLIT_K > 1 ? 0 : kRingBytes));
    shared.full = shared.slices + kShared - 1024 - STAGES * 16;
    shared.empty = shared.full + STAGES * 8;
    if (threadIdx.x == 0) {
      prefetch_map(map_x);
      for (int stage = 0; stage < STAGES; ++stage) {
        barrier_init(shared.full + stage * 8, 1 + (SCALED ? 32 : 0));
        barrier_init(shared.empty + stage * 8, CONSUMERS * 4 * SHARE);  // 4 warps a group
      }
      publish_barriers();
    }
    __syncthreads();
    if constexpr (SHARE > 1) cluster_sync();

    const Work work{packed, rows, lines, k};
    const int rank = kCluster > 1 ? static_cast<int>(cluster_rank()) : 0, group = warp_group();
    if (group == CONSUMERS) {
      if constexpr (CONSUMERS > 1) give_registers<56>();
      if (threadIdx.x % 128 < 32) produce(map_x, shared, work, rank, scales);
      if constexpr (SPLIT_K > 1) cluster_sync();
    } else {
      if constexpr (CONSUMERS == 2) take_registers<224>();
      if constexpr (CONSUMERS == 3) take_registers<152>();
      if constexpr (CONSUMERS == 4) take_registers<104>();
      Ring ring;
      for (int index = blockIdx.x / kCluster; index < work.tiles(); index += gridDim.x / kCluster) {
        const Tile tile = tile_at(work, index, rank);
        Sums sums = {};
        sum_up(shared, ring, tile, group, sums, scales);
        if constexpr (SPLIT_K > 1) {          // such a launch has a cluster for every tile
          named_barrier<CONSUMERS * 128>(1);  // the ring has been read by all groups
          stage_chunk(shared.staged + group * kChunk * kPitch, sums, 0);
          cluster_sync();
          write_share(shared, work, tile, rank, store);
        } else {
          write_tile(shared, work, tile, group, sums, store);
        }
      }
    }
    if constexpr (kCluster > 1) cluster_sync();  // a block that is gone could not be read or arrived at
  }
};

}  // namespace ak
