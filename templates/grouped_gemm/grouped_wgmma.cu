/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [64, 128, 192, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "SHARE": {"values": [0, 1], "default": 0},
    "GROUP": {"values": [1, 4, 8, 16], "default": 8}
  },
  "starts": [
    {"BN": 256, "GROUP": 4},
    {"GROUP": 16, "SHARE": 1, "STAGES": 5},
    {"BN": 256}
  ],
  "constraints": [
    "ARCH == 90",
    "BM // CONSUMERS >= 64",
    "BM // CONSUMERS // 64 * BN <= (128 if dtype == 'float8_e4m3fn' else 256)",
    "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048 <= 232448",
    "CLUSTER > 1 or SHARE == 0"
  ],
  "let": {
    "SHARED": "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048",
    "HEIGHT": "BM if SHARE == 1 else BM * CLUSTER",
    "ACROSS": "ceil_div(N, BN * CLUSTER if SHARE == 1 else BN)",
    "MOST": "(ceil_div(M, HEIGHT) + E if layout == 'contiguous' else E * ceil_div(M, HEIGHT)) * ACROSS",
    "CLUSTERS": "min(MOST, SM_COUNT // CLUSTER)",
    "LINE": "128 // sizeof_x"
  },
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "ROWS"], "strides_bytes": ["K * sizeof_x"], "box": ["LINE", "BM // CLUSTER if SHARE == 1 else BM"]},
    {"name": "map_w", "tensor": "w", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N", "E"], "strides_bytes": ["K * sizeof_w", "N * K * sizeof_w"],
     "box": ["LINE", "BN if SHARE == 1 else BN // CLUSTER", 1]},
    {"name": "map_out", "tensor": "out", "dtype": "bfloat16", "swizzle": "128B",
     "dims": ["N", "ROWS"], "strides_bytes": ["N * 2"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "grouped_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_x", "map_w", "map_out", "groups", {"optional": "x_scale"}, {"optional": "w_scale"}, "out", {"i32": "E"},
              {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out = x w[g]^T for the rows of every group g, on Hopper's matrix units. Blocks stay resident and take tiles of BM x BN
// in turn, group after group, so that blocks at work read the weights of one group from L2. One warp fetches: it fills a
// ring of STAGES slices of x and w, 128 bytes deep in k, through the tensor memory accelerator. CONSUMERS warp groups
// multiply them with asynchronous wgmma instructions and keep the sums in registers. The CLUSTER blocks of a cluster
// share one operand, of which each fetches its part for all (multicast): they work on tiles below each other and share w
// (SHARE 0), or beside each other and share x (SHARE 1), which wastes nothing where a group has few rows.
//
//   shared memory:  two panels of 64 x 64 results for every consumer   [slice of x | slice of w] x STAGES   barriers
//
// How many tiles there are is only known here: warps walk the list of groups (groups.cuh), each for itself.
// A tile may hang over its group's end. Rows of the next group are then fetched and multiplied with it, as one map
// describes all rows; they are not written: panels that are not whole leave by the threads' own stores, row by row.
// A consumer none of whose rows is in the group only lets the slices go by. The map of out moves bits, whichever of the
// 16-bit types they are.
// With fp8 a slice is the 128 of k that share scales: its sums begin anew, and are added to those of the tile times the
// scales (promotion), while the other consumer's products run. fp8 sums of wgmma keep about 14 bits.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/clusters.cuh>
#include <ak/groups.cuh>
#include <ak/panels.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma_fp8.cuh>
#include <ak/wgmma_ring.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int SHARE = 0;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#endif

#ifdef AK_DTYPE_FLOAT8_E4M3FN
constexpr bool PROMOTED = true;
using result_t = __nv_bfloat16;
using element = ak::e4m3;
#else
constexpr bool PROMOTED = false;
using result_t = scalar_t;
using element = ak::Element<scalar_t>;
#endif

#ifdef AK_LAYOUT_MASKED
using Rows = ak::RowsByCounts;
__device__ __forceinline__ Rows rows_of(const int* groups, int height) { return {groups, height}; }
#else
using Rows = ak::RowsByOffsets;
__device__ __forceinline__ Rows rows_of(const int* groups, int) { return {groups}; }
#endif

constexpr int SCALED = 128;  // elements of k, and columns, that share a scale
constexpr int HEIGHT = SHARE == 1 ? BM : BM * CLUSTER, WIDTH = SHARE == 1 ? BN * CLUSTER : BN;  // of a cluster's tile

using ak::u32;
using Slices = ak::SliceRing<element, BM, BN, CONSUMERS, STAGES, CLUSTER>;
using Sums = Slices::Sums;
constexpr int BLOCKS_M = Slices::kBlocks;  // of 64 rows, for each consumer

// A block's part of a cluster's tile.
struct Place {
  int group, row, rows, column;  // `rows` of the tile are in the group; it may be 0 or less
};

// The tiles of this block, one after the other. For all lanes of a warp.
struct Tiles {
  ak::GroupTiles<Rows> tiles;
  int rank, next;
  __device__ __forceinline__ Tiles(const int* groups, int count, int height, int n, int cluster_rank)
      : tiles(rows_of(groups, height), count, HEIGHT, (n + WIDTH - 1) / WIDTH),
        rank(cluster_rank), next(static_cast<int>(blockIdx.x) / CLUSTER) {}
  __device__ __forceinline__ bool take(Place& place) {
    ak::GroupTile tile;
    if (!tiles.find(next, tile)) return false;
    next += static_cast<int>(gridDim.x) / CLUSTER;
    const int down = (tile.rows.count + HEIGHT - 1) / HEIGHT;
    const ak::TilePlace at = ak::grouped_place<GROUP>(tile.index, down, tiles.across);
    const int row = at.row * HEIGHT + (SHARE == 1 ? 0 : rank * BM);
    place = {tile.group, tile.rows.begin + row, tile.rows.count - row, at.column * WIDTH + (SHARE == 1 ? rank * BN : 0)};
    return true;
  }
};

// ---- fetching

__device__ __forceinline__ void fetch_slice(const CUtensorMap* map_x, const CUtensorMap* map_w, u32 to_x, u32 to_w,
                                            u32 barrier, const Place& at, int k, int rank) {
  constexpr int kLinesX = SHARE == 1 ? BM / CLUSTER : BM, kLinesW = SHARE == 1 ? BN : BN / CLUSTER;
  const int line_x = SHARE == 1 ? rank * kLinesX : 0, line_w = SHARE == 1 ? 0 : rank * kLinesW;
  ak::tma_load_for_all<SHARE == 1 ? CLUSTER : 1>(to_x + line_x * 128, map_x, barrier, k, at.row + line_x);
  ak::tma_load_for_all<SHARE == 1 ? 1 : CLUSTER>(to_w + line_w * 128, map_w, barrier, k, at.column + line_w, at.group);
}

__device__ __forceinline__ void produce(const CUtensorMap* map_x, const CUtensorMap* map_w, const Slices& ring,
                                        Tiles tiles, int slices, int rank) {
  Slices::Place stage;
  Place at;
  while (tiles.take(at)) {
    if (ak::lane_index() == 0) {
      for (int slice = 0; slice < slices; ++slice) {
        const u32 barrier = ring.claim(stage);
        fetch_slice(map_x, map_w, ring.a(stage.stage), ring.b(stage.stage), barrier, at, slice * Slices::kDepth, rank);
        stage.advance();
      }
    }
    __syncwarp();
  }
}

// ---- multiplying

// Scales of the rows and columns of a consumer's tile. Those of a slice are asked for before its products are issued.
struct Scales {
  const float* of_rows[BLOCKS_M][2];  // of this thread's rows, at the first slice
  const float* of_columns;
  float rows[BLOCKS_M][2], columns;

  __device__ __forceinline__ Scales(const float* x_scale, const float* w_scale, const Place& at, int n, int blocks_k) {
    const int lane_row = ak::warp_index() % 4 * 16 + ak::lane_index() / 4, blocks_n = (n + SCALED - 1) / SCALED;
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const int row = min(block * 64 + low * 8 + lane_row, at.rows - 1);
        of_rows[block][low] = x_scale + (static_cast<long long>(at.row) + row) * blocks_k;
      }
    }
    of_columns = w_scale + (static_cast<long long>(at.group) * blocks_n + min(at.column, n - 1) / SCALED) * blocks_k;
  }
  __device__ __forceinline__ void load(int slice) {
    columns = of_columns[slice];
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int low = 0; low < 2; ++low) rows[block][low] = of_rows[block][low][slice];
    }
  }
  // sums += fresh * scales
  __device__ __forceinline__ void add(Sums& sums, const Sums& fresh) const {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
      const float scale[2] = {rows[block][0] * columns, rows[block][1] * columns};
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) sums[block][i] += fresh[block][i] * scale[i / 2 % 2];
    }
  }
};

__device__ __forceinline__ void sum_scaled(const Slices& ring, Slices::Place& stage, int slices, int consumer, Sums& sums,
                                           Scales scales) {
  ak::clear(sums);
  Sums fresh;
  for (int slice = 0; slice < slices; ++slice) {
    scales.load(slice);
    ak::barrier_wait(ring.full(stage.stage), stage.parity);
    ring.multiply(stage.stage, consumer, fresh, true);
    ak::wgmma_wait<0>();
    ring.release(stage.stage);
    stage.advance();
    scales.add(sums, fresh);
  }
}

// ---- results

__device__ __forceinline__ void write_tile(const CUtensorMap* map_out, u32 panels, int consumer, const Sums& sums,
                                           result_t* out, const Place& at, int n, int& turn) {
  const bool leader = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int part = 0; part < BN / 64; ++part) {
      const int row = at.row + block * 64, rows = at.rows - block * 64, column = at.column + part * 64;
      const u32 panel = panels + (consumer * 2 + turn) * ak::kPanelBytes;
      turn ^= 1;
      if (leader) ak::wait_stores_read<1>();
      ak::named_barrier<128>(consumer + 1);
      ak::fill_panel<ak::Element<result_t>>(panel, [&](int i) { return sums[block][part * 32 + i]; });
      if (rows >= 64) {
        ak::fence_shared_writes();
        ak::named_barrier<128>(consumer + 1);
        if (leader) ak::tma_store(map_out, panel, column, row);
      } else {
        ak::named_barrier<128>(consumer + 1);
        ak::copy_panel(out + static_cast<long long>(row) * n + column, n, panel, rows, n - column);
      }
      if (leader) ak::commit_stores();  // an empty group, too, keeps the turns apart
    }
  }
}

__device__ __forceinline__ void consume(const CUtensorMap* map_out, const Slices& ring, u32 panels, Tiles tiles, int slices,
                                        int consumer, const float* x_scale, const float* w_scale, result_t* out, int n) {
  Slices::Place stage;
  int turn = 0;
  Place at;
  while (tiles.take(at)) {
    at.row += consumer * BLOCKS_M * 64;
    at.rows -= consumer * BLOCKS_M * 64;
    if (at.rows <= 0) {
      ring.skip(stage, slices);
      continue;
    }
    Sums sums;
    if constexpr (PROMOTED) {
      sum_scaled(ring, stage, slices, consumer, sums, Scales(x_scale, w_scale, at, n, slices));
    } else {
      ring.sum(stage, slices, consumer, sums);
    }
    write_tile(map_out, panels, consumer, sums, out, at, n, turn);
  }
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
}

// x: rows x k, w: groups x n x k, out: rows x n; every line a multiple of 16 bytes.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    grouped_wgmma(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_w,
                  const __grid_constant__ CUtensorMap map_out, const int* __restrict__ groups,
                  const float* __restrict__ x_scale, const float* __restrict__ w_scale, result_t* __restrict__ out,
                  int group_count, int height, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 panels = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  const Slices ring{panels + CONSUMERS * 2 * ak::kPanelBytes};
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  if constexpr (CLUSTER > 1) ak::cluster_sync();

  const int rank = CLUSTER > 1 ? ak::cluster_rank() : 0, slices = (k + Slices::kDepth - 1) / Slices::kDepth;
  const Tiles tiles(groups, group_count, height, n, rank);
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (ak::warp_index() % 4 == 0) produce(&map_x, &map_w, ring, tiles, slices, rank);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    consume(&map_out, ring, panels, tiles, slices, group, x_scale, w_scale, out, n);
  }
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}
