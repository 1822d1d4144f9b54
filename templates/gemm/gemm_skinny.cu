/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 24, 32, 48, 64, 72, 80, 96, 104, 112, 128, 144, 160, 176, 192, 224, 256], "default": 64},
    "BN": {"values": [64, 128, 192, 256], "default": 64},
    "DEPTH": {"values": [1, 2, 4], "default": 1},
    "STAGES": {"values": [2, 3, 4, 6, 8, 12], "default": 8},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 2},
    "SHARE": {"values": [1, 2, 4], "default": 1},
    "PER_SM": {"values": [1, 2], "default": 1}
  },
  "starts": [
    {"BM": 32, "STAGES": 12, "SPLIT_K": 1},
    {"BM": 48, "STAGES": 12, "SPLIT_K": 8},
    {"BM": 192, "BN": 192, "STAGES": 4, "SPLIT_K": 1, "SHARE": 4},
    {"BM": 80, "SPLIT_K": 4, "SHARE": 2},
    {"BM": 80, "STAGES": 12, "SPLIT_K": 1},
    {"BM": 24, "STAGES": 12, "SPLIT_K": 8},
    {"BM": 72, "BN": 128, "SPLIT_K": 1},
    {"BM": 104, "BN": 128, "STAGES": 4, "SPLIT_K": 4},
    {"BM": 48, "STAGES": 12, "SPLIT_K": 4, "SHARE": 2},
    {"STAGES": 6, "SPLIT_K": 1, "PER_SM": 2},
    {"BM": 72, "BN": 192, "STAGES": 6, "SPLIT_K": 1},
    {"BM": 256, "BN": 128, "STAGES": 4, "SPLIT_K": 1, "SHARE": 4},
    {"BM": 48, "BN": 128, "SPLIT_K": 1},
    {"BM": 48, "STAGES": 12, "SPLIT_K": 1},
    {"BM": 16, "STAGES": 12, "SPLIT_K": 1},
    {"BM": 144, "STAGES": 6, "SPLIT_K": 4, "SHARE": 2},
    {"BM": 112, "SPLIT_K": 4},
    {"BM": 96, "BN": 128, "STAGES": 6, "SPLIT_K": 1},
    {"BM": 32, "STAGES": 12, "SPLIT_K": 4, "SHARE": 2},
    {"BM": 224, "BN": 128, "STAGES": 4, "SPLIT_K": 1, "SHARE": 2},
    {"STAGES": 12, "SHARE": 4},
    {"BM": 8, "STAGES": 12, "SPLIT_K": 8},
    {"BM": 72, "SPLIT_K": 8},
    {"BM": 224, "STAGES": 4, "SHARE": 4},
    {"BM": 176, "STAGES": 4, "SPLIT_K": 4, "SHARE": 2},
    {"BM": 160, "BN": 128, "STAGES": 6, "SPLIT_K": 1, "SHARE": 4},
    {"BM": 192, "BN": 128, "STAGES": 4, "SPLIT_K": 1},
    {"BM": 192, "STAGES": 6, "SPLIT_K": 1, "SHARE": 4},
    {"BM": 80, "STAGES": 6, "SPLIT_K": 1, "PER_SM": 2},
    {"STAGES": 6, "SPLIT_K": 1, "DEPTH": 2},
    {"BM": 32, "STAGES": 12, "SPLIT_K": 8}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "batch == 'none' and residual == 'none' and scales == 'none' and gate == 'none' and dropout == 'none'",
    "store == 'same' and activation != 'gelu_tanh'",
    "SPLIT_K * SHARE <= 8",
    "DEPTH == 1 or PER_SM == 1 and BM in [8, 16, 32, 64, 128] and BN != 192",
    "SHARE == 1 or BM >= 32 and BM % (8 * SHARE) == 0",
    "a_layout == 'row' or BM % 64 == 0",
    "STAGES * DEPTH * (BM + BN) * 128 + (BN * 32 if SPLIT_K == 1 else BM * (BN + SPLIT_K * 4) * 4) + 1536 <= (232448 if PER_SM == 1 else 115712)",
    "STAGES * DEPTH * (BM + BN) * 128 * PER_SM >= 98304",
    "DEPTH == 1 and BM in [8, 16, 32, 64, 128] and BN != 192 or (STAGES + (1 if STAGES < 4 else 2 if STAGES < 8 else 4)) * DEPTH * (BM + BN) * 128 + (BN * 32 if SPLIT_K == 1 else BM * (BN + SPLIT_K * 4) * 4) + 1536 > (232448 if PER_SM == 1 else 115712) or STAGES == 12",
    "PER_SM * round_up(BN * 2 + 32, 128) * (BM // 2 + 32) <= 65536"
  ],
  "let": {
    "SHARED": "STAGES * DEPTH * (BM + BN) * 128 + (BN * 32 if SPLIT_K == 1 else BM * (BN + SPLIT_K * 4) * 4) + 1536",
    "A_WIDE": "(K if a_layout == 'row' else M) % 8 == 0",
    "B_WIDE": "(N if b_layout == 'row' else K) % 8 == 0",
    "WIDE": "A_WIDE and B_WIDE and N % 8 == 0",
    "CLUSTER": "SPLIT_K * SHARE",
    "CLUSTER_TILES": "ceil_div(M, BM) * ceil_div(N, BN * SHARE)",
    "RESIDENT": "SM_COUNT * PER_SM // CLUSTER if CLUSTER <= 2 else SM_COUNT * 15 // 16 // CLUSTER * PER_SM",
    "CLUSTERS": "CLUSTER_TILES if SPLIT_K > 1 else min(CLUSTER_TILES, RESIDENT)",
    "WAVES": "ceil_div(CLUSTER_TILES, RESIDENT) if WIDE else 0",
    "STEPS": "ceil_div(K, 64 * SPLIT_K)",
    "TILE_STEPS": "CLUSTER_TILES * STEPS if WIDE else 0",
    "ANY_WAVES": "0 if WIDE else ceil_div(ceil_div(N, 64) * ceil_div(M, 64), SM_COUNT * 4)"
  },
  "time_terms": ["1 if WIDE else 0", "WAVES", "WAVES * STEPS", "WAVES * STEPS if N < BN else 0", "TILE_STEPS",
                 "TILE_STEPS if (K if a_layout == 'row' else M) % 64 else 0",
                 "TILE_STEPS if (N if b_layout == 'row' else K) % 64 else 0",
                 "(M * K + K * N + M * N) // 512 if WIDE else 0", "0 if WIDE else 1", "ANY_WAVES * K"],
  "tensor_maps": [
    {"name": "map_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K"],
     "strides_bytes": ["round_up(2 * (K if a_layout == 'row' else M), 16)"],
     "box": [64, "(BM if a_layout == 'row' else 64 * DEPTH) // SHARE"]},
    {"name": "map_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N"],
     "strides_bytes": ["round_up(2 * (N if b_layout == 'row' else K), 16)"],
     "box": [64, "64 * DEPTH if b_layout == 'row' else BN"]}
  ],
  "launches": [
    {"kernel": "gemm_skinny", "grid": ["CLUSTERS * CLUSTER"], "block": ["BN * 2 + 32"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_a", "map_b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "WIDE"},
    {"kernel": "gemm_any", "grid": ["ceil_div(N, 64)", "ceil_div(M, 64)"], "block": [128],
     "args": ["a", "b", {"optional": "bias"}, "c", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}], "when": "not WIDE"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) on Hopper where a has few rows, so that reading b is all of the time: c^T = b^T a^T. A line
// of 64 columns of b is what wgmma calls rows, and the BM rows of a are its width, 8 at the least, so that no product is
// made for rows that are not there. One warp keeps a ring of STAGES slices under way, DEPTH times 64 deep in k, through
// the tensor memory accelerator; BN / 64 warp groups multiply 64 columns of b each.
//
//   shared memory:  [slice of a | slice of b] x STAGES   barriers   16 x 16 results a warp, or (SPLIT_K > 1) given sums
//
// b is read once and leaves L2 first; a is small and stays there. The blocks of a cluster are SPLIT_K parts of k times
// SHARE tiles beside each other:
//
//   SPLIT_K > 1   one tile a cluster. Each block adds a share of the columns over all parts, in the order of k: the others
//                 write their sums of it into its shared memory. Same bytes every time.
//   SPLIT_K = 1   blocks stay resident and take tiles in turn; the ring runs on across tiles.
//   SHARE         each block fetches its share of the slice of a for all (multicast): a then crosses L2 once for
//                 SHARE * BN columns, which counts from 64 rows on, where a slice of a is as large as one of b.
//
// Shapes whose lines are no multiple of 16 bytes cannot be described to the accelerator: they take gemm_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/ragged.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/tma.cuh>
#include <ak/vectors.cuh>
#include <ak/wgmma.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int DEPTH = 1;
constexpr int STAGES = 8;
constexpr int SPLIT_K = 2;
constexpr int SHARE = 1;
constexpr int PER_SM = 1;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

// Operands that lie across k in memory (a by columns, b by rows) are transposed by the matrix units.
#ifdef AK_A_LAYOUT_COLUMN
constexpr bool A_ACROSS = true;
#else
constexpr bool A_ACROSS = false;
#endif
#ifdef AK_B_LAYOUT_COLUMN
constexpr bool B_ACROSS = false;
#else
constexpr bool B_ACROSS = true;
#endif

constexpr int LINE = 128;                 // bytes: 64 elements, one line of the 128-byte swizzle
constexpr int BK = 64 * DEPTH;            // elements of k in a slice
constexpr int STEPS = BK / 16;            // of one instruction's depth
constexpr int PANEL = BK * LINE;          // bytes of 64 rows or columns, of an operand across k
constexpr int A_BYTES = DEPTH * BM * LINE;
constexpr int B_BYTES = DEPTH * BN * LINE;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int WARPS = BN / 16;            // that multiply
constexpr int CLUSTER = SPLIT_K * SHARE;
constexpr int WIDTH = BN / SPLIT_K;       // columns that a block adds up over the parts of k
constexpr int GIVEN_PITCH = WIDTH + 4;    // floats of a line of them: lanes then meet different banks

using ak::u32;
using element = ak::Element<scalar_t>;
using Product = ak::Wgmma<element, BM, B_ACROSS, A_ACROSS>;
using Ring = ak::Ring<STAGES>;

struct Shared {
  u32 slices, full, empty, results;  // full, empty: STAGES barriers each
  __device__ u32 a(int stage) const { return slices + stage * STAGE_BYTES; }
  __device__ u32 b(int stage) const { return a(stage) + A_BYTES; }
};

// This block's place in its cluster, and the tiles of the cluster: rows of tiles one after the other, so that the
// columns of b that several rows need are still in L2.
struct Place {
  int share, part, down, count;
  __device__ Place(int rank, int m, int n)
      : share(rank % SHARE), part(rank / SHARE), down((m + BM - 1) / BM),
        count(down * ((n + BN * SHARE - 1) / (BN * SHARE))) {}
  __device__ int row(int tile) const { return tile % down * BM; }
  __device__ int column(int tile) const { return (tile / down * SHARE + share) * BN; }
  // A part that has no slice takes one behind the end of k: it arrives as zeros.
  __device__ ak::TilePart slices(int k) const {
    ak::TilePart slices = ak::split_part<SPLIT_K>(0, (k + BK - 1) / BK, part);
    slices.count = max(slices.count, 1);
    return slices;
  }
};

// ---- fetching

// The block's share of a slice of a, for all blocks that need it.
__device__ __forceinline__ void fetch_a(u32 to, const CUtensorMap* map, u32 barrier, const Place& place, int m, int k) {
  const auto fetch = [&](u32 box, int x, int y) {
    if constexpr (SHARE == 1) {
      ak::tma_load(box, map, barrier, x, y);
    } else {
      ak::tma_load_multicast(box, map, barrier, ((1 << SHARE) - 1) << (place.part * SHARE), x, y);
    }
  };
  if constexpr (A_ACROSS) {
    constexpr int kLines = BK / SHARE;
#pragma unroll
    for (int panel = 0; panel < BM / 64; ++panel) {
      fetch(to + panel * PANEL + place.share * kLines * LINE, m + panel * 64, k + place.share * kLines);
    }
  } else {
    constexpr int kLines = BM / SHARE;
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth) {
      fetch(to + (depth * BM + place.share * kLines) * LINE, k + depth * 64, m + place.share * kLines);
    }
  }
}

__device__ __forceinline__ void fetch_b(u32 to, const CUtensorMap* map, u32 barrier, ak::CachePolicy policy, int n,
                                        int k) {
  if constexpr (B_ACROSS) {
#pragma unroll
    for (int panel = 0; panel < BN / 64; ++panel) {
      ak::tma_load(to + panel * PANEL, map, barrier, policy, n + panel * 64, k);
    }
  } else {
#pragma unroll
    for (int depth = 0; depth < DEPTH; ++depth) {
      ak::tma_load(to + depth * BN * LINE, map, barrier, policy, k + depth * 64, n);
    }
  }
}

__device__ __forceinline__ void produce(const CUtensorMap* map_a, const CUtensorMap* map_b, const Shared& shared,
                                        const Place& place, int k) {
  const ak::CachePolicy once = ak::evict_first();
  const ak::TilePart slices = place.slices(k);
  Ring ring;
  for (int tile = blockIdx.x / CLUSTER; tile < place.count; tile += gridDim.x / CLUSTER) {
    for (int slice = 0; slice < slices.count; ++slice, ring.advance()) {
      ak::barrier_wait(ring.of(shared.empty), ring.parity ^ 1);
      const u32 full = ring.of(shared.full);
      const int at = (slices.first + slice) * BK;
      ak::barrier_expect(full, STAGE_BYTES);
      fetch_b(shared.b(ring.stage), map_b, full, once, place.column(tile), at);
      fetch_a(shared.a(ring.stage), map_a, full, place, place.row(tile), at);
    }
  }
}

// ---- multiplying

// Tells the blocks that fill this block's slices that this warp's products have read one.
__device__ __forceinline__ void release(const Shared& shared, const Place& place, int stage) {
  const u32 lane = threadIdx.x % 32;
  if (lane < SHARE) ak::barrier_arrive_at(shared.empty + stage * 8, place.part * SHARE + lane);
}

__device__ __forceinline__ void multiply(u32 a, u32 b, int group, float (&sums)[BM / 2],
                                         bool first) {
  ak::wgmma_fence();
#pragma unroll
  for (int step = 0; step < STEPS; ++step) {
    const u32 along = step % 4 * 32, across = step * 16 * LINE;
    const u32 at_b = b + (B_ACROSS ? group * PANEL + across : (step / 4 * BN + group * 64) * LINE + along);
    const u32 at_a = a + (A_ACROSS ? across : step / 4 * BM * LINE + along);
    Product::multiply(sums, ak::wgmma_operand(at_b), ak::wgmma_operand(at_a, PANEL),
                      first && step == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

// The sums of a tile over this block's slices.
__device__ __forceinline__ void sum_up(const Shared& shared, const Place& place, Ring& ring, int slices, int group,
                                       float (&sums)[BM / 2]) {
  int last = 0;
  for (int slice = 0; slice < slices; ++slice, ring.advance()) {
    ak::barrier_wait(ring.of(shared.full), ring.parity);
    multiply(shared.a(ring.stage), shared.b(ring.stage), group, sums, slice == 0);
    if (slice > 0) {  // the products before these have ended: their slice may be filled again
      ak::wgmma_wait<1>();
      release(shared, place, last);
    }
    last = ring.stage;
  }
  ak::wgmma_wait<0>();
  release(shared, place, last);
}

// ---- results

__device__ __forceinline__ float finish(float sum, float bias) {
  sum += bias;
#if defined(AK_ACTIVATION_RELU)
  return ak::relu(sum);
#elif defined(AK_ACTIVATION_GELU)
  return ak::gelu_to_16_bits(sum);
#elif defined(AK_ACTIVATION_SILU)
  return ak::silu(sum);
#else
  return sum;
#endif
}

__device__ __forceinline__ float bias_at(const scalar_t* bias, int column, int n) {
#if AK_BIAS
  return column < n ? static_cast<float>(bias[column]) : 0.0f;
#else
  return 0.0f;
#endif
}

// Writes a tile that this block has all of. A warp turns 16 columns of 16 rows at a time around in `staged`, 512 bytes,
// so that two lanes write a whole sector of a row.
__device__ __forceinline__ void write_tile(const float (&sums)[BM / 2], u32 staged, const scalar_t* bias, scalar_t* c,
                                           int row, int column, int m, int n) {
  const int lane = threadIdx.x % 32;
  const float low = bias_at(bias, column + lane / 4, n), high = bias_at(bias, column + lane / 4 + 8, n);
  const u32 put = staged + ak::swizzled<32>(lane / 16 * 8 + lane % 8, lane / 8 % 2);
  const u32 take = staged + ak::swizzled<32>(lane / 2, lane % 2);
  const int first = column + lane % 2 * 8;
#pragma unroll
  for (int at = 0; at < BM; at += 16) {
    u32 words[4] = {};  // of rows at to at + 7, columns 0 to 7 and 8 to 15; then of the next 8 rows
#pragma unroll
    for (int half = 0; half < (BM - at < 16 ? 1 : 2); ++half) {
      const float* d = &sums[(at + half * 8) / 2];
      words[half * 2] = ak::pack_pair<element>(finish(d[0], low), finish(d[1], low));
      words[half * 2 + 1] = ak::pack_pair<element>(finish(d[2], high), finish(d[3], high));
    }
    ak::store_matrices_transposed(put, words[0], words[1], words[2], words[3]);
    __syncwarp();
    const int to = row + at + lane / 2;
    if (to < m && at + lane / 2 < BM && first < n) {
      ak::Pack<scalar_t, 8> pack;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(pack.raw.x), "=r"(pack.raw.y), "=r"(pack.raw.z), "=r"(pack.raw.w) : "r"(take) : "memory");
      ak::store(c + static_cast<long long>(to) * n + first, pack);
    }
    __syncwarp();
  }
}

// Gives sums to the blocks of the cluster that add them up, which have BM lines of their columns for every part of k.
__device__ __forceinline__ void give_sums(const float (&sums)[BM / 2], u32 given, const Place& place, int column) {
  const int lane = threadIdx.x % 32;
  u32 to[2];
#pragma unroll
  for (int high = 0; high < 2; ++high) {
    const int x = column + lane / 4 + high * 8;
    to[high] = ak::remote_address(given + ((place.part * BM + lane % 4 * 2) * GIVEN_PITCH + x % WIDTH) * 4,
                                  x / WIDTH * SHARE + place.share);
  }
#pragma unroll
  for (int i = 0; i < BM / 2; ++i) {
    ak::store_remote(to[i / 2 % 2] + (i / 4 * 8 + i % 2) * GIVEN_PITCH * 4, sums[i]);
  }
}

// Adds up, over all parts of k, the columns of a tile that are this block's to write.
__device__ __forceinline__ void add_given(u32 given, const Place& place, const scalar_t* bias, scalar_t* c, int row,
                                          int column, int m, int n) {
  constexpr int kVectors = WIDTH / 4;
  const int rows = min(BM, m - row);
  for (int i = threadIdx.x; i < rows * kVectors; i += WARPS * 32) {
    const int y = i / kVectors, x = i % kVectors * 4, to = column + place.part * WIDTH + x;
    if (to >= n) continue;
    float sum[4] = {};
#pragma unroll
    for (int part = 0; part < SPLIT_K; ++part) {
      float4 v;
      asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                   : "r"(given + ((part * BM + y) * GIVEN_PITCH + x) * 4) : "memory");
      sum[0] += v.x, sum[1] += v.y, sum[2] += v.z, sum[3] += v.w;
    }
    ak::Pack<scalar_t, 4> pack;
#pragma unroll
    for (int e = 0; e < 4; ++e) pack.value[e] = static_cast<scalar_t>(finish(sum[e], bias_at(bias, to + e, n)));
    ak::store(c + static_cast<long long>(row + y) * n + to, pack);
  }
}

// a: m x k, b: k x n, c: m x n, in the layouts of the problem; every line a multiple of 16 bytes.
__global__ void __launch_bounds__(WARPS * 32 + 32, PER_SM)
    gemm_skinny(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                const scalar_t* __restrict__ bias, scalar_t* __restrict__ c, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 begin = ak::shared_address(memory);
  Shared shared;
  shared.slices = (begin + 1023) / 1024 * 1024;
  shared.full = shared.slices + STAGES * STAGE_BYTES;
  shared.empty = shared.full + STAGES * 8;
  shared.results = shared.full + 512;
  if (threadIdx.x == 0) {
    ak::prefetch_map(&map_a);
    ak::prefetch_map(&map_b);
    for (int stage = 0; stage < STAGES; ++stage) {
      ak::barrier_init(shared.full + stage * 8, 1);
      ak::barrier_init(shared.empty + stage * 8, WARPS * SHARE);
    }
    ak::publish_barriers();
  }
  __syncthreads();
  if constexpr (SHARE > 1) ak::cluster_sync();  // before others fill this block's slices

  const int rank = CLUSTER > 1 ? static_cast<int>(ak::cluster_rank()) : 0;
  const int warp = ak::uniform(threadIdx.x / 32), group = warp / 4;
  const Place place(rank, m, n);
  const int slices = place.slices(k).count;
  if constexpr (SPLIT_K == 1) {
    if (warp == WARPS) {
      if (threadIdx.x % 32 == 0) produce(&map_a, &map_b, shared, place, k);
    } else {
      Ring ring;
      for (int tile = blockIdx.x / CLUSTER; tile < place.count; tile += gridDim.x / CLUSTER) {
        float sums[BM / 2];
        sum_up(shared, place, ring, slices, group, sums);
        write_tile(sums, shared.results + warp * 512, bias, c, place.row(tile), place.column(tile) + warp * 16, m, n);
      }
    }
    __syncwarp();
    if constexpr (CLUSTER > 1) ak::cluster_sync();  // a block that is gone could not be arrived at
  } else {
    ak::cluster_arrive();  // waited for before sums are given: all blocks of the cluster have begun
    const int tile = blockIdx.x / CLUSTER;
    float sums[BM / 2];
    if (warp == WARPS) {
      if (threadIdx.x % 32 == 0) produce(&map_a, &map_b, shared, place, k);
      __syncwarp();
    } else {
      Ring ring;
      sum_up(shared, place, ring, slices, group, sums);
    }
    ak::cluster_wait();
    if (warp < WARPS) give_sums(sums, shared.results, place, warp * 16);
    ak::cluster_sync();
    if (warp < WARPS) add_given(shared.results, place, bias, c, place.row(tile), place.column(tile), m, n);
  }
}

// ---- any shape

__global__ void __launch_bounds__(128, 3)
    gemm_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
             scalar_t* __restrict__ c, int m, int n, int k) {
  ak::ragged_product<scalar_t, A_ACROSS, B_ACROSS>(
      a, b, m, n, k, [&](float sum, int row, int column) {
        c[static_cast<long long>(row) * n + column] =
            static_cast<scalar_t>(finish(sum, bias_at(bias, column, n)));
      });
}
