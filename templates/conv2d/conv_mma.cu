/* alphakernel
{
  "tunables": {
    "BM": {"values": [32, 64, 128], "default": 128},
    "BN": {"values": [32, 64, 128, 256], "default": 64},
    "WM": {"values": [16, 32, 64], "default": 32},
    "WN": {"values": [32, 64], "default": 32},
    "BK_BYTES": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [2, 3, 4], "default": 3},
    "GROUP": {"values": [1, 8], "default": 8},
    "BLOCKS_PER_SM": {"values": [1, 2, 3], "default": 2}
  },
  "constraints": [
    "ARCH >= 80",
    "dtype in ['float16', 'bfloat16']",
    "BM % WM == 0 and BN % WN == 0 and BM // WM * (BN // WN) in [4, 8]",
    "BM * BK_BYTES % (THREADS * 16) == 0 and BN * BK_BYTES % (THREADS * 16) == 0",
    "BLOCKS_PER_SM * SHARED <= SHARED_BYTES_PER_BLOCK",
    "THREADS * BLOCKS_PER_SM * (WM * WN // 32 + (WM + WN) // 2 + (2 * BM + BN) * BK_BYTES // (THREADS * 16) + 40) <= 65536",
    "WM * WN // 32 + (WM + WN) // 2 + (2 * BM + BN) * BK_BYTES // (THREADS * 16) + 40 <= 255"
  ],
  "let": {
    "THREADS": "BM // WM * (BN // WN) * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK_BYTES, THREADS // 32 * 32 * (WN + 8))",
    "CP": "round_up(C, 8)",
    "TILES": "ceil_div(N * P * Q, BM) * ceil_div(K, BN)"
  },
  "workspace": [
    {"name": "filters", "dtype": "dtype", "count": "K * R * S * CP", "prepared": true},
    {"name": "padded", "dtype": "dtype", "count": "N * H * W * CP if CP > C else 0"}
  ],
  "prepare": [
    {"kernel": "pad_channels", "grid": ["min(ceil_div(K * R * S * CP, 512), 4096)"], "block": [256],
     "args": ["w", "filters", {"i64": "K * R * S"}, {"i32": "C"}, {"i32": "CP"}]}
  ],
  "launches": [
    {"kernel": "pad_channels", "grid": ["min(ceil_div(N * H * W * CP, 512), SM_COUNT * 16)"], "block": [256], "when": "CP > C",
     "args": ["x", "padded", {"i64": "N * H * W"}, {"i32": "C"}, {"i32": "CP"}]},
    {"kernel": "conv", "grid": ["TILES"], "block": ["THREADS"], "shared_bytes": "SHARED", "when": "CP == C",
     "args": ["x", "filters", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv", "grid": ["TILES"], "block": ["THREADS"], "shared_bytes": "SHARED", "when": "CP > C",
     "args": ["padded", "filters", {"optional": "bias"}, "y", {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A convolution as a product of pixels and filters, with the matrix instructions of every architecture since Ampere.
//
//   x ─cp.async, zeros in the padding─► slice of BM pixels  ┐
//   w ─cp.async───────────────────────► slice of BN filters ┴► x STAGES ─ldmatrix, mma.sync─► bias, relu ─► y
//
// k runs over a filter's rows, columns and channels (ak/pixels.cuh); a slice is BK_BYTES of it, of one tap or of several.
// No matrix of pixels is written. `prepare` gives filters a multiple of 8 channels; images that have none are copied to
// such first.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/block_product.cuh>
#include <ak/functions.cuh>
#include <ak/pad.cuh>
#include <ak/pixels.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 64;
constexpr int WM = 32;
constexpr int WN = 32;
constexpr int BK_BYTES = 64;
constexpr int STAGES = 3;
constexpr int GROUP = 8;
constexpr int BLOCKS_PER_SM = 2;
constexpr int STRIDE = 1;
constexpr int PADDING = 1;
constexpr int DILATION = 1;
using scalar_t = __nv_bfloat16;
#define AK_EPILOGUE_NONE 1
#endif

using Product = ak::BlockProduct<ak::Element<scalar_t>, BM, BN, WM, WN, BK_BYTES, STAGES>;
using Copies = ak::PixelCopies<BM, BK_BYTES, Product::kThreads, STRIDE, PADDING, DILATION>;
constexpr int CHUNK = 8;  // channels

__global__ void __launch_bounds__(256)
    pad_channels(const scalar_t* from, scalar_t* to, long long pixels, int channels, int padded) {
  ak::pad_lines(from, to, pixels, channels, padded);
}

// Bias and relu of a warp's sums, whose columns begin with filter `first`.
__device__ __forceinline__ void finish(Product::Sums& sums, const scalar_t* bias, int first, int filters) {
#ifndef AK_EPILOGUE_NONE
#pragma unroll
  for (int j = 0; j < Product::kBlocksN; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int filter = first + j * 8 + ak::lane_index() % 4 * 2 + e % 2;
      const float added = filter < filters ? static_cast<float>(bias[filter]) : 0.0f;
#pragma unroll
      for (int i = 0; i < Product::kBlocksM; ++i) {
        sums[i][j][e] += added;
#ifdef AK_EPILOGUE_BIAS_RELU
        sums[i][j][e] = ak::relu(sums[i][j][e]);
#endif
      }
    }
  }
#endif
}

// A warp's results one by one, for rows that are no multiple of 16 bytes. Of them `columns` and `rows` exist.
__device__ __forceinline__ void store_any(scalar_t* to, const Product::Sums& sums, int rows, int columns, int filters) {
#pragma unroll
  for (int i = 0; i < Product::kBlocksM; ++i) {
#pragma unroll
    for (int j = 0; j < Product::kBlocksN; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = i * 16 + ak::lane_index() / 4 + e / 2 * 8, column = j * 8 + ak::lane_index() % 4 * 2 + e % 2;
        if (row < rows && column < columns) {
          to[static_cast<long long>(row) * filters + column] = static_cast<scalar_t>(sums[i][j][e]);
        }
      }
    }
  }
}

__global__ void __launch_bounds__(Product::kThreads, BLOCKS_PER_SM)
    conv(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const scalar_t* __restrict__ bias,
         scalar_t* __restrict__ y, int images, int height, int width, int channels, int filters, int rows, int columns,
         int out_height, int out_width) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const ak::Convolution of = {images, height, width, channels / CHUNK, rows, columns, out_height, out_width};
  const int down = (of.pixels() + BM - 1) / BM, across = (filters + BN - 1) / BN;
  const ak::TilePlace tile = ak::grouped_place<GROUP>(static_cast<int>(blockIdx.x), down, across);
  const int pixel = tile.row * BM, filter = tile.column * BN;

  Copies pixels(of, pixel);
  const Product::CopiesB taps(w, [&](int line) {
    return filter + line < filters ? w + static_cast<long long>(filter + line) * of.depth() * CHUNK : nullptr;
  });
  const long long end = of.depth() * 16ll;
  const auto start = [&](int slice, ak::u32 to_pixels, ak::u32 to_taps) {
    pixels.start(to_pixels, x, of);
    taps.start(to_taps, static_cast<long long>(slice) * BK_BYTES, end);
  };
  Product::Sums sums = {};
  Product::add(sums, ak::shared_address(memory), static_cast<int>((end + BK_BYTES - 1) / BK_BYTES), start, [](int) {});

  const int row = pixel + Product::warp_row(), column = filter + Product::warp_column();
  const int left = of.pixels() - row;
  scalar_t* to = y + static_cast<long long>(row) * filters + column;
  finish(sums, bias, column, filters);
  if (filters % CHUNK == 0) {
    scalar_t* staged = reinterpret_cast<scalar_t*>(memory + ak::warp_index() * ak::kStoredBytes<scalar_t, WN / 8>);
    ak::store_tile(staged, sums, filters - column,
                   [&](int line) { return line < left ? to + static_cast<long long>(line) * filters : nullptr; });
  } else {
    store_any(to, sums, left, filters - column, filters);
  }
}
