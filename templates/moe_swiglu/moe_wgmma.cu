/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [128, 256], "default": 256},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [2, 3, 4, 5, 6], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "GROUP": {"values": [1, 4, 8, 16], "default": 8}
  },
  "constraints": [
    "ARCH == 90",
    "BM // CONSUMERS >= 64",
    "BM // CONSUMERS // 64 * BN <= 256",
    "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048 <= 232448"
  ],
  "let": {
    "SHARED": "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048",
    "PAIRS": "T * TOPK",
    "PARTS": "ceil_div(PAIRS, 256)",
    "DOWN": "ceil_div(PAIRS, BM * CLUSTER) + min(E, PAIRS)",
    "MOST": "SM_COUNT // CLUSTER"
  },
  "workspace": [
    {"name": "counts", "dtype": "int32", "count": "PARTS * E"},
    {"name": "offsets", "dtype": "int32", "count": "E + 1"},
    {"name": "order", "dtype": "int32", "count": "PAIRS"},
    {"name": "places", "dtype": "int32", "count": "PAIRS"},
    {"name": "inside", "dtype": "dtype", "count": "PAIRS * I"},
    {"name": "results", "dtype": "dtype", "count": "PAIRS * H"}
  ],
  "tensor_maps": [
    {"name": "map_gate_up", "tensor": "gate_up", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["H", "I", 2, "E"], "strides_bytes": ["H * 2", "I * H * 2", "2 * I * H * 2"], "box": [64, "BN // 2 // CLUSTER", 1, 1]},
    {"name": "map_inside", "tensor": "inside", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["I", "PAIRS"], "strides_bytes": ["I * 2"], "box": [64, "BM"]},
    {"name": "map_down", "tensor": "down", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["I", "H", "E"], "strides_bytes": ["I * 2", "H * I * 2"], "box": [64, "BN // CLUSTER", 1]},
    {"name": "map_inside_out", "tensor": "inside", "dtype": "dtype", "swizzle": "128B",
     "dims": ["I", "PAIRS"], "strides_bytes": ["I * 2"], "box": [64, 64]},
    {"name": "map_results", "tensor": "results", "dtype": "dtype", "swizzle": "128B",
     "dims": ["H", "PAIRS"], "strides_bytes": ["H * 2"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "count_choices", "grid": ["PARTS"], "block": [256], "shared_bytes": "4 * E",
     "args": ["ids", "counts", {"i32": "PAIRS"}, {"i32": "E"}]},
    {"kernel": "sort_choices", "grid": ["PARTS"], "block": [256], "shared_bytes": "36 * E",
     "args": ["ids", "counts", "offsets", "order", "places", {"i32": "PAIRS"}, {"i32": "E"}]},
    {"kernel": "gate_up_wgmma", "grid": ["min(DOWN * ceil_div(2 * I, BN), MOST) * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_gate_up", "map_inside_out", "x", "order", "offsets", "inside", {"i32": "TOPK"}, {"i32": "E"}, {"i32": "H"},
              {"i32": "I"}]},
    {"kernel": "down_wgmma", "grid": ["min(DOWN * ceil_div(H, BN), MOST) * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_inside", "map_down", "map_results", "offsets", "results", {"i32": "E"}, {"i32": "H"}, {"i32": "I"}]},
    {"kernel": "combine", "grid": ["ceil_div(T * (H // 8), 256)"], "block": [256],
     "args": ["results", "places", "routing", "out", {"i32": "T"}, {"i32": "TOPK"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts in five launches, on Hopper's matrix units.
//
//   ids ─count, sort─► places by expert   x ─gathered─► gate, up ─silu(gate) up─► inside ─► down ─► results ─combine─► out
//
// Pairs (token, expert) are sorted by expert, always in the same order (routing.cuh). From then on an expert is a group
// of neighbouring rows. Both products are made by resident blocks that take tiles of BM x BN in turn, expert after
// expert. A warp group fills a ring of STAGES slices, CONSUMERS warp groups multiply them. The CLUSTER blocks of a
// cluster work on tiles below each other and share the weights, of which each fetches its part for all (multicast).
//
// The first product gathers its rows: TMA cannot, so the warp group's 128 threads copy them (cp.async), from
// wherever a token's row is; the weights come by TMA, to the same barrier. No sorted copy of x is written.
// Of BN lines of weights the first half are gate's, the second the same columns of up's: a thread has both in its sums,
// so that gate and up never leave it. The last launch adds a token's results with the router's weights, in the order of
// its choices: no atomics, the same bits every time.
// A tile may hang over its expert's end: its panels that are not whole leave by the threads' own stores, row by row.
//
//   shared memory:  two panels of 64 x 64 results for every consumer   [slice of rows | of weights] x STAGES   barriers
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/block_product.cuh>
#include <ak/clusters.cuh>
#include <ak/functions.cuh>
#include <ak/groups.cuh>
#include <ak/panels.cuh>
#include <ak/routing.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma_ring.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 256;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Slices = ak::SliceRing<element, BM, BN, CONSUMERS, STAGES, CLUSTER>;
using Sums = Slices::Sums;
constexpr int BLOCKS_M = Slices::kBlocks;      // of 64 rows, for each consumer
constexpr int THREADS = (CONSUMERS + 1) * 128;

__global__ void __launch_bounds__(ak::kRoutedPairs)
    count_choices(const int* __restrict__ ids, int* __restrict__ counts, int pairs, int experts) {
  extern __shared__ int found[];
  ak::count_pairs(ids, pairs, experts, counts, found);
}

__global__ void __launch_bounds__(ak::kRoutedPairs)
    sort_choices(const int* __restrict__ ids, const int* __restrict__ counts, int* __restrict__ offsets,
                 int* __restrict__ order, int* __restrict__ places, int pairs, int experts) {
  extern __shared__ int words[];
  ak::sort_pairs(ids, pairs, experts, counts, offsets, order, places, words);
}

// ---- tiles

struct Place {
  int expert, row, rows, column;  // row: among all pairs; `rows` are the expert's, perhaps 0 or less; column: of a tile
};

// The tiles of this block, one after the other. For all lanes of a warp.
struct Tiles {
  ak::GroupTiles<ak::RowsByOffsets> tiles;
  int rank, next;
  __device__ __forceinline__ Tiles(const int* offsets, int experts, int across, int cluster_rank)
      : tiles(ak::RowsByOffsets{offsets}, experts, BM * CLUSTER, across),
        rank(cluster_rank), next(static_cast<int>(blockIdx.x) / CLUSTER) {}
  __device__ __forceinline__ bool take(Place& place) {
    ak::GroupTile tile;
    if (!tiles.find(next, tile)) return false;
    next += static_cast<int>(gridDim.x) / CLUSTER;
    const int down = (tile.rows.count + BM * CLUSTER - 1) / (BM * CLUSTER);
    const ak::TilePlace at = ak::grouped_place<GROUP>(tile.index, down, tiles.across);
    const int row = (at.row * CLUSTER + rank) * BM;
    place = {tile.group, tile.rows.begin + row, tile.rows.count - row, at.column};
    return true;
  }
};

// Sums up this consumer's part of every tile and hands it to write(place of the part, sums).
template <bool COPIED, class Write>
__device__ __forceinline__ void consume(const Slices& ring, Tiles tiles, int slices, int consumer, Write write) {
  Slices::Place stage;
  Place at;
  while (tiles.take(at)) {
    at.row += consumer * BLOCKS_M * 64;
    at.rows -= consumer * BLOCKS_M * 64;
    if (at.rows <= 0) {
      ring.skip(stage, slices);
      continue;
    }
    Sums sums;
    ring.sum<COPIED>(stage, slices, consumer, sums);
    write(at, sums);
  }
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
}

// Panels of one consumer on their way out, two in turn.
struct Panels {
  const CUtensorMap* map;
  scalar_t* out;
  u32 memory;
  int consumer, width;  // width: of a row of out
  int turn = 0;

  // value(i): as in ak::fill_panel; the panel begins at (row, column), of which `rows` rows exist.
  template <class Value>
  __device__ __forceinline__ void write(int row, int rows, int column, Value value) {
    const bool leader = threadIdx.x % 128 == 0;
    const u32 panel = memory + (consumer * 2 + turn) * ak::kPanelBytes;
    turn ^= 1;
    if (leader) ak::wait_stores_read<1>();
    ak::named_barrier<128>(consumer + 1);
    ak::fill_panel<element>(panel, value);
    if (rows >= 64) {
      ak::fence_shared_writes();
      ak::named_barrier<128>(consumer + 1);
      if (leader) ak::tma_store(map, panel, column, row);
    } else {
      ak::named_barrier<128>(consumer + 1);
      ak::copy_panel(out + static_cast<long long>(row) * width + column, width, panel, rows, width - column);
    }
    if (leader) ak::commit_stores();  // an empty group, too, keeps the turns apart
  }
};

// Shared memory of a product's block.
struct Memory {
  u32 panels;
  Slices ring;
  __device__ __forceinline__ Memory(unsigned char* memory, int fillers)
      : panels((ak::shared_address(memory) + 1023) / 1024 * 1024), ring{panels + CONSUMERS * 2 * ak::kPanelBytes} {
    if (threadIdx.x == 0) ring.init(fillers);
    __syncthreads();
    if constexpr (CLUSTER > 1) ak::cluster_sync();
  }
};

__device__ __forceinline__ int rank_in_cluster() { return CLUSTER > 1 ? static_cast<int>(ak::cluster_rank()) : 0; }

// ---- silu(gate x) * (up x)

using Rows = ak::LineCopies<BM, 128, 128>;

// All 128 threads copy rows; one of them also fetches weights, BN / 2 lines of gate and of up.
__device__ __forceinline__ void produce_gathered(const CUtensorMap* map_gate_up, const Slices& ring, Tiles tiles,
                                                 const scalar_t* x, const int* order, int k, int h, int slices, int rank) {
  constexpr int kLines = BN / 2 / CLUSTER;
  Slices::Place stage;
  Place at;
  while (tiles.take(at)) {
    const Rows rows(x, [&](int line) {
      return line < at.rows ? x + static_cast<long long>(order[at.row + line] / k) * h : nullptr;
    });
    for (int slice = 0; slice < slices; ++slice) {
      const int depth = slice * Slices::kDepth, column = at.column * (BN / 2) + rank * kLines;
      const u32 to = ring.b(stage.stage) + rank * kLines * 128, barrier = ring.full(stage.stage);
      if (threadIdx.x % 128 == 0) {
        ring.claim(stage, BN * 128);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          ak::tma_load_for_all<CLUSTER>(to + half * (BN / 2) * 128, map_gate_up, barrier, depth, column, half, at.expert);
        }
      } else {
        ak::barrier_wait(ring.empty(stage.stage), stage.parity ^ 1);
      }
      rows.start(ring.a(stage.stage), depth * 2ll, h * 2ll);
      ak::barrier_arrive_after_copies(barrier);
      stage.advance();
    }
  }
  ak::wait_copies<0>();
}

__global__ void __launch_bounds__(THREADS, 1)
    gate_up_wgmma(const __grid_constant__ CUtensorMap map_gate_up, const __grid_constant__ CUtensorMap map_inside,
                  const scalar_t* __restrict__ x, const int* __restrict__ order, const int* __restrict__ offsets,
                  scalar_t* __restrict__ inside, int k, int experts, int h, int i) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory, 128);
  const int rank = rank_in_cluster(), slices = (h + Slices::kDepth - 1) / Slices::kDepth, group = ak::warp_group();
  const Tiles tiles(offsets, experts, (2 * i + BN - 1) / BN, rank);
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<88>();
    produce_gathered(&map_gate_up, shared.ring, tiles, x, order, k, h, slices, rank);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<208, 2, 88>();
    Panels panels{&map_inside, inside, shared.panels, group, i};
    consume<true>(shared.ring, tiles, slices, group, [&](const Place& at, const Sums& sums) {
#pragma unroll
      for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
        for (int part = 0; part < BN / 128; ++part) {
          panels.write(at.row + block * 64, at.rows - block * 64, at.column * (BN / 2) + part * 64, [&](int s) {
            return ak::fast_silu(sums[block][part * 32 + s]) * sums[block][BN / 4 + part * 32 + s];
          });
        }
      }
    });
  }
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

// ---- down

__device__ __forceinline__ void produce(const CUtensorMap* map_inside, const CUtensorMap* map_down, const Slices& ring,
                                        Tiles tiles, int slices, int rank) {
  constexpr int kLines = BN / CLUSTER;
  Slices::Place stage;
  Place at;
  while (tiles.take(at)) {
    if (ak::lane_index() == 0) {
      for (int slice = 0; slice < slices; ++slice) {
        const int depth = slice * Slices::kDepth;
        const u32 barrier = ring.claim(stage), to = ring.b(stage.stage) + rank * kLines * 128;
        ak::tma_load(ring.a(stage.stage), map_inside, barrier, depth, at.row);
        ak::tma_load_for_all<CLUSTER>(to, map_down, barrier, depth, at.column * BN + rank * kLines, at.expert);
        stage.advance();
      }
    }
    __syncwarp();
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    down_wgmma(const __grid_constant__ CUtensorMap map_inside, const __grid_constant__ CUtensorMap map_down,
               const __grid_constant__ CUtensorMap map_results, const int* __restrict__ offsets,
               scalar_t* __restrict__ results, int experts, int h, int i) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory, 0);
  const int rank = rank_in_cluster(), slices = (i + Slices::kDepth - 1) / Slices::kDepth, group = ak::warp_group();
  const Tiles tiles(offsets, experts, (h + BN - 1) / BN, rank);
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (ak::warp_index() % 4 == 0) produce(&map_inside, &map_down, shared.ring, tiles, slices, rank);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    Panels panels{&map_results, results, shared.panels, group, h};
    consume<false>(shared.ring, tiles, slices, group, [&](const Place& at, const Sums& sums) {
#pragma unroll
      for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
        for (int part = 0; part < BN / 64; ++part) {
          panels.write(at.row + block * 64, at.rows - block * 64, at.column * BN + part * 64,
                       [&](int s) { return sums[block][part * 32 + s]; });
        }
      }
    });
  }
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

__global__ void __launch_bounds__(256)
    combine(const scalar_t* __restrict__ results, const int* __restrict__ places, const float* __restrict__ routing,
            scalar_t* __restrict__ out, int tokens, int k, int h) {
  ak::combine_pairs(results, places, routing, out, tokens, k, h);
}
