/* alphakernel
{
  "tunables": {
    "BM": {"values": [32, 64, 128, 256], "default": 128},
    "WM": {"values": [16, 32, 64], "default": 32},
    "WN": {"values": [32, 64], "default": 64},
    "BK_BYTES": {"values": [64, 128], "default": 128},
    "STAGES": {"values": [2, 3, 4, 5], "default": 3},
    "GROUP": {"values": [1, 4, 8, 32], "default": 8}
  },
  "constraints": [
    "ARCH >= 80",
    "BM % WM == 0 and BM // WM * (block // WN) in [4, 8]",
    "BM * BK_BYTES % (BM // WM * (block // WN) * 512) == 0 and block * BK_BYTES % (BM // WM * (block // WN) * 512) == 0",
    "max(STAGES * (BM + block) * BK_BYTES, BM // WM * (block // WN) * 32 * (WN + 8)) <= SHARED_BYTES_PER_BLOCK",
    "WM * WN // 32 + (WM + WN) // 2 + BK_BYTES // 2 + 30 <= 255"
  ],
  "let": {
    "THREADS": "BM // WM * (block // WN) * 32",
    "SHARED": "max(STAGES * (BM + block) * BK_BYTES, THREADS // 32 * 32 * (WN + 8))"
  },
  "workspace": [{"name": "order", "dtype": "int32", "count": "NB", "prepared": true}],
  "prepare": [
    {"kernel": "order_rows", "grid": ["ceil_div(NB, 128)"], "block": [128], "args": ["pointers", "order", {"i32": "NB"}]}
  ],
  "launches": [
    {"kernel": "block_sparse_mma", "grid": ["ceil_div(M, BM) * NB"], "block": ["THREADS"], "shared_bytes": "SHARED",
     "args": ["x", "pointers", "columns", "values", "order", "y", {"i32": "M"}, {"i32": "NB"}, {"i32": "KB"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x w^T with the matrix instructions of every architecture since Ampere, where w is a list of blocks of B x B. A
// block of threads makes BM rows of one row of blocks: it walks the list of that row, and each entry says which columns
// of x its values meet. Zero blocks cost nothing, and take no memory.
//
//   shared memory:  [slice of x | slice of a block] x STAGES; after the last slice, 16 rows of results for every warp
//
// Rows of blocks differ in length: the longest are started first (order_rows, once for a set of weights), so that what
// ends last is short. GROUP tiles of x are taken together, whose rows stay in L2 while all rows of blocks read them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/block_product.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int WM = 32;
constexpr int WN = 64;
constexpr int BK_BYTES = 128;
constexpr int STAGES = 3;
constexpr int GROUP = 8;
constexpr int B = 128;
using scalar_t = __nv_bfloat16;
#endif

constexpr int PARTS = B * 2 / BK_BYTES;         // slices of a block
constexpr long long BLOCK_BYTES = B * B * 2ll;  // of values

using Product = ak::BlockProduct<ak::Element<scalar_t>, BM, B, WM, WN, BK_BYTES, STAGES>;

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

// x: m x (width B), y: m x (rows B).
__global__ void __launch_bounds__(Product::kThreads)
    block_sparse_mma(const scalar_t* __restrict__ x, const int* __restrict__ pointers, const int* __restrict__ columns,
                     const scalar_t* __restrict__ values, const int* __restrict__ order, scalar_t* __restrict__ y, int m,
                     int rows, int width) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const ak::TilePlace place = ak::grouped_place<GROUP>(static_cast<int>(blockIdx.x), (m + BM - 1) / BM, rows);
  const int line = place.row * BM, row = order[place.column];
  const int first = pointers[row], slices = (pointers[row + 1] - first) * PARTS;
  const long long pitch = static_cast<long long>(width) * B;

  const scalar_t* from_x = x + line * pitch;
  const scalar_t* from_values = values + static_cast<long long>(first) * B * B;
  const Product::CopiesA copies_x(x, [&](int i) { return line + i < m ? from_x + i * pitch : nullptr; });
  const Product::CopiesB copies_values(values, [&](int i) { return from_values + i * B; });
  int column = slices > 0 ? columns[first] : 0;  // of the next slice's block
  const auto start = [&](int slice, ak::u32 a, ak::u32 b) {
    const int entry = slice / PARTS, part = slice % PARTS * BK_BYTES;
    copies_x.start(a, column * (B * 2ll) + part, pitch * 2);
    copies_values.start(b, entry * BLOCK_BYTES + part, (entry + 1) * BLOCK_BYTES);
    if (slice % PARTS == PARTS - 1 && slice + 1 < slices) column = columns[first + entry + 1];
  };
  Product::Sums sums = {};
  Product::add(sums, ak::shared_address(memory), slices, start, [](int) {});

  scalar_t* staged = reinterpret_cast<scalar_t*>(memory + ak::warp_index() * ak::kStoredBytes<scalar_t, WN / 8>);
  const int warp_line = line + Product::warp_row();
  const long long out_pitch = static_cast<long long>(rows) * B;
  scalar_t* to = y + warp_line * out_pitch + row * B + Product::warp_column();
  ak::store_tile(staged, sums, WN, [&](int i) { return warp_line + i < m ? to + i * out_pitch : nullptr; });
}
