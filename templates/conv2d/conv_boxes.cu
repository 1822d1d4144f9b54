/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [64, 128, 192, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [3, 4, 5, 6], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "SIDE": {"values": [1, 4, 8], "default": 1},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "BM // CONSUMERS >= 64",
    "BM // CONSUMERS // 64 * BN <= 256",
    "SHARED <= 232448"
  ],
  "let": {
    "SHARED": "STAGES * ((BM + BN) * 128 + 16) + CONSUMERS * 16384 + 1024",
    "CP": "round_up(C, 8)",
    "EVEN_Q": "16 if round_up(Q, 16) * 16 <= Q * 17 else 8 if round_up(Q, 8) * 16 <= Q * 17 else 4 if round_up(Q, 4) * 16 <= Q * 17 else 2 if Q % 2 == 0 else 1",
    "EVEN_P": "16 if round_up(P, 16) * 16 <= P * 17 else 8 if round_up(P, 8) * 16 <= P * 17 else 4 if round_up(P, 4) * 16 <= P * 17 else 2 if P % 2 == 0 else 1",
    "LEAST": "max(1, BM // 2 ** ilog2(2 * N - 1))",
    "BQ": "max(SIDE, EVEN_Q, min(2 ** ilog2(2 * Q - 1), 2 ** (ilog2(LEAST) // 2)))",
    "BP": "min(max(SIDE, EVEN_P, min(16, 2 ** ilog2(2 * P - 1), LEAST // BQ)), BM // BQ)",
    "BI": "BM // (BQ * BP)",
    "PANEL_P": "min(BP, 64 // BQ)",
    "DOWN": "ceil_div(Q, BQ) * ceil_div(P, BP) * ceil_div(N, BI)",
    "TILES": "ceil_div(DOWN, CLUSTER) * ceil_div(K, BN)",
    "GRID": "min(TILES, SM_COUNT // CLUSTER) * CLUSTER"
  },
  "workspace": [
    {"name": "filters", "dtype": "dtype", "count": "K * R * S * CP", "prepared": true},
    {"name": "padded", "dtype": "dtype", "count": "N * H * W * CP if CP > C else 0"}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["CP", "W", "H", "N"], "strides_bytes": ["CP * 2", "W * CP * 2", "H * W * CP * 2"],
     "box": [64, "(BQ - 1) * stride + 1", "(BP - 1) * stride + 1", "BI"], "element_strides": [1, "stride", "stride", 1]},
    {"name": "map_padded", "tensor": "padded", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["CP", "W", "H", "N"], "strides_bytes": ["CP * 2", "W * CP * 2", "H * W * CP * 2"],
     "box": [64, "(BQ - 1) * stride + 1", "(BP - 1) * stride + 1", "BI"], "element_strides": [1, "stride", "stride", 1]},
    {"name": "map_w", "tensor": "filters", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["CP", "R * S", "K"], "strides_bytes": ["CP * 2", "R * S * CP * 2"], "box": [64, 1, "BN // CLUSTER"]},
    {"name": "map_y", "tensor": "y", "dtype": "dtype", "swizzle": "128B",
     "dims": ["K", "Q", "P", "N"], "strides_bytes": ["K * 2", "Q * K * 2", "P * Q * K * 2"],
     "box": [64, "BQ", "PANEL_P", "64 // (BQ * PANEL_P)"]}
  ],
  "prepare": [
    {"kernel": "pad_channels", "grid": ["min(ceil_div(K * R * S * CP, 512), 4096)"], "block": [256],
     "args": ["w", "filters", {"i64": "K * R * S"}, {"i32": "C"}, {"i32": "CP"}]}
  ],
  "launches": [
    {"kernel": "pad_channels", "grid": ["min(ceil_div(N * H * W * CP, 512), SM_COUNT * 16)"], "block": [256], "when": "CP > C",
     "args": ["x", "padded", {"i64": "N * H * W"}, {"i32": "C"}, {"i32": "CP"}]},
    {"kernel": "conv", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP == C and K % 8 == 0",
     "args": ["map_x", "map_w", "map_y", {"optional": "bias"}, {"i32": "N"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}, {"i32": "ilog2(BP)"}, {"i32": "ilog2(BQ)"}]},
    {"kernel": "conv", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP > C and K % 8 == 0",
     "args": ["map_padded", "map_w", "map_y", {"optional": "bias"}, {"i32": "N"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}, {"i32": "ilog2(BP)"}, {"i32": "ilog2(BQ)"}]},
    {"kernel": "conv_any", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP == C and K % 8 != 0",
     "args": ["map_x", "map_w", "y", {"optional": "bias"}, {"i32": "N"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}, {"i32": "ilog2(BP)"}, {"i32": "ilog2(BQ)"}]},
    {"kernel": "conv_any", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP > C and K % 8 != 0",
     "args": ["map_padded", "map_w", "y", {"optional": "bias"}, {"i32": "N"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}, {"i32": "ilog2(BP)"}, {"i32": "ilog2(BQ)"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A convolution as a product of pixels and filters on Hopper's matrix units, with tiles that are boxes of pixels.
//
//   tile: BI images x BP rows x BQ columns of the result, BM pixels      a tap: the same box of x, moved
//   x ─TMA, zeros in the padding─► slice of BM pixels  ┐
//   w ─TMA, multicast────────────► slice of BN filters ┴► x STAGES ─wgmma─► bias, relu ─► panels of 64 x 64 ─TMA─► y
//
// TMA brings what a tap needs of a whole tile in one copy, with the stride, and zeros outside of the image:
// nothing is left for threads to do. A box's sides are powers of two that divide the result's, or nearly, but SIDE at
// least, and more where a tile would have twice the images that there are; what hangs over the edges is multiplied for
// nothing. Slices are 64 channels of a tap, so that few channels leave
// the matrix units without work: conv_wgmma.cu is for those, and for results that no boxes fill.
// The CLUSTER blocks of a cluster share filters. Blocks stay and take tiles in turn. `prepare` gives filters a multiple of
// 8 channels; images that have none are copied to such first.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/clusters.cuh>
#include <ak/functions.cuh>
#include <ak/pad.cuh>
#include <ak/panels.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma_ring.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int GROUP = 8;
constexpr int STRIDE = 1;
constexpr int PADDING = 1;
constexpr int DILATION = 1;
using scalar_t = __nv_bfloat16;
#define AK_EPILOGUE_NONE 1
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Slices = ak::SliceRing<element, BM, BN, CONSUMERS, STAGES, CLUSTER>;
using Sums = Slices::Sums;
constexpr int BLOCKS_M = Slices::kBlocks;  // of 64 pixels, for each consumer
constexpr int THREADS = (CONSUMERS + 1) * 128;

__global__ void __launch_bounds__(256)
    pad_channels(const scalar_t* from, scalar_t* to, long long pixels, int channels, int padded) {
  ak::pad_lines(from, to, pixels, channels, padded);
}

// A result from its sum.
__device__ __forceinline__ float finish(float sum, const scalar_t* bias, int filter, int filters) {
#ifndef AK_EPILOGUE_NONE
  sum += filter < filters ? static_cast<float>(bias[filter]) : 0.0f;
#endif
#ifdef AK_EPILOGUE_BIAS_RELU
  sum = ak::relu(sum);
#endif
  return sum;
}

// What a convolution is, and the sides of its boxes as powers of two.
struct Shape {
  int images, channels, filters, rows, columns, out_height, out_width, log_p, log_q;

  __device__ __forceinline__ int slices_of_tap() const { return (channels + Slices::kDepth - 1) / Slices::kDepth; }
  __device__ __forceinline__ int slices() const { return rows * columns * slices_of_tap(); }
};

// A pixel of the result.
struct Pixel {
  int image, p, q;
  // Pixel number `line` of the box that begins here.
  __device__ __forceinline__ Pixel of_box(int line, const Shape& of) const {
    return {image + (line >> (of.log_p + of.log_q)), p + (line >> of.log_q & ((1 << of.log_p) - 1)),
            q + (line & ((1 << of.log_q) - 1))};
  }
};

// The tiles of this block, one after the other.
struct Tiles {
  Shape of;
  int boxes_q, boxes_p, down, across, rank, next;
  __device__ __forceinline__ Tiles(const Shape& shape, int cluster_rank)
      : of(shape), boxes_q(count(shape.out_width, shape.log_q)), boxes_p(count(shape.out_height, shape.log_p)),
        rank(cluster_rank), next(static_cast<int>(blockIdx.x) / CLUSTER) {
    const int boxes = boxes_q * boxes_p * ((shape.images + images_of_box() - 1) / images_of_box());
    down = (boxes + CLUSTER - 1) / CLUSTER;
    across = (shape.filters + BN - 1) / BN;
  }
  // The tile's first pixel, perhaps of an image that does not exist, and its first filter.
  __device__ __forceinline__ bool take(Pixel& pixel, int& filter) {
    if (next >= down * across) return false;
    const ak::TilePlace at = ak::grouped_place<GROUP>(next, down, across);
    const int box = at.row * CLUSTER + rank, line = box / boxes_q, image = line / boxes_p;
    pixel = {image * images_of_box(), (line - image * boxes_p) << of.log_p, (box - line * boxes_q) << of.log_q};
    filter = at.column * BN;
    next += static_cast<int>(gridDim.x) / CLUSTER;
    return true;
  }

 private:
  static __device__ __forceinline__ int count(int length, int log) { return (length + (1 << log) - 1) >> log; }
  __device__ __forceinline__ int images_of_box() const { return BM >> (of.log_p + of.log_q); }
};

// Shared memory: two panels for every consumer, then the ring.
struct Memory {
  u32 panels;
  Slices ring;
  __device__ __forceinline__ explicit Memory(unsigned char* memory)
      : panels((ak::shared_address(memory) + 1023) / 1024 * 1024), ring{panels + CONSUMERS * 2 * ak::kPanelBytes} {
    if (threadIdx.x == 0) ring.init();
    __syncthreads();
    if constexpr (CLUSTER > 1) ak::cluster_sync();
  }
};

// One thread fetches pixels, and this block's share of filters for the whole cluster.
__device__ __forceinline__ void produce(const CUtensorMap* map_x, const CUtensorMap* map_w, const Slices& ring,
                                        Tiles tiles) {
  constexpr int kLines = BN / CLUSTER;
  const Shape& of = tiles.of;
  const int of_tap = of.slices_of_tap();
  Slices::Place stage;
  Pixel pixel;
  int filter;
  while (tiles.take(pixel, filter)) {
    for (int tap = 0; tap < of.rows * of.columns; ++tap) {
      const int row = tap / of.columns, column = tap - row * of.columns;
      for (int slice = 0; slice < of_tap; ++slice) {
        const u32 barrier = ring.claim(stage);
        ak::tma_load(ring.a(stage.stage), map_x, barrier, slice * Slices::kDepth,
                     pixel.q * STRIDE + column * DILATION - PADDING, pixel.p * STRIDE + row * DILATION - PADDING,
                     pixel.image);
        ak::tma_load_for_all<CLUSTER>(ring.b(stage.stage) + tiles.rank * kLines * 128, map_w, barrier,
                                      slice * Slices::kDepth, tap, filter + tiles.rank * kLines);
        stage.advance();
      }
    }
  }
}

// Panels of one consumer on their way out, two in turn. TMA leaves out what is outside of y.
struct Panels {
  const CUtensorMap* map;
  u32 memory;
  int consumer;
  int turn = 0;

  // value(i): as in ak::fill_panel.
  template <class Value>
  __device__ __forceinline__ void write(const Pixel& pixel, int filter, Value value) {
    const bool leader = threadIdx.x % 128 == 0;
    const u32 panel = memory + (consumer * 2 + turn) * ak::kPanelBytes;
    turn ^= 1;
    if (leader) ak::wait_stores_read<1>();
    ak::named_barrier<128>(consumer + 1);
    ak::fill_panel<element>(panel, value);
    ak::fence_shared_writes();
    ak::named_barrier<128>(consumer + 1);
    if (leader) {
      ak::tma_store(map, panel, filter, pixel.q, pixel.p, pixel.image);
      ak::commit_stores();
    }
  }
};

// The whole block's work. write(first pixel of the tile, its first line of this consumer, first filter, sums).
template <class Write>
__device__ __forceinline__ void run(const Memory& shared, const CUtensorMap* map_x, const CUtensorMap* map_w,
                                    const Shape& of, Write write) {
  Tiles tiles(of, CLUSTER > 1 ? static_cast<int>(ak::cluster_rank()) : 0);
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (threadIdx.x % 128 == 0) produce(map_x, map_w, shared.ring, tiles);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    Slices::Place stage;
    Pixel pixel;
    int filter;
    while (tiles.take(pixel, filter)) {
      Sums sums;
      shared.ring.sum(stage, of.slices(), group, sums);
      write(pixel, group * BLOCKS_M * 64, filter, sums);
    }
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    conv(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_w,
         const __grid_constant__ CUtensorMap map_y, const scalar_t* __restrict__ bias, int images, int channels, int filters,
         int rows, int columns, int out_height, int out_width, int log_p, int log_q) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory);
  const Shape of = {images, channels, filters, rows, columns, out_height, out_width, log_p, log_q};
  Panels panels{&map_y, shared.panels, ak::warp_group()};
  run(shared, &map_x, &map_w, of, [&](const Pixel& pixel, int line, int filter, const Sums& sums) {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int part = 0; part < BN / 64; ++part) {
        const int first = filter + part * 64;
        if (first >= filters) continue;
        panels.write(pixel.of_box(line + block * 64, of), first, [&](int i) {
          const int column = first + i / 4 * 8 + ak::lane_index() % 4 * 2 + i % 2;
          return finish(sums[block][part * 32 + i], bias, column, filters);
        });
      }
    }
  });
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

// Results one by one, for rows that are no multiple of 16 bytes.
__global__ void __launch_bounds__(THREADS, 1)
    conv_any(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_w, scalar_t* __restrict__ y,
             const scalar_t* __restrict__ bias, int images, int channels, int filters, int rows, int columns, int out_height,
             int out_width, int log_p, int log_q) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory);
  const Shape of = {images, channels, filters, rows, columns, out_height, out_width, log_p, log_q};
  run(shared, &map_x, &map_w, of, [&](const Pixel& pixel, int line, int filter, const Sums& sums) {
    line += ak::warp_index() % 4 * 16 + ak::lane_index() / 4;
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const Pixel at = pixel.of_box(line + block * 64 + low * 8, of);
        if (at.image >= images || at.p >= out_height || at.q >= out_width) continue;
        scalar_t* to = y + ((static_cast<long long>(at.image) * out_height + at.p) * out_width + at.q) * filters;
#pragma unroll
        for (int i = 0; i < BN / 4; ++i) {
          const int column = filter + i / 2 * 8 + ak::lane_index() % 4 * 2 + i % 2;
          if (column >= filters) continue;
          to[column] = static_cast<scalar_t>(finish(sums[block][i / 2 * 4 + low * 2 + i % 2], bias, column, filters));
        }
      }
    }
  });
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}
