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
    "ARCH >= (89 if dtype == 'float8_e4m3fn' else 80)",
    "BK_BYTES == 128 or dtype != 'float8_e4m3fn'",
    "BM % WM == 0 and BM // WM * (BN // WN) in [4, 8]",
    "BM * BK_BYTES % (BM // WM * (BN // WN) * 512) == 0",
    "BLOCKS_PER_SM * max(STAGES * (BM + BN) * BK_BYTES, BM // WM * (BN // WN) * 32 * (WN + 8)) <= SHARED_BYTES_PER_BLOCK",
    "WM * WN // 32 * (2 if dtype == 'float8_e4m3fn' else 1) + (WM + WN) // 2 + (32 if dtype == 'float8_e4m3fn' else BK_BYTES // 2) + 30 <= 255",
    "BM // WM * (BN // WN) * 32 * BLOCKS_PER_SM * (WM * WN // 32 * (2 if dtype == 'float8_e4m3fn' else 1) + (WM + WN) // 2 + (32 if dtype == 'float8_e4m3fn' else BK_BYTES // 2) + 30) <= 65536"
  ],
  "let": {
    "THREADS": "BM // WM * (BN // WN) * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK_BYTES, THREADS // 32 * 32 * (WN + 8))",
    "ACROSS": "ceil_div(N, BN)",
    "MOST": "(ceil_div(M, BM) + E if layout == 'contiguous' else E * ceil_div(M, BM)) * ACROSS"
  },
  "launches": [
    {"kernel": "grouped_mma", "grid": ["min(MOST, SM_COUNT * BLOCKS_PER_SM)"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["x", "w", "groups", {"optional": "x_scale"}, {"optional": "w_scale"}, "out", {"i32": "E"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out = x w[g]^T for the rows of every group g, with the matrix instructions of every architecture since Ampere (fp8
// since Ada). Resident blocks take tiles of BM x BN in turn, group after group, so that blocks at work read the weights
// of one group from L2; within a group GROUP rows of tiles are taken together, column by column. How many tiles there
// are is only known here: blocks walk the list of groups (groups.cuh).
//
//   shared memory:  [slice of x | slice of w] x STAGES; after the last slice, 16 rows of results for every warp
//
// A tile may hang over its group's end: rows there are copied as zeros and not written. With fp8 a slice is the 128 of k
// that share scales: its sums begin anew and are added to those of the tile times the scales (promotion).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/block_product.cuh>
#include <ak/groups.cuh>
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

constexpr int BK = BK_BYTES / sizeof(scalar_t);
constexpr int SCALED = 128;  // elements of k, and columns, that share a scale

using Product = ak::BlockProduct<element, BM, BN, WM, WN, BK_BYTES, STAGES>;

// Scales of x and w for a warp's tile, applied slice by slice.
struct Promotion {
  const float* x_scale;  // of the warp's first row
  const float* w_scale;  // of the tile's group
  int rows, columns;     // of the warp's tile that exist
  int first_column, blocks_k;

  // sums += fresh * scales of slice; fresh = 0.
  __device__ __forceinline__ void add(Product::Sums& sums, Product::Sums& fresh, int slice) const {
    const int lane = ak::lane_index();
    float of_columns[Product::kBlocksN];
#pragma unroll
    for (int j = 0; j < Product::kBlocksN; ++j) {
      const int column = first_column + min(j * 8, max(columns - 8, 0));
      of_columns[j] = w_scale[column / SCALED * blocks_k + slice];
    }
#pragma unroll
    for (int i = 0; i < Product::kBlocksM; ++i) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const int row = min(i * 16 + low * 8 + lane / 4, max(rows - 1, 0));
        const float of_row = x_scale[row * blocks_k + slice];
#pragma unroll
        for (int j = 0; j < Product::kBlocksN; ++j) {
#pragma unroll
          for (int e = low * 2; e < low * 2 + 2; ++e) {
            sums[i][j][e] += fresh[i][j][e] * (of_row * of_columns[j]);
            fresh[i][j][e] = 0.0f;
          }
        }
      }
    }
  }
};

// x: rows x k, w: groups x n x k, out: rows x n.
__global__ void __launch_bounds__(Product::kThreads, BLOCKS_PER_SM)
    grouped_mma(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const int* __restrict__ groups,
                const float* __restrict__ x_scale, const float* __restrict__ w_scale, result_t* __restrict__ out,
                int group_count, int height, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const ak::u32 slices_at = ak::shared_address(memory);
  const int across = (n + BN - 1) / BN, slices = (k + BK - 1) / BK;
  const int warp_row = Product::warp_row(), warp_column = Product::warp_column();
  result_t* staged = reinterpret_cast<result_t*>(memory + ak::warp_index() * ak::kStoredBytes<result_t, WN / 8>);

  ak::GroupTiles<Rows> tiles(rows_of(groups, height), group_count, BM, across);
  ak::GroupTile tile;
  for (int at = blockIdx.x; tiles.find(at, tile); at += gridDim.x) {
    const int down = (tile.rows.count + BM - 1) / BM;
    const ak::TilePlace place = ak::grouped_place<GROUP>(tile.index, down, across);
    const long long row = tile.rows.begin + place.row * BM;
    const int rows = min(tile.rows.count - place.row * BM, BM), column = place.column * BN;
    const scalar_t* from_x = x + row * k;
    const scalar_t* from_w = w + (static_cast<long long>(tile.group) * n + column) * k;
    const Product::CopiesA copies_x(x, [&](int line) {
      return line < rows ? from_x + static_cast<long long>(line) * k : nullptr;
    });
    const Product::CopiesB copies_w(w, [&](int line) {
      return column + line < n ? from_w + static_cast<long long>(line) * k : nullptr;
    });
    const long long end = static_cast<long long>(k) * sizeof(scalar_t);
    const auto start = [&](int slice, ak::u32 a, ak::u32 b) {
      copies_x.start(a, static_cast<long long>(slice) * BK_BYTES, end);
      copies_w.start(b, static_cast<long long>(slice) * BK_BYTES, end);
    };
    Product::Sums sums = {};
    if constexpr (PROMOTED) {
      const int blocks_k = slices, blocks_n = (n + SCALED - 1) / SCALED;
      const int first_row = min(warp_row, rows - 1), first_column = min(column + warp_column, n - 8);
      const Promotion promotion{x_scale + (row + first_row) * blocks_k,
                                w_scale + static_cast<long long>(tile.group) * blocks_n * blocks_k,
                                rows - first_row, n - first_column, first_column, blocks_k};
      Product::Sums fresh = {};
      Product::add(fresh, slices_at, slices, start, [&](int slice) { promotion.add(sums, fresh, slice); });
    } else {
      Product::add(sums, slices_at, slices, start, [](int) {});
    }
    const int last = n - column - warp_column;
    result_t* to = out + (row + warp_row) * n + column + warp_column;
    ak::store_tile(staged, sums, last, [&](int y) {
      return warp_row + y < rows ? to + static_cast<long long>(y) * n : nullptr;
    });
    __syncthreads();  // what was staged has left before the next slices arrive
  }
}
