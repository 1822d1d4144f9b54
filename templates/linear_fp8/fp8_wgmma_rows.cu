/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 256},
    "BN": {"values": [64, 128], "default": 128},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [3, 4, 5, 6], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "SHARE": {"values": [0, 1], "default": 0},
    "GROUP": {"values": [1, 4, 8, 16], "default": 8}
  },
  "constraints": [
    "ARCH == 90",
    "BM // CONSUMERS >= 64",
    "BM // CONSUMERS // 64 * BN <= 256",
    "CONSUMERS == 2 or BM <= 128",
    "SHARED <= 232448",
    "CLUSTER > 1 or SHARE == 0"
  ],
  "let": {
    "SHARED": "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048",
    "TILES": "ceil_div(M, BM if SHARE == 1 else BM * CLUSTER) * ceil_div(N, BN * CLUSTER if SHARE == 1 else BN)",
    "CLUSTERS": "min(TILES, SM_COUNT // CLUSTER)",
    "WHOLE": "K % 16 == 0 and N % 8 == 0",
    "PACKED_BLOCKS": "0 if WHOLE else ceil_div(K, 256) * 2"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * 8192", "prepared": true}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["K"], "box": [128, "BM // CLUSTER if SHARE == 1 else BM"]},
    {"name": "map_w", "tensor": "weight", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["K"], "box": [128, "BN if SHARE == 1 else BN // CLUSTER"]},
    {"name": "map_y", "tensor": "y", "dtype": "bfloat16", "swizzle": "128B",
     "dims": ["N", "M"], "strides_bytes": ["N * 2"], "box": [64, 64]}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128], "when": "not WHOLE",
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_fp8", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED", "when": "WHOLE",
     "args": ["map_x", "map_w", "map_y", "x_scale", "weight_scale", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_any", "grid": ["ceil_div(N, 64) * ceil_div(M, 32)"], "block": [128],
     "shared_bytes": "2 * (32 + 64) * 128", "when": "not WHOLE",
     "args": ["x", "packed", "x_scale", "weight_scale", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T of fp8 numbers on Hopper's matrix units, for many rows: rows of x are those of the instruction, so that a
// thread needs two scales of x for 64 rows and one of the weights for 128 of k. (With lines of the weights there, as in
// fp8_wgmma.cu, it needs one for every column.) Weights are taken as they are.
//
// Blocks stay resident and take tiles of BM x BN in turn. One warp fills a ring of STAGES slices of x and W, 128 of k
// deep, through the tensor memory accelerator. CONSUMERS warp groups multiply them. The CLUSTER blocks of a cluster share
// one operand, of which each fetches its part for all: they work on tiles below each other and share W (SHARE 0), or
// beside each other and share x (SHARE 1).
//
//   shared memory:  two panels of 64 x 64 results for every consumer   [slice of x | slice of W] x STAGES   barriers
//
// wgmma keeps sums of fp8 to about 14 bits. So the sums of a slice begin anew, and are added to those of the tile, times
// the scales of blocks where there are some, while the other consumer's products run. One set of fresh sums, of 64 rows,
// does for a consumer's 128: sums take 192 registers a thread then.
// Lines that are no multiples of 16 bytes cannot be described to the accelerator: such shapes take linear_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/clusters.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/packed_weights.cuh>
#include <ak/panels.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma_fp8.cuh>
#include <ak/wgmma_ring.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 256;
constexpr int BN = 128;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int SHARE = 0;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#define AK_SCALES_BLOCK 1
#endif

constexpr int SCALED = 128;  // elements of k, and columns, that share a scale
constexpr int HEIGHT = SHARE == 1 ? BM : BM * CLUSTER, WIDTH = SHARE == 1 ? BN * CLUSTER : BN;  // of a cluster's tile

using ak::u32;
using Slices = ak::SliceRing<ak::e4m3, BM, BN, CONSUMERS, STAGES, CLUSTER>;
using Sums = Slices::Sums;
constexpr int BLOCKS_M = Slices::kBlocks;  // of 64 rows, for each consumer

// Scales of the whole sum: of the row of x and of the line of the weight, or of both tensors.
struct SumScales {
  const float* x;
  const float* weight;
  __device__ __forceinline__ float operator()(float sum, int row, int column) const {
#if defined(AK_SCALES_ROW)
    return sum * (x[row] * weight[column]);
#elif defined(AK_SCALES_BLOCK)
    return sum;
#else
    return sum * (x[0] * weight[0]);
#endif
  }
};

struct Place {
  int row, column;
};

// The tiles of this block, one after the other.
struct Tiles {
  int next, down, across, rank;
  __device__ __forceinline__ Tiles(int m, int n, int cluster_rank)
      : next(static_cast<int>(blockIdx.x) / CLUSTER), down((m + HEIGHT - 1) / HEIGHT), across((n + WIDTH - 1) / WIDTH),
        rank(cluster_rank) {}
  __device__ __forceinline__ bool more() const { return next < down * across; }
  __device__ __forceinline__ bool take(Place& place) {
    if (!more()) return false;
    const ak::TilePlace at = ak::grouped_place<GROUP>(next, down, across);
    next += static_cast<int>(gridDim.x) / CLUSTER;
    place = {at.row * HEIGHT + (SHARE == 1 ? 0 : rank * BM), at.column * WIDTH + (SHARE == 1 ? rank * BN : 0)};
    return true;
  }
};

// ---- fetching

__device__ __forceinline__ void produce(const CUtensorMap* map_x, const CUtensorMap* map_w, const Slices& ring, Tiles tiles,
                                        int slices, int rank) {
  constexpr int kLinesX = SHARE == 1 ? BM / CLUSTER : BM, kLinesW = SHARE == 1 ? BN : BN / CLUSTER;
  const int line_x = SHARE == 1 ? rank * kLinesX : 0, line_w = SHARE == 1 ? 0 : rank * kLinesW;
  Slices::Place stage;
  Place at;
  while (tiles.take(at)) {
    for (int slice = 0; slice < slices; ++slice) {
      const u32 barrier = ring.claim(stage);
      const int k = slice * Slices::kDepth;
      ak::tma_load_for_all<SHARE == 1 ? CLUSTER : 1>(ring.a(stage.stage) + line_x * 128, map_x, barrier, k, at.row + line_x);
      ak::tma_load_for_all<SHARE == 1 ? 1 : CLUSTER>(ring.b(stage.stage) + line_w * 128, map_w, barrier, k,
                                                     at.column + line_w);
      stage.advance();
    }
  }
}

// ---- multiplying

// Scales of blocks of a consumer's tile. Those of a slice are asked for while the slice before is multiplied.
struct BlockScales {
  const float *of_rows, *of_columns;  // of this thread's first row, and of its columns, at the next slice
  int pitch, below;                   // rows of the matrix from that row on
  float rows[BLOCKS_M][2], columns;

  __device__ __forceinline__ BlockScales(const float* x_scale, const float* weight_scale, const Place& at, int m, int slices)
      : of_columns(weight_scale + static_cast<long long>(at.column / SCALED) * slices), pitch(m) {
    const int row = at.row + ak::warp_index() % 4 * 16 + ak::lane_index() / 4;
    of_rows = x_scale + row;
    below = m - row;
    ask();
  }
  __device__ __forceinline__ void ask() {
    columns = *of_columns;
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int low = 0; low < 2; ++low) {
        const int row = block * 64 + low * 8;
        rows[block][low] = row < below ? of_rows[row] : 0.0f;
      }
    }
    of_rows += pitch;
    ++of_columns;
  }
  // Gives the scales of a slice, and asks for those of the next, where there is one.
  __device__ __forceinline__ void take(float (&scales)[BLOCKS_M][2], bool more) {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
      for (int low = 0; low < 2; ++low) scales[block][low] = rows[block][low] * columns;
    }
    if (more) ask();
  }
};

struct NoBlockScales {
  __device__ __forceinline__ NoBlockScales(const float*, const float*, const Place&, int, int) {}
  __device__ __forceinline__ void take(float (&scales)[BLOCKS_M][2], bool) const {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) scales[block][0] = scales[block][1] = 1.0f;
  }
};
#ifdef AK_SCALES_BLOCK
using Scales = BlockScales;
#else
using Scales = NoBlockScales;
#endif

// Issues the products of 64 rows of a stage that has arrived, as one group; the sums begin anew.
__device__ __forceinline__ void multiply(const Slices& ring, int stage, int consumer, int block, float (&sums)[BN / 2]) {
  const u32 from = ring.a(stage) + (consumer * BLOCKS_M + block) * 64 * 128;
  ak::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    ak::Wgmma<ak::e4m3, BN>::multiply(sums, ak::wgmma_operand(from + step * 32),
                                      ak::wgmma_operand(ring.b(stage) + step * 32), step > 0);
  }
  ak::wgmma_commit();
}

// Two consumers issue the first products of a tile one after the other: named barriers 3 and 4 pass the turn on. Else both
// began at once, their products alternated and ended together, and nothing would run while both add.
__device__ __forceinline__ void wait_for_turn(int consumer) {
  if constexpr (CONSUMERS == 2) ak::named_barrier<256>(3 + consumer);
}
// more: whether there is a tile after this one.
__device__ __forceinline__ void pass_turn_on(int consumer, bool more) {
  if constexpr (CONSUMERS == 2) {
    if (consumer == 0 || more) ak::named_barrier_arrive<256>(3 + (consumer ^ 1));
  }
}

// The sums of every slice, times its scales, in float32. One set of fresh sums does for all blocks of 64 rows. What the
// next products need is done while these run, so that between two groups of them there are only additions.
// more: whether this block has a tile after this one.
__device__ __forceinline__ void sum_slices(const Slices& ring, Slices::Place& stage, int slices, int consumer, Sums& sums,
                                           Scales scales, bool more) {
  ak::clear(sums);
  ak::barrier_wait(ring.full(stage.stage), stage.parity);
  wait_for_turn(consumer);
  for (int slice = 0; slice < slices; ++slice) {
    const int current = stage.stage;
    float scale[BLOCKS_M][2], fresh[BN / 2];
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
      multiply(ring, current, consumer, block, fresh);
      if (slice == 0 && block == 0) pass_turn_on(consumer, more);
      if (block == 0) scales.take(scale, slice + 1 < slices);
      if (block + 1 == BLOCKS_M) {
        stage.advance();
        if (slice + 1 < slices) ak::barrier_wait(ring.full(stage.stage), stage.parity);
      }
      ak::wgmma_wait<0>();
      if (block + 1 == BLOCKS_M) ring.release(current);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) sums[block][i] += fresh[i] * scale[block][i / 2 % 2];
    }
  }
}

// Lets the slices, and the turn, of a tile go by that has no rows of this consumer.
__device__ __forceinline__ void skip_tile(const Slices& ring, Slices::Place& stage, int slices, int consumer, bool more) {
  wait_for_turn(consumer);
  pass_turn_on(consumer, more);
  ring.skip(stage, slices);
}

// ---- results

__device__ __forceinline__ void write_tile(const CUtensorMap* map_y, u32 panels, int consumer, const Sums& sums,
                                           const SumScales& scaled, const Place& at, int m, int n, int& turn) {
  const bool leader = threadIdx.x % 128 == 0;
  const int lane = ak::lane_index(), lane_row = at.row + ak::warp_index() % 4 * 16 + lane / 4;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int part = 0; part < BN / 64; ++part) {
      const int column = at.column + part * 64;
      const u32 panel = panels + (consumer * 2 + turn) * ak::kPanelBytes;
      turn ^= 1;
      if (leader) ak::wait_stores_read<1>();
      ak::named_barrier<128>(consumer + 1);
      ak::fill_panel<ak::Element<scalar_t>>(panel, [&](int i) {
        // Beyond the ends the last scales do: the accelerator leaves such results out.
        return scaled(sums[block][part * 32 + i], min(lane_row + block * 64 + i / 2 % 2 * 8, m - 1),
                      min(column + i / 4 * 8 + lane % 4 * 2 + i % 2, n - 1));
      });
      ak::fence_shared_writes();
      ak::named_barrier<128>(consumer + 1);
      if (leader) {
        ak::tma_store(map_y, panel, column, at.row + block * 64);
        ak::commit_stores();
      }
    }
  }
}

__device__ __forceinline__ void consume(const CUtensorMap* map_y, const Slices& ring, u32 panels, Tiles tiles, int slices,
                                        int consumer, const float* x_scale, const float* weight_scale, int m, int n) {
  Slices::Place stage;
  int turn = 0;
  Place at;
  if (consumer == 1 && tiles.more()) pass_turn_on(consumer, true);
  while (tiles.take(at)) {
    at.row += consumer * BLOCKS_M * 64;
    if (at.row >= m || at.column >= n) {
      skip_tile(ring, stage, slices, consumer, tiles.more());
      continue;
    }
    Sums sums;
    const Scales scales(x_scale, weight_scale, at, m, slices);
    sum_slices(ring, stage, slices, consumer, sums, scales, tiles.more());
    write_tile(map_y, panels, consumer, sums, {x_scale, weight_scale}, at, m, n, turn);
  }
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
}

// x: m x k, weight: n x k, y: m x n; every line a multiple of 16 bytes.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    linear_fp8(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_w,
               const __grid_constant__ CUtensorMap map_y, const float* __restrict__ x_scale,
               const float* __restrict__ weight_scale, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 panels = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  const Slices ring{panels + CONSUMERS * 2 * ak::kPanelBytes};
  if (threadIdx.x == 0) ring.init();
  __syncthreads();
  if constexpr (CLUSTER > 1) ak::cluster_sync();

  const int rank = CLUSTER > 1 ? ak::cluster_rank() : 0, slices = (k + Slices::kDepth - 1) / Slices::kDepth;
  const Tiles tiles(m, n, rank);
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (ak::warp_index() % 4 == 0 && ak::lane_index() == 0) produce(&map_x, &map_w, ring, tiles, slices, rank);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    consume(&map_y, ring, panels, tiles, slices, group, x_scale, weight_scale, m, n);
  }
  __syncwarp();
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

// ---- any shape: tiles of 64 lines by 32 rows with mma.sync, of packed weights

using Weights = ak::PlainWeights<ak::e4m3>;
using Store = ak::StoreResults<scalar_t, SumScales>;

// A block of 64 lines by 128 of k; zeros past the ends.
__global__ void __launch_bounds__(128) pack_weights(const unsigned char* weight, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 128;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> u32 {
    const bool inside = first + line < n && start + at < k;
    return inside ? weight[static_cast<long long>(first + line) * k + start + at] : 0;
  });
}

__device__ __forceinline__ auto scales_along_k(const float* x_scale, const float* weight_scale, int m, int n, int k) {
#ifdef AK_SCALES_BLOCK
  return ak::BlockScales{x_scale, weight_scale, m, n, (k + SCALED - 1) / SCALED};
#else
  return ak::NoScales();
#endif
}

__global__ void __launch_bounds__(128)
    linear_any(const __nv_fp8_e4m3* __restrict__ x, const unsigned char* __restrict__ packed,
               const float* __restrict__ x_scale, const float* __restrict__ weight_scale, scalar_t* __restrict__ y, int m,
               int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::LinearMma<Weights, 64, 32, 128, 16, 1, 2>::run<false>(
      memory, x, packed, m, n, k, scales_along_k(x_scale, weight_scale, m, n, k), Store{y, n, {x_scale, weight_scale}});
}
