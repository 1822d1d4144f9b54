/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [64, 128, 192, 256], "default": 256},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "GROUP": {"values": [1, 4, 8, 16], "default": 8}
  },
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "BM // CONSUMERS >= 64",
    "BM // CONSUMERS // 64 * BN <= 256",
    "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048 <= 232448"
  ],
  "let": {
    "A_WIDE": "(K if a_layout == 'row' else M) % 8 == 0",
    "B_WIDE": "(N if b_layout == 'row' else K) % 8 == 0",
    "WIDE": "A_WIDE and B_WIDE and N % 8 == 0",
    "CLUSTERS_DOWN": "ceil_div(M, BM * CLUSTER)",
    "CLUSTERS": "min(CLUSTERS_DOWN * ceil_div(N, BN), SM_COUNT // CLUSTER)"
  },
  "tensor_maps": [
    {"name": "map_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K"],
     "strides_bytes": ["round_up(2 * (K if a_layout == 'row' else M), 16)"],
     "box": [64, "BM if a_layout == 'row' else 64"]},
    {"name": "map_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N"],
     "strides_bytes": ["round_up(2 * (N if b_layout == 'row' else K), 16)"],
     "box": [64, "(64 if b_layout == 'row' else BN) // CLUSTER"]},
    {"name": "map_c", "tensor": "c", "dtype": "dtype", "swizzle": "128B",
     "dims": ["N", "M"], "strides_bytes": ["round_up(2 * N, 16)"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "gemm_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048",
     "args": ["map_a", "map_b", "map_c", {"optional": "bias"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WIDE"},
    {"kernel": "gemm_any", "grid": ["ceil_div(N, 64)", "ceil_div(M, 64)"], "block": [256],
     "args": ["a", "b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) on Hopper's matrix units. Blocks stay resident and take tiles of BM x BN in turn. One warp
// group fetches: it fills a ring of STAGES slices of a and b, 64 deep in k, through the tensor memory accelerator.
// CONSUMERS warp groups multiply them with asynchronous wgmma instructions and keep the sums in registers. The CLUSTER
// blocks of a cluster work on tiles below each other, so that each fetches its share of b for both (multicast).
// Results go through shared memory, 64 columns at a time, so that the accelerator can write them as whole lines while
// the next tile's slices already arrive.
//
//   shared memory:  [slice of a | slice of b] x STAGES   two panels of 64 x 64 results for every consumer   barriers
//
// Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share operands in L2.
// Barriers carry no cluster-wide order beyond their own: a release of that scope costs a memory barrier for each slice,
// and what the blocks hand over are only slices that have been read.
// Shapes whose lines are no multiple of 16 bytes cannot be described to the accelerator: they take gemm_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>
#include <ak/wgmma.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 256;
constexpr int CONSUMERS = 2;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

// Operands that lie across k in memory (a by columns, b by rows) are transposed by the matrix units.
#ifdef AK_A_LAYOUT_COLUMN
constexpr int A_ACROSS = 1;
#else
constexpr int A_ACROSS = 0;
#endif
#ifdef AK_B_LAYOUT_COLUMN
constexpr int B_ACROSS = 0;
#else
constexpr int B_ACROSS = 1;
#endif

constexpr int BK = 64;              // 128 bytes: one line of the 128-byte swizzle
constexpr int PANEL = 64 * BK * 2;  // bytes of 64 lines
constexpr int A_BYTES = BM * BK * 2;
constexpr int B_BYTES = BN * BK * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BLOCKS_M = BM / CONSUMERS / 64;  // of 64 rows, for each consumer

using ak::u32;

__device__ __forceinline__ void fetch_for_all(u32 to, const CUtensorMap* map, int x, int y, u32 barrier) {
  if constexpr (CLUSTER == 1) {
    ak::tma_load(to, map, barrier, x, y);
  } else {
    ak::tma_load_multicast(to, map, barrier, (1 << CLUSTER) - 1, x, y);
  }
}

// ---- operands in shared memory, in lines of 128 swizzled bytes

// PANEL bytes from 64 elements across to the next 64, looked at only for operands that lie across k.
__device__ __forceinline__ ak::u64 operand(u32 address) { return ak::wgmma_operand(address, PANEL); }
using Product = ak::Wgmma<ak::Element<scalar_t>, BN, A_ACROSS == 1, B_ACROSS == 1>;
// The 16 elements in k from 16 * step on: 32 bytes further along the lines, or 16 lines further down.
__device__ __forceinline__ u32 step_bytes(int across, int step) { return across == 1 ? step * 16 * 128 : step * 32; }

// ---- tiles

struct Tiles {
  int down, across, count;  // in clusters
  __device__ Tiles(int m, int n)
      : down((m + BM * CLUSTER - 1) / (BM * CLUSTER)), across((n + BN - 1) / BN), count(down * across) {}
  __device__ void place(int tile, int& row, int& column) const {
    const ak::TilePlace at = ak::grouped_place<GROUP>(tile, down, across);
    row = at.row * CLUSTER;
    column = at.column;
  }
};
using Ring = ak::Ring<STAGES>;

struct Shared {
  u32 slices, panels, full, empty;  // full, empty: STAGES barriers each
  __device__ u32 slice(int stage) const { return slices + stage * STAGE_BYTES; }
};

__device__ __forceinline__ void fetch_slice(const CUtensorMap* map_a, const CUtensorMap* map_b, const Shared& shared,
                                            int stage, int m, int n, int k, int rank) {
  const u32 to_a = shared.slice(stage), to_b = to_a + A_BYTES, barrier = shared.full + stage * 8;
  ak::barrier_expect(barrier, STAGE_BYTES);
  if constexpr (A_ACROSS == 0) {
    ak::tma_load(to_a, map_a, barrier, k, m);
  } else {
#pragma unroll
    for (int panel = 0; panel < BM / 64; ++panel) ak::tma_load(to_a + panel * PANEL, map_a, barrier, m + panel * 64, k);
  }
  if constexpr (B_ACROSS == 0) {
    constexpr int kLines = BN / CLUSTER;
    fetch_for_all(to_b + rank * kLines * 128, map_b, k, n + rank * kLines, barrier);
  } else {
    constexpr int kLines = 64 / CLUSTER;
#pragma unroll
    for (int panel = 0; panel < BN / 64; ++panel) {
      fetch_for_all(to_b + panel * PANEL + rank * kLines * 128, map_b, n + panel * 64, k + rank * kLines, barrier);
    }
  }
}

__device__ __forceinline__ void produce(const CUtensorMap* map_a, const CUtensorMap* map_b, const Shared& shared,
                                        const Tiles& tiles, int slices, int rank) {
  Ring ring;
  for (int tile = blockIdx.x / CLUSTER; tile < tiles.count; tile += gridDim.x / CLUSTER) {
    int row, column;
    tiles.place(tile, row, column);
    for (int slice = 0; slice < slices; ++slice) {
      ak::barrier_wait(shared.empty + ring.stage * 8, ring.parity ^ 1);
      fetch_slice(map_a, map_b, shared, ring.stage, (row + rank) * BM, column * BN, slice * BK, rank);
      ring.advance();
    }
  }
}

// Tells every block of the cluster that this warp's products have read a slice. Each warp speaks for itself: another of
// its group may still be about to read.
__device__ __forceinline__ void release(const Shared& shared, int stage) {
  const int lane = threadIdx.x % 32;
  if (lane < CLUSTER) ak::barrier_arrive_at(shared.empty + stage * 8, lane);
}

__device__ __forceinline__ void multiply(const Shared& shared, int stage, int consumer, float (&sums)[BLOCKS_M][BN / 2],
                                         bool first) {
  const u32 a = shared.slice(stage) + consumer * BLOCKS_M * PANEL, b = shared.slice(stage) + A_BYTES;
  ak::wgmma_fence();
#pragma unroll
  for (int step = 0; step < BK / 16; ++step) {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
      Product::multiply(sums[block], operand(a + block * PANEL + step_bytes(A_ACROSS, step)),
                        operand(b + step_bytes(B_ACROSS, step)), first && step == 0 ? 0 : 1);
    }
  }
  ak::wgmma_commit();
}

__device__ __forceinline__ float activate(float x) {
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(x);
#elif defined(AK_ACTIVATION_GELU)
  return ak::gelu(x);
#elif defined(AK_ACTIVATION_SILU)
  return ak::silu(x);
#else
  return x;
#endif
}

__device__ __forceinline__ float bias_at(const scalar_t* bias, int column, int n) {
#if AK_BIAS
  return column < n ? static_cast<float>(bias[column]) : 0.0f;
#else
  return 0.0f;
#endif
}

__device__ __forceinline__ u32 pack(float low, float high) {
  ak::Pack<scalar_t, 2> pair;
  pair.value[0] = static_cast<scalar_t>(low);
  pair.value[1] = static_cast<scalar_t>(high);
  return pair.raw;
}

// 16 columns of results as four matrices of 8 x 8 into a swizzled panel. d: sums of two blocks of 8 columns.
__device__ __forceinline__ void put(u32 panel, int pair, const float* d, const scalar_t* bias, int column, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  u32 words[4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = column + half * 8 + lane % 4 * 2;
    const float bias_0 = bias_at(bias, at, n), bias_1 = bias_at(bias, at + 1, n);
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      const float* two = d + half * 4 + low * 2;
      words[half * 2 + low] = pack(activate(two[0] + bias_0), activate(two[1] + bias_1));
    }
  }
  const int row = warp * 16 + lane / 8 % 2 * 8 + lane % 8, chunk = pair * 2 + lane / 16;
  ak::store_matrices(panel + ak::swizzled(row, chunk), words[0], words[1], words[2], words[3]);
}

__device__ __forceinline__ void write_tile(const CUtensorMap* map_c, const Shared& shared, int consumer,
                                           const float (&sums)[BLOCKS_M][BN / 2], const scalar_t* bias, int m, int n,
                                           int width, int& turn) {
  const bool leader = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int part = 0; part < BN / 64; ++part) {
      const u32 panel = shared.panels + (consumer * 2 + turn) * PANEL;
      turn ^= 1;
      if (leader) ak::wait_stores_read<1>();
      ak::named_barrier<128>(consumer + 1);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        put(panel, pair, &sums[block][part * 32 + pair * 8], bias, n + part * 64 + pair * 16, width);
      }
      ak::fence_shared_writes();
      ak::named_barrier<128>(consumer + 1);
      if (leader) {
        ak::tma_store(map_c, panel, n + part * 64, m + block * 64);
        ak::commit_stores();
      }
    }
  }
}

__device__ __forceinline__ void consume(const CUtensorMap* map_c, const Shared& shared, const Tiles& tiles, int slices,
                                        int rank, int consumer, const scalar_t* bias, int width) {
  Ring ring;
  int turn = 0;
  for (int tile = blockIdx.x / CLUSTER; tile < tiles.count; tile += gridDim.x / CLUSTER) {
    float sums[BLOCKS_M][BN / 2];
    int last = 0;
    for (int slice = 0; slice < slices; ++slice) {
      ak::barrier_wait(shared.full + ring.stage * 8, ring.parity);
      multiply(shared, ring.stage, consumer, sums, slice == 0);
      if (slice > 0) {  // the products before these have ended: their slice may be filled again
        ak::wgmma_wait<1>();
        release(shared, last);
      }
      last = ring.stage;
      ring.advance();
    }
    ak::wgmma_wait<0>();
    release(shared, last);
    int row, column;
    tiles.place(tile, row, column);
    const int first_row = (row + rank) * BM + consumer * BLOCKS_M * 64;
    write_tile(map_c, shared, consumer, sums, bias, first_row, column * BN, width, turn);
  }
  if (threadIdx.x % 128 == 0) ak::wait_stores<0>();
}

// a: m x k, b: k x n, c: m x n, in the layouts of the problem; every line a multiple of 16 bytes.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, const scalar_t* __restrict__ bias, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared shared;
  shared.slices = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  shared.panels = shared.slices + STAGES * STAGE_BYTES;
  shared.full = shared.panels + CONSUMERS * 2 * PANEL;
  shared.empty = shared.full + STAGES * 8;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      ak::barrier_init(shared.full + stage * 8, 1);
      ak::barrier_init(shared.empty + stage * 8, CONSUMERS * 4 * CLUSTER);  // 4 warps a group
    }
    ak::publish_barriers();
  }
  __syncthreads();
  if constexpr (CLUSTER > 1) ak::cluster_sync();

  const Tiles tiles(m, n);
  const int rank = CLUSTER > 1 ? ak::cluster_rank() : 0, slices = (k + BK - 1) / BK;
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (threadIdx.x % 128 == 0) produce(&map_a, &map_b, shared, tiles, slices, rank);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232>();
    consume(&map_c, shared, tiles, slices, rank, group, bias, n);
  }
  if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be written to or arrived at
}

// ---- any shape: tiles of 64 x 64, 4 x 4 sums a thread

__global__ void __launch_bounds__(256)
    gemm_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
             scalar_t* __restrict__ c, int m, int n, int k) {
  __shared__ float slice_a[16][65], slice_b[16][65];
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = threadIdx.x; i < 16 * 64; i += 256) {
      // Neighbouring threads read neighbouring elements, whichever way the operand lies.
      const int ka = A_ACROSS == 1 ? i / 64 : i % 16, row = A_ACROSS == 1 ? i % 64 : i / 16;
      const int kb = B_ACROSS == 1 ? i / 64 : i % 16, column = B_ACROSS == 1 ? i % 64 : i / 16;
      const long long at_a = A_ACROSS == 1 ? static_cast<long long>(k0 + ka) * m + m0 + row
                                           : static_cast<long long>(m0 + row) * k + k0 + ka;
      const long long at_b = B_ACROSS == 1 ? static_cast<long long>(k0 + kb) * n + n0 + column
                                           : static_cast<long long>(n0 + column) * k + k0 + kb;
      slice_a[ka][row] = k0 + ka < k && m0 + row < m ? static_cast<float>(a[at_a]) : 0.0f;
      slice_b[kb][column] = k0 + kb < k && n0 + column < n ? static_cast<float>(b[at_b]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += slice_a[kk][ty * 4 + i] * slice_b[kk][tx + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = m0 + ty * 4 + i, column = n0 + tx + 16 * j;
      if (row < m && column < n) {
        const float result = activate(sums[i][j] + bias_at(bias, column, n));
        c[static_cast<long long>(row) * n + column] = static_cast<scalar_t>(result);
      }
    }
  }
}
