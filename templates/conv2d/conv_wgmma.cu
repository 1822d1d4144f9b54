/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [64, 128, 192, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
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
    "PIXELS": "N * P * Q",
    "TILES": "ceil_div(PIXELS, BM * CLUSTER) * ceil_div(K, BN)",
    "GRID": "min(TILES, SM_COUNT // CLUSTER) * CLUSTER"
  },
  "workspace": [
    {"name": "filters", "dtype": "dtype", "count": "K * R * S * CP", "prepared": true},
    {"name": "padded", "dtype": "dtype", "count": "N * H * W * CP if CP > C else 0"}
  ],
  "tensor_maps": [
    {"name": "map_w", "tensor": "filters", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["R * S * CP", "K"], "strides_bytes": ["R * S * CP * 2"], "box": [64, "BN // CLUSTER"]},
    {"name": "map_y", "tensor": "y", "dtype": "dtype", "swizzle": "128B",
     "dims": ["K", "PIXELS"], "strides_bytes": ["K * 2"], "box": [64, 64]}
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
     "args": ["map_w", "map_y", "x", {"optional": "bias"}, {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP > C and K % 8 == 0",
     "args": ["map_w", "map_y", "padded", {"optional": "bias"}, {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv_any", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP == C and K % 8 != 0",
     "args": ["map_w", "y", "x", {"optional": "bias"}, {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]},
    {"kernel": "conv_any", "grid": ["GRID"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "when": "CP > C and K % 8 != 0",
     "args": ["map_w", "y", "padded", {"optional": "bias"}, {"i32": "N"}, {"i32": "H"}, {"i32": "W"}, {"i32": "CP"}, {"i32": "K"}, {"i32": "R"}, {"i32": "S"}, {"i32": "P"}, {"i32": "Q"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A convolution as a product of pixels and filters on Hopper's matrix units, without a matrix of pixels in memory.
//
//              ┌ warp group CONSUMERS: 128 threads gather ┐
//   x ─cp.async, zeros in the padding─► slice of BM pixels │       CLUSTER blocks work on tiles below each other and
//   w ─TMA, multicast─────────────────► slice of BN filters│       share the filters
//              └──┬───────────────────────────────────────┘
//   warp groups 0 .. CONSUMERS - 1: wgmma ─► bias, relu ─► panels of 64 x 64 ─TMA─► y
//
// k runs over a filter's rows, columns and channels (ak/pixels.cuh): a slice is 64 of them, of one tap or of several, so
// that no number of channels leaves the matrix units without work. Both kinds of copies arrive at one barrier of a stage
// (ak/wgmma_ring.cuh). Blocks stay and take tiles in turn; the next tile's slices are fetched while results are written.
// `prepare` gives filters a multiple of 8 channels; images that have none are copied to such first. Results whose
// rows are no multiple of 16 bytes are stored one by one (conv_any).
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/clusters.cuh>
#include <ak/functions.cuh>
#include <ak/pad.cuh>
#include <ak/panels.cuh>
#include <ak/pixels.cuh>
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
using Copies = ak::PixelCopies<BM, 128, 128, STRIDE, PADDING, DILATION>;
constexpr int BLOCKS_M = Slices::kBlocks;  // of 64 pixels, for each consumer
constexpr int THREADS = (CONSUMERS + 1) * 128;
constexpr int CHUNK = 8;                   // channels

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

// The tiles of this block, one after the other.
struct Tiles {
  int down, across, rank, next;
  __device__ __forceinline__ Tiles(int pixels, int filters, int cluster_rank)
      : down((pixels + BM * CLUSTER - 1) / (BM * CLUSTER)), across((filters + BN - 1) / BN), rank(cluster_rank),
        next(static_cast<int>(blockIdx.x) / CLUSTER) {}
  // pixel, filter: the first of the tile.
  __device__ __forceinline__ bool take(int& pixel, int& filter) {
    if (next >= down * across) return false;
    const ak::TilePlace at = ak::grouped_place<GROUP>(next, down, across);
    pixel = (at.row * CLUSTER + rank) * BM;
    filter = at.column * BN;
    next += static_cast<int>(gridDim.x) / CLUSTER;
    return true;
  }
};

// Shared memory: two panels for every consumer, then the ring.
struct Memory {
  u32 panels;
  Slices ring;
  __device__ __forceinline__ explicit Memory(unsigned char* memory)
      : panels((ak::shared_address(memory) + 1023) / 1024 * 1024), ring{panels + CONSUMERS * 2 * ak::kPanelBytes} {
    if (threadIdx.x == 0) ring.init(128);
    __syncthreads();
    if constexpr (CLUSTER > 1) ak::cluster_sync();
  }
};

// All 128 threads copy pixels; one of them also fetches filters, this block's share of them for the whole cluster.
__device__ __forceinline__ void produce(const CUtensorMap* map_w, const Slices& ring, Tiles tiles, const scalar_t* x,
                                        const ak::Convolution& of, int slices) {
  constexpr int kLines = BN / CLUSTER;
  Slices::Place stage;
  int pixel, filter;
  while (tiles.take(pixel, filter)) {
    Copies copies(of, pixel);
    for (int slice = 0; slice < slices; ++slice) {
      const u32 barrier = ring.full(stage.stage);
      if (threadIdx.x % 128 == 0) {
        ring.claim(stage, BN * 128);
        ak::tma_load_for_all<CLUSTER>(ring.b(stage.stage) + tiles.rank * kLines * 128, map_w, barrier,
                                      slice * Slices::kDepth, filter + tiles.rank * kLines);
      } else {
        ak::barrier_wait(ring.empty(stage.stage), stage.parity ^ 1);
      }
      copies.start(ring.a(stage.stage), x, of);
      ak::barrier_arrive_after_copies(barrier);
      stage.advance();
    }
  }
  ak::wait_copies<0>();
}

// Sums up this consumer's part of every tile and hands it to write(first pixel of the part, first filter, sums).
template <class Write>
__device__ __forceinline__ void consume(const Slices& ring, Tiles tiles, int slices, int consumer, Write write) {
  Slices::Place stage;
  int pixel, filter;
  while (tiles.take(pixel, filter)) {
    Sums sums;
    ring.sum<true>(stage, slices, consumer, sums);
    write(pixel + consumer * BLOCKS_M * 64, filter, sums);
  }
}

// Panels of one consumer on their way out, two in turn. TMA leaves out what is behind the last pixel or filter.
struct Panels {
  const CUtensorMap* map;
  u32 memory;
  int consumer;
  int turn = 0;

  // value(i): as in ak::fill_panel.
  template <class Value>
  __device__ __forceinline__ void write(int pixel, int filter, Value value) {
    const bool leader = threadIdx.x % 128 == 0;
    const u32 panel = memory + (consumer * 2 + turn) * ak::kPanelBytes;
    turn ^= 1;
    if (leader) ak::wait_stores_read<1>();
    ak::named_barrier<128>(consumer + 1);
    ak::fill_panel<element>(panel, value);
    ak::fence_shared_writes();
    ak::named_barrier<128>(consumer + 1);
    if (leader) {
      ak::tma_store(map, panel, filter, pixel);
      ak::commit_stores();
    }
  }
};

// The whole block's work; write: as of consume().
template <class Write>
__device__ __forceinline__ void run(const Memory& shared, const CUtensorMap* map_w, const scalar_t* x,
                                    const ak::Convolution& of, int filters, Write write) {
  const int slices = (of.depth() * CHUNK + Slices::kDepth - 1) / Slices::kDepth, group = ak::warp_group();
  const Tiles tiles(of.pixels(), filters, CLUSTER > 1 ? static_cast<int>(ak::cluster_rank()) : 0);
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<88>();
    produce(map_w, shared.ring, tiles, x, of, slices);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<208, 2, 88>();
    consume(shared.ring, tiles, slices, group, write);
  }
}

__global__ void __launch_bounds__(THREADS, 1)
    conv(const __grid_constant__ CUtensorMap map_w, const __grid_constant__ CUtensorMap map_y,
         const scalar_t* __restrict__ x, const scalar_t* __restrict__ bias, int images, int height, int width, int channels,
         int filters, int rows, int columns, int out_height, int out_width) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory);
  const ak::Convolution of = {images, height, width, channels / CHUNK, rows, columns, out_height, out_width};
  Panels panels{&map_y, shared.panels, ak::warp_group()};
  run(shared, &map_w, x, of, filters, [&](int pixel, int filter, const Sums& sums) {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int part = 0; part < BN / 64; ++part) {
        const int first = filter + part * 64;
        if (first >= filters) continue;
        panels.write(pixel + block * 64, first, [&](int i) {
          const int column = first + i / 4 * 8 + ak::lane_index() % 4 * 2 + i % 2;
          return finish(sums[block][part * 32 + i], bias, column, filters);
        });
      }
    }
  });
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

__global__ void __launch_bounds__(THREADS, 1)
    conv_any(const __grid_constant__ CUtensorMap map_w, scalar_t* __restrict__ y, const scalar_t* __restrict__ x,
             const scalar_t* __restrict__ bias, int images, int height, int width, int channels, int filters, int rows,
             int columns, int out_height, int out_width) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory shared(memory);
  const ak::Convolution of = {images, height, width, channels / CHUNK, rows, columns, out_height, out_width};
  run(shared, &map_w, x, of, filters, [&](int pixel, int filter, const Sums& sums) {
    const int row = pixel + ak::warp_index() % 4 * 16 + ak::lane_index() / 4, pixels = of.pixels();
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) {
        const int column = filter + i / 4 * 8 + ak::lane_index() % 4 * 2 + i % 2, line = row + block * 64 + i / 2 % 2 * 8;
        if (line >= pixels || column >= filters) continue;
        y[static_cast<long long>(line) * filters + column] =
            static_cast<scalar_t>(finish(sums[block][i], bias, column, filters));
      }
    }
  });
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}
