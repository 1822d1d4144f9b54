/* alphakernel
{
  "tunables": {
    "BM": {"values": [16, 32, 64, 128], "default": 64},
    "BN": {"values": [64, 128, 256], "default": 128},
    "WM": {"values": [16, 32, 64], "default": 32},
    "WN": {"values": [32, 64], "default": 64},
    "BK_BYTES": {"values": [64, 128], "default": 128},
    "STAGES": {"values": [2, 3, 4, 5], "default": 3},
    "GROUP": {"values": [1, 4, 8], "default": 8},
    "BLOCKS_PER_SM": {"values": [1, 2, 3], "default": 1}
  },
  "constraints": [
    "ARCH >= 80",
    "BM % WM == 0 and BM // WM * (BN // WN) in [4, 8]",
    "BM * BK_BYTES % (BM // WM * (BN // WN) * 512) == 0",
    "BLOCKS_PER_SM * max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 32 * (WN + 8)) <= SHARED_BYTES_PER_BLOCK",
    "WM * WN // 32 + (WM + WN) // 2 + BK_BYTES // 2 + 30 <= 255",
    "BM // WM * (BN // WN) * 32 * BLOCKS_PER_SM * (WM * WN // 32 + (WM + WN) // 2 + BK_BYTES // 2 + 30) <= 65536"
  ],
  "let": {
    "THREADS": "BM // WM * (BN // WN) * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK_BYTES, THREADS // 32 * 32 * (WN + 8))",
    "PAIRS": "T * TOPK",
    "PARTS": "ceil_div(PAIRS, 256)",
    "DOWN": "ceil_div(PAIRS, BM) + min(E, PAIRS)"
  },
  "workspace": [
    {"name": "counts", "dtype": "int32", "count": "PARTS * E"},
    {"name": "offsets", "dtype": "int32", "count": "E + 1"},
    {"name": "order", "dtype": "int32", "count": "PAIRS"},
    {"name": "places", "dtype": "int32", "count": "PAIRS"},
    {"name": "inside", "dtype": "dtype", "count": "PAIRS * I"},
    {"name": "results", "dtype": "dtype", "count": "PAIRS * H"}
  ],
  "launches": [
    {"kernel": "count_choices", "grid": ["PARTS"], "block": [256], "shared_bytes": "4 * E",
     "args": ["ids", "counts", {"i32": "PAIRS"}, {"i32": "E"}]},
    {"kernel": "sort_choices", "grid": ["PARTS"], "block": [256], "shared_bytes": "36 * E",
     "args": ["ids", "counts", "offsets", "order", "places", {"i32": "PAIRS"}, {"i32": "E"}]},
    {"kernel": "gate_up_mma", "grid": ["min(DOWN * ceil_div(2 * I, BN), SM_COUNT * BLOCKS_PER_SM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["x", "gate_up", "offsets", "order", "inside", {"i32": "TOPK"}, {"i32": "E"}, {"i32": "H"}, {"i32": "I"}]},
    {"kernel": "down_mma", "grid": ["min(DOWN * ceil_div(H, BN), SM_COUNT * BLOCKS_PER_SM)"], "block": ["THREADS"],
     "shared_bytes": "SHARED",
     "args": ["inside", "down", "offsets", "results", {"i32": "E"}, {"i32": "H"}, {"i32": "I"}]},
    {"kernel": "combine", "grid": ["ceil_div(T * (H // 8), 256)"], "block": [256],
     "args": ["results", "places", "routing", "out", {"i32": "T"}, {"i32": "TOPK"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A mixture of experts in five launches, with the matrix instructions of every architecture since Ampere.
//
//   ids ─count, sort─► places by expert   x ─gathered─► gate, up ─silu(gate) up─► inside ─► down ─► results ─combine─► out
//
// Pairs (token, expert) are sorted by expert, always in the same order (routing.cuh). From then on an expert is a group
// of neighbouring rows. The first product gathers its rows: copies to shared memory read a token's row wherever it is, so
// that no sorted copy of x is written. Its tile has for every column of gate the same column of up, in the same thread's
// sums, so that half as many results leave, and gate and up never do. The last launch adds a token's results with the
// router's weights, in the order of its choices: no atomics, the same bits every time.
//
//   shared memory of products:  [rows | weights] x STAGES; after the last slice, 16 rows of results for every warp
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/block_product.cuh>
#include <ak/functions.cuh>
#include <ak/groups.cuh>
#include <ak/routing.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 128;
constexpr int WM = 32;
constexpr int WN = 64;
constexpr int BK_BYTES = 128;
constexpr int STAGES = 3;
constexpr int GROUP = 8;
constexpr int BLOCKS_PER_SM = 1;
using scalar_t = __nv_bfloat16;
#endif

using Product = ak::BlockProduct<ak::Element<scalar_t>, BM, BN, WM, WN, BK_BYTES, STAGES>;
using Groups = ak::GroupTiles<ak::RowsByOffsets>;

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

// A tile of one expert's rows.
struct Tile {
  int expert, row, rows, column;  // row: among all pairs; column: number of the tile across
};

// Calls make(tile) for every tile of this block.
template <class Make>
__device__ __forceinline__ void for_tiles(const int* offsets, int experts, int across, Make make) {
  Groups groups(ak::RowsByOffsets{offsets}, experts, BM, across);
  ak::GroupTile tile;
  for (int at = blockIdx.x; groups.find(at, tile); at += gridDim.x) {
    const ak::TilePlace place = ak::grouped_place<GROUP>(tile.index, (tile.rows.count + BM - 1) / BM, across);
    const int row = place.row * BM;
    make(Tile{tile.group, tile.rows.begin + row, min(tile.rows.count - row, BM), place.column});
    __syncthreads();  // what was staged has left before the next slices arrive
  }
}

// The sums of a tile over `depth` elements of k; lines of a and b as in ak::LineCopies.
template <class LineA, class LineB>
__device__ __forceinline__ void multiply(Product::Sums& sums, unsigned char* memory, const scalar_t* a, const scalar_t* b,
                                         int depth, LineA line_a, LineB line_b) {
  const Product::CopiesA copies_a(a, line_a);
  const Product::CopiesB copies_b(b, line_b);
  const long long end = depth * 2ll;
  const auto start = [&](int slice, ak::u32 to_a, ak::u32 to_b) {
    copies_a.start(to_a, static_cast<long long>(slice) * BK_BYTES, end);
    copies_b.start(to_b, static_cast<long long>(slice) * BK_BYTES, end);
  };
  Product::add(sums, ak::shared_address(memory), static_cast<int>((end + BK_BYTES - 1) / BK_BYTES), start, [](int) {});
}

// Stores a warp's results, COUNT blocks of 8 columns from column `column` on, of which `width` exist.
template <int COUNT>
__device__ __forceinline__ void write(unsigned char* memory, const float (&results)[Product::kBlocksM][COUNT][4],
                                      scalar_t* out, const Tile& tile, int column, int width) {
  scalar_t* staged = reinterpret_cast<scalar_t*>(memory + ak::warp_index() * ak::kStoredBytes<scalar_t, WN / 8>);
  const int first = Product::warp_row();
  scalar_t* to = out + (static_cast<long long>(tile.row) + first) * width + column;
  ak::store_tile(staged, results, width - column, [&](int y) {
    return first + y < tile.rows ? to + static_cast<long long>(y) * width : nullptr;
  });
}

// inside[p] = silu(gate x) * (up x) for the token of the pair at place p. Of a warp's WN lines of weights the first half
// are gate's, the second the same columns of up's.
__global__ void __launch_bounds__(Product::kThreads, BLOCKS_PER_SM)
    gate_up_mma(const scalar_t* __restrict__ x, const scalar_t* __restrict__ gate_up, const int* __restrict__ offsets,
                const int* __restrict__ order, scalar_t* __restrict__ inside, int k, int experts, int h, int i) {
  extern __shared__ __align__(1024) unsigned char memory[];
  for_tiles(offsets, experts, (2 * i + BN - 1) / BN, [&](const Tile& tile) {
    const scalar_t* weights = gate_up + static_cast<long long>(tile.expert) * 2 * i * h;
    Product::Sums sums = {};
    multiply(sums, memory, x, gate_up, h,
             [&](int line) {
               return line < tile.rows ? x + static_cast<long long>(order[tile.row + line] / k) * h : nullptr;
             },
             [&](int line) {
               const int column = tile.column * (BN / 2) + line / WN * (WN / 2) + line % (WN / 2);
               const long long from = column + (line % WN < WN / 2 ? 0 : i);
               return column < i ? weights + from * h : nullptr;
             });
    constexpr int kHalf = Product::kBlocksN / 2;
    float results[Product::kBlocksM][kHalf][4];
#pragma unroll
    for (int block = 0; block < Product::kBlocksM; ++block) {
#pragma unroll
      for (int j = 0; j < kHalf; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          results[block][j][e] = ak::fast_silu(sums[block][j][e]) * sums[block][j + kHalf][e];
        }
      }
    }
    write(memory, results, inside, tile, tile.column * (BN / 2) + Product::warp_column() / 2, i);
  });
}

// results[p] = down inside[p].
__global__ void __launch_bounds__(Product::kThreads, BLOCKS_PER_SM)
    down_mma(const scalar_t* __restrict__ inside, const scalar_t* __restrict__ down, const int* __restrict__ offsets,
             scalar_t* __restrict__ results, int experts, int h, int i) {
  extern __shared__ __align__(1024) unsigned char memory[];
  for_tiles(offsets, experts, (h + BN - 1) / BN, [&](const Tile& tile) {
    const int column = tile.column * BN;
    const scalar_t* rows = inside + static_cast<long long>(tile.row) * i;
    const scalar_t* weights = down + (static_cast<long long>(tile.expert) * h + column) * i;
    Product::Sums sums = {};
    multiply(sums, memory, inside, down, i,
             [&](int line) { return line < tile.rows ? rows + static_cast<long long>(line) * i : nullptr; },
             [&](int line) { return column + line < h ? weights + static_cast<long long>(line) * i : nullptr; });
    write(memory, sums, results, tile, column + Product::warp_column(), h);
  });
}

__global__ void __launch_bounds__(256)
    combine(const scalar_t* __restrict__ results, const int* __restrict__ places, const float* __restrict__ routing,
            scalar_t* __restrict__ out, int tokens, int k, int h) {
  ak::combine_pairs(results, places, routing, out, tokens, k, h);
}
