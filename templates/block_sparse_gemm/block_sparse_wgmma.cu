/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 256},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "GROUP": {"values": [1, 2, 4, 16], "default": 4},
    "PERSISTENT": {"values": [0, 1], "default": 1}
  },
  "constraints": [
    "ARCH == 90",
    "BM // CONSUMERS in [64, 128]",
    "STAGES * (BM + block) * 128 + CONSUMERS * 16384 + 2048 <= 232448"
  ],
  "let": {
    "SHARED": "STAGES * (BM + block) * 128 + CONSUMERS * 16384 + 2048",
    "TILES": "ceil_div(M, BM * CLUSTER) * NB",
    "CLUSTERS": "min(TILES, SM_COUNT // CLUSTER) if PERSISTENT == 1 else TILES"
  },
  "workspace": [{"name": "order", "dtype": "int32", "count": "NB", "prepared": true}],
  "prepare": [
    {"kernel": "order_rows", "grid": ["ceil_div(NB, 128)"], "block": [128], "args": ["pointers", "order", {"i32": "NB"}]}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["K * 2"], "box": [64, "BM"]},
    {"name": "map_values", "tensor": "values", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["B", "B", "NNZ"], "strides_bytes": ["B * 2", "B * B * 2"], "box": [64, "B // CLUSTER", 1]},
    {"name": "map_y", "tensor": "y", "dtype": "dtype", "swizzle": "128B",
     "dims": ["N", "M"], "strides_bytes": ["N * 2"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "block_sparse_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_x", "map_values", "map_y", "pointers", "columns", "order", {"i32": "M"}, {"i32": "NB"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x w^T on Hopper's matrix units, where w is a list of blocks of B x B. A tile is BM rows of one row of blocks; its
// products go over the list of that row, and each entry gives the coordinates of the columns of x that its values meet.
// One thread fetches through the tensor memory accelerator and fills a ring of STAGES slices, 64 deep; CONSUMERS warp
// groups multiply. The CLUSTER blocks of a cluster work on tiles below each other and share the values, of which each
// fetches its part for all (multicast). Zero blocks cost nothing.
//
//   shared memory:  two panels of 64 x 64 results for every consumer   [slice of x | slice of a block] x STAGES   barriers
//
// Rows of blocks differ in length. They are taken longest first (order_rows, once for a set of weights). PERSISTENT:
// clusters stay and take every so many tiles in turn, in every second round from the other end, so that no cluster has
// the longest of each round. Else a cluster makes one tile, and the hardware gives the next to whoever is free, but
// nothing is fetched while results are written.
// GROUP clusters' tiles of x are taken together, whose rows stay in L2 while all rows of blocks read them.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/clusters.cuh>
#include <ak/panels.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma_ring.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 256;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int GROUP = 4;
constexpr int PERSISTENT = 1;
constexpr int B = 128;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Slices = ak::SliceRing<element, BM, B, CONSUMERS, STAGES, CLUSTER>;
constexpr int BLOCKS_M = Slices::kBlocks;       // of 64 rows, for each consumer
constexpr int PARTS = B / Slices::kDepth;       // slices of a block

// order[i]: the row of blocks that has the i-th most of them; of equally many the first.
__global__ void __launch_bounds__(128) order_rows(const int* __restrict__ pointers, int* __restrict__ order, int rows) {
  const int row = blockIdx.x * 128 + threadIdx.x;
  if (row >= rows) return;
  const int length = pointers[row + 1] - pointers[row];
  int place = 0;
  for (int other = 0; other < rows; ++other) {
    const int its = pointers[other + 1] - pointers[other];
    place += its > length || (its == length && other < row) ? 1 : 0;
  }
  order[place] = row;
}

// The lists of blocks, and this block's tiles one after the other.
struct Tiles {
  const int* pointers;
  const int* order;
  int down, rows, rank;  // `down`: tiles of clusters
  int round = 0;

  __device__ __forceinline__ bool take(int& line, int& row, int& first, int& count) {
    const int clusters = static_cast<int>(gridDim.x) / CLUSTER, cluster = static_cast<int>(blockIdx.x) / CLUSTER;
    const int tile = round * clusters + (round % 2 == 0 ? cluster : clusters - 1 - cluster);
    if (round * clusters >= down * rows) return false;
    ++round;
    count = 0;
    row = -1;
    if (tile >= down * rows) return true;  // a round that is not full, from the other end
    const ak::TilePlace at = ak::grouped_place<GROUP>(tile, down, rows);
    line = (at.row * CLUSTER + rank) * BM;
    row = order[at.column];
    first = pointers[row];
    count = pointers[row + 1] - first;
    return true;
  }
};

__device__ __forceinline__ void fetch(const CUtensorMap* map_x, const CUtensorMap* map_values, const Slices& ring,
                                      int stage, u32 barrier, int line, int column, int entry, int part, int rank) {
  ak::tma_load(ring.a(stage), map_x, barrier, column * B + part * Slices::kDepth, line);
  constexpr int kLines = B / CLUSTER;
  ak::tma_load_for_all<CLUSTER>(ring.b(stage) + rank * kLines * 128, map_values, barrier, part * Slices::kDepth,
                                rank * kLines, entry);
}

__device__ __forceinline__ void produce(const CUtensorMap* map_x, const CUtensorMap* map_values, const Slices& ring,
                                        Tiles tiles, const int* columns) {
  Slices::Place stage;
  int line, row, first, count;
  while (tiles.take(line, row, first, count)) {
    int column = count > 0 ? columns[first] : 0;
    for (int entry = first; entry < first + count; ++entry) {
      const int next = entry + 1 < first + count ? columns[entry + 1] : 0;  // on its way while this one is fetched
#pragma unroll
      for (int part = 0; part < PARTS; ++part) {
        const u32 barrier = ring.claim(stage);
        fetch(map_x, map_values, ring, stage.stage, barrier, line, column, entry, part, tiles.rank);
        stage.advance();
      }
      column = next;
    }
  }
}

__device__ __forceinline__ void write_tile(const CUtensorMap* map_y, u32 panels, int consumer, const Slices::Sums& sums,
                                           int line, int column, int& turn) {
  const bool leader = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int part = 0; part < B / 64; ++part) {
      const u32 panel = panels + (consumer * 2 + turn) * ak::kPanelBytes;
      turn ^= 1;
      if (leader) ak::wait_stores_read<1>();
      ak::named_barrier<128>(consumer + 1);
      ak::fill_panel<element>(panel, [&](int i) { return sums[block][part * 32 + i]; });
      ak::fence_shared_writes();
      ak::named_barrier<128>(consumer + 1);
      if (leader) {
        ak::tma_store(map_y, panel, column + part * 64, line + block * 64);
        ak::commit_stores();
      }
    }
  }
}

__device__ __forceinline__ void consume(const CUtensorMap* map_y, const Slices& ring, u32 panels, Tiles tiles,
                                        int consumer) {
  Slices::Place stage;
  int turn = 0, line, row, first, count;
  while (tiles.take(line, row, first, count)) {
    if (row < 0) continue;
    Slices::Sums sums;
    ak::clear(sums);
    if (count > 0) ring.sum(stage, count * PARTS, consumer, sums);
    write_tile(map_y, panels, consumer, sums, line + consumer * BLOCKS_M * 64, row * B, turn);
  }
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
}

// x: m x k, y: m x (rows B).
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    block_sparse_wgmma(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_values,
                       const __grid_constant__ CUtensorMap map_y, const int* __restrict__ pointers,
                       const int* __restrict__ columns, const int* __restrict__ order, int m, int rows) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 panels = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  const Slices ring{panels + CONSUMERS * 2 * ak::kPanelBytes};
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  if constexpr (CLUSTER > 1) ak::cluster_sync();

  const int rank = CLUSTER > 1 ? ak::cluster_rank() : 0, down = (m + BM * CLUSTER - 1) / (BM * CLUSTER);
  const Tiles tiles{pointers, order, down, rows, rank};
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (threadIdx.x % 128 == 0) produce(&map_x, &map_values, ring, tiles, columns);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    consume(&map_y, ring, panels, tiles, group);
  }
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}
