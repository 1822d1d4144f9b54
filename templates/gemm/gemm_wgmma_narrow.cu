/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 192, 256], "default": 128},
    "BN": {"values": [32, 64, 96, 112, 128, 160, 192, 208, 224, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "PINGPONG": {"values": [0, 1], "default": 0},
    "STAGES": {"values": [2, 3, 4, 5, 6, 7, 8], "default": 6},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "SIDE_BY_SIDE": {"values": [0, 1], "default": 0},
    "STREAM_K": {"values": [0, 1], "default": 0},
    "PROMOTE": {"values": [1, 2, 4], "default": 4},
    "GROUP": {"values": [4, 8, 64], "default": 8},
    "ROUND": {"values": [0, 1], "default": 0}
  },
  "constraints": [
    "ARCH == 90",
    "dtype in ['int8', 'float8_e4m3fn', 'float8_e5m2'] or dtype == 'float32' and precision == 'tf32'",
    "PINGPONG == 0 or CONSUMERS == 2 and STREAM_K == 0",
    "SIDE_BY_SIDE == 0 or CLUSTER == 2",
    "BM % (64 if PINGPONG else CONSUMERS * 64) == 0",
    "BM // (1 if PINGPONG else CONSUMERS) // 64 * BN <= (160 if dtype in ['float8_e4m3fn', 'float8_e5m2'] else 256)",
    "ROUND == 0 or dtype == 'float32' and PINGPONG == 0 and BM == CONSUMERS * 64",
    "(GROUP == 64) == (ROUND == 1) and ROUND + STREAM_K + SIDE_BY_SIDE <= 1",
    "PROMOTE == 4 or dtype in ['float8_e4m3fn', 'float8_e5m2']",
    "STAGES * (BM + BN) * 128 + CONSUMERS * 10240 + 2048 <= 232448",
    "STAGES == 8 or (STAGES + 1) * (BM + BN) * 128 + CONSUMERS * 10240 + 2048 > 232448"
  ],
  "let": {
    "COUNT": "1 if batch == 'none' else B",
    "PACK_A": "a_layout == 'column' or K * sizeof_a % 16 != 0 or dtype == 'float32' and ROUND == 0",
    "PACK_B": "b_layout == 'row' or K * sizeof_b % 16 != 0 or dtype == 'float32'",
    "LINE": "round_up(K * sizeof_a, 16)",
    "SPAN": "128 // sizeof_a",
    "CLUSTERS_DOWN": "ceil_div(M, BM * (1 if SIDE_BY_SIDE else CLUSTER))",
    "CLUSTERS_ACROSS": "ceil_div(N, BN * (CLUSTER if SIDE_BY_SIDE else 1))",
    "TILES": "COUNT * CLUSTERS_DOWN * CLUSTERS_ACROSS",
    "CLUSTERS": "min(SM_COUNT // CLUSTER, max(1, TILES * ceil_div(K, SPAN) // 4) if STREAM_K else TILES)",
    "WAVES": "1 if STREAM_K else ceil_div(TILES, SM_COUNT // CLUSTER)",
    "TILE_STEPS": "TILES * ceil_div(K, SPAN)",
    "STEPS": "ceil_div(TILE_STEPS, CLUSTERS) if STREAM_K else WAVES * ceil_div(K, SPAN)",
    "KILOBYTES": "COUNT * ((M * K + K * N) * sizeof_a + M * N * sizeof_c) // 1024",
    "SHARED": "STAGES * (BM + BN) * 128 + CONSUMERS * 10240 + 2048",
    "LATER": "ROUND == 1 and K % 4 == 0 and b_layout == 'column' and batch == 'none'",
    "FIRST": "min(N, ceil_div(CLUSTERS, min(CLUSTERS_DOWN, GROUP)) * BN) if LATER else COUNT * N",
    "PACKED": "(COUNT * M * LINE if PACK_A else 0) + (FIRST * LINE if PACK_B else 0)"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "KILOBYTES", "(1 if PACK_A else 0) + (1 if PACK_B else 0)", "PACKED // 1024"],
  "workspace": [
    {"name": "packed_a", "dtype": "uint8", "count": "COUNT * M * LINE if PACK_A else 0"},
    {"name": "packed_b", "dtype": "uint8", "count": "COUNT * N * LINE if PACK_B else 0"},
    {"name": "parts", "dtype": "float32", "count": "CLUSTERS * CLUSTER * BM * BN if STREAM_K else 0"},
    {"name": "lines_packed", "dtype": "uint32", "count": "ceil_div(N, BN) if LATER else 0", "init": "zero"},
    {"name": "arrived", "dtype": "uint32", "count": "CLUSTERS * CLUSTER * CONSUMERS if STREAM_K else 0", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "batch_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M", "COUNT"], "strides_bytes": ["LINE", "LINE * M"],
     "box": ["128 // sizeof_a", "BM // (CLUSTER if SIDE_BY_SIDE else 1)", 1]},
    {"name": "batch_packed_a", "tensor": "packed_a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M", "COUNT"], "strides_bytes": ["LINE", "LINE * M"],
     "box": ["128 // sizeof_a", "BM // (CLUSTER if SIDE_BY_SIDE else 1)", 1]},
    {"name": "batch_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N", "COUNT"], "strides_bytes": ["LINE", "LINE * N"],
     "box": ["128 // sizeof_a", "BN // (1 if SIDE_BY_SIDE else CLUSTER)", 1]},
    {"name": "batch_packed_b", "tensor": "packed_b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N", "COUNT"], "strides_bytes": ["LINE", "LINE * N"],
     "box": ["128 // sizeof_a", "BN // (1 if SIDE_BY_SIDE else CLUSTER)", 1]},
    {"name": "map_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["LINE"], "box": ["128 // sizeof_a",
     "BM // (CLUSTER if SIDE_BY_SIDE else 1)"]},
    {"name": "map_packed_a", "tensor": "packed_a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["LINE"], "box": ["128 // sizeof_a",
     "BM // (CLUSTER if SIDE_BY_SIDE else 1)"]},
    {"name": "map_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["LINE"], "box": ["128 // sizeof_a",
     "BN // (1 if SIDE_BY_SIDE else CLUSTER)"]},
    {"name": "map_packed_b", "tensor": "packed_b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["LINE"], "box": ["128 // sizeof_a",
     "BN // (1 if SIDE_BY_SIDE else CLUSTER)"]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["COUNT * M"], "block": [256],
     "args": ["a", "packed_a", {"i32": "K"}, {"i32": "LINE"}],
     "when": "PACK_A and not (a_layout == 'column')"},
    {"kernel": "pack_across", "grid": ["ceil_div(M, SPAN)", "ceil_div(K, SPAN)", "COUNT"], "block": [32, 8],
     "args": ["a", "packed_a", {"i32": "M"}, {"i32": "K"}, {"i32": "LINE"}], "when": "PACK_A and a_layout == 'column'"},
    {"kernel": "pack_lines", "grid": ["FIRST"], "block": [256],
     "args": ["b", "packed_b", {"i32": "K"}, {"i32": "LINE"}],
     "when": "PACK_B and not (b_layout == 'row')"},
    {"kernel": "pack_across", "grid": ["ceil_div(N, SPAN)", "ceil_div(K, SPAN)", "COUNT"], "block": [32, 8],
     "args": ["b", "packed_b", {"i32": "N"}, {"i32": "K"}, {"i32": "LINE"}], "when": "PACK_B and b_layout == 'row'"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_a", "map_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch == 'none' and not PACK_A and not PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_a", "map_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch == 'none' and not PACK_A and PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_packed_a", "map_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch == 'none' and PACK_A and not PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["map_packed_a", "map_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch == 'none' and PACK_A and PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["batch_a", "batch_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch != 'none' and not PACK_A and not PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["batch_a", "batch_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch != 'none' and not PACK_A and PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["batch_packed_a", "batch_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch != 'none' and PACK_A and not PACK_B"},
    {"kernel": "gemm_wgmma_narrow", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"], "shared_bytes": "SHARED",
     "args": ["batch_packed_a", "batch_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", "b", "packed_b", "lines_packed", {"i32": "FIRST"}, {"i32": "COUNT"}, {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}],
     "when": "batch != 'none' and PACK_A and PACK_B"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The product of tf32, int8 and fp8 matrices on Hopper's matrix units, and what follows it (product_epilogue.cuh).
// Blocks stay resident and take tiles of BM x BN in turn; wgmma_pipeline.cuh is how. Results go through shared memory
// to whole lines, so that any number of columns is right. STREAM_K cuts the last tiles along k where they would leave
// SMs idle (stream_k.cuh).
//
//   shared memory:  [slice of a | slice of b] x STAGES   16 rows of sums for every warp that multiplies   barriers
//
// These instructions take operands that lie along k and nothing else, in lines of a multiple of 16 bytes, and cut tf32
// off instead of rounding it. An operand that is otherwise is packed by a launch of its own: it is transposed, its
// lines are filled up, float32 is rounded to tf32. That reads and writes the operand once: next to the product's 2 N
// operations an element of a, 2 sizeof(a) bytes; on an H200 about a seventh of the time of a tf32 product of 4096, half
// of that at 8192. With ROUND, operands of tf32 along k are rounded on the way instead: a in registers, b beside the
// products of the first tiles, but for the lines that these need. The matrix units keep about 14 bits of fp8 sums: after PROMOTE slices of 128 elements they join sums
// in float registers.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/product_epilogue.cuh>
#include <ak/stream_k.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tiles.cuh>
#include <ak/vectors.cuh>
#include <ak/wgmma_fp8.cuh>
#include <ak/wgmma_int8.cuh>
#include <ak/wgmma_pipeline.cuh>
#include <ak/wgmma_tf32.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int CONSUMERS = 2;
constexpr int PINGPONG = 0;
constexpr int STAGES = 6;
constexpr int CLUSTER = 2;
constexpr int SIDE_BY_SIDE = 0;
constexpr int STREAM_K = 0;
constexpr int PROMOTE = 4;
constexpr int GROUP = 8;
constexpr int ROUND = 0;
using scalar_t = signed char;
#define AK_DTYPE_INT8 1
#endif

#ifdef AK_BATCH_STRIDED
constexpr bool BATCHED = true;
#else
constexpr bool BATCHED = false;
#endif

// Sums, bias and residual, results.
#ifdef AK_DTYPE_INT8
using sum_t = int;
#else
using sum_t = float;
#endif
#if defined(AK_DTYPE_INT8) || defined(AK_DTYPE_FLOAT8_E4M3FN) || defined(AK_DTYPE_FLOAT8_E5M2)
using wide_t = __nv_bfloat16;
#else
using wide_t = scalar_t;
#endif
#if defined(AK_STORE_FLOAT8_E4M3FN)
using result_t = __nv_fp8_e4m3;
#elif defined(AK_STORE_INT8)
using result_t = signed char;
#elif defined(AK_DTYPE_INT8) && !defined(AK_SCALES_ROWS_AND_COLUMNS)
using result_t = int;
#else
using result_t = wide_t;
#endif

// What of the epilogue there is.
struct Options : ak::EpilogueOptions<sum_t, wide_t, result_t> {
#if AK_BIAS
  static constexpr bool kBias = true;
#endif
#ifdef AK_SCALES_ROWS_AND_COLUMNS
  static constexpr bool kScales = true;
#endif
#if defined(AK_RESIDUAL_SCALED)
  static constexpr ak::Residual kResidual = ak::Residual::scaled;
#elif defined(AK_RESIDUAL_ADDED)
  static constexpr ak::Residual kResidual = ak::Residual::added;
#endif
#if defined(AK_ACTIVATION_RELU)
  static constexpr ak::Activation kActivation = ak::Activation::relu;
#elif defined(AK_ACTIVATION_GELU)
  static constexpr ak::Activation kActivation = ak::Activation::gelu;
#elif defined(AK_ACTIVATION_GELU_TANH)
  static constexpr ak::Activation kActivation = ak::Activation::gelu_tanh;
#elif defined(AK_ACTIVATION_SILU)
  static constexpr ak::Activation kActivation = ak::Activation::silu;
#endif
#if defined(AK_GATE_SWIGLU)
  static constexpr ak::Gate kGate = ak::Gate::swiglu;
#elif defined(AK_GATE_GEGLU)
  static constexpr ak::Gate kGate = ak::Gate::geglu;
#endif
#ifdef AK_DROPOUT_PHILOX
  static constexpr bool kDropout = true;
#endif
#if defined(AK_STORE_FLOAT8_E4M3FN) || defined(AK_STORE_INT8)
  static constexpr bool kQuantised = true;
#endif
};
using Epilogue = ak::ProductEpilogue<Options>;

using ak::u32;
using element = ak::Element<scalar_t>;
constexpr bool FP8 = ak::kSame<element, ak::e4m3> || ak::kSame<element, ak::e5m2>;
using Pipeline = ak::WgmmaPipeline<element, BM, BN, CONSUMERS, STAGES, CLUSTER, false, false, PINGPONG == 1,
                                   SIDE_BY_SIDE == 1, FP8 ? PROMOTE : 0, BATCHED>;
using Tiles = Pipeline::Grid<GROUP>;
using Left = ak::LeftSums<sum_t, Pipeline::kBlocks * BN / 2>;
constexpr int STAGED_BYTES = ak::kStagedBytes<BN>;

// ---- tf32 whose a is rounded on its way through registers

// Tells every block of the cluster that this warp has read a slice.
__device__ __forceinline__ void release(const ak::PipelineMemory& memory, int stage) {
  const int lane = ak::lane_index();
  if (lane < CLUSTER) ak::barrier_arrive_at(memory.empty + stage * 8, lane);
}

// Operand a of a slice: 64 rows of a consumer, four steps of 8 of k.
__device__ __forceinline__ void load_rounded(u32 (&a)[4][4], const ak::PipelineMemory& memory, int stage, int consumer) {
  const int lane = ak::lane_index(), row = ak::warp_index() % 4 * 16 + lane % 16;
  const u32 lines = memory.slices + stage * Pipeline::kStageBytes + consumer * Pipeline::kPanel;
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    ak::load_matrices(a[step], lines + ak::swizzled(row, step * 2 + lane / 16));
#pragma unroll
    for (int i = 0; i < 4; ++i) a[step][i] = ak::round_to_tf32(__uint_as_float(a[step][i]));
  }
}

// The sums of the products of `count` slices, at least one. While the products of one run, a of the next is rounded.
__device__ __forceinline__ void sum_rounded(const ak::PipelineMemory& memory, ak::Ring<STAGES>& ring, int consumer,
                                            int count, Pipeline::Sums& sums) {
  u32 a[2][4][4];
  ak::barrier_wait(ring.of(memory.full), ring.parity);
  load_rounded(a[0], memory, ring.stage, consumer);
  int last = 0;
  const auto multiply = [&](const u32 (&now)[4][4], u32 (&next)[4][4], int slice) {
    const u32 b = memory.slices + ring.stage * Pipeline::kStageBytes + Pipeline::kBytesA;
    ak::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      ak::Wgmma<element, BN>::multiply(sums[0], now[step], ak::wgmma_operand(b + step * 32), slice > 0 || step > 0);
    }
    ak::wgmma_commit();
    const int stage = ring.stage;
    ring.advance();
    if (slice > 0) {
      ak::wgmma_wait<1>();
      release(memory, last);
    }
    last = stage;
    if (slice + 1 < count) {
      ak::barrier_wait(ring.of(memory.full), ring.parity);
      load_rounded(next, memory, ring.stage, consumer);
    }
  };
  for (int slice = 0; slice < count; slice += 2) {
    multiply(a[0], a[1], slice);
    if (slice + 1 < count) multiply(a[1], a[0], slice + 1);
  }
  ak::wgmma_wait<0>();
  release(memory, last);
}

// As Pipeline::consume.
template <class Work, class Finish>
__device__ __forceinline__ void consume_rounded(const ak::PipelineMemory& memory, Work work, int consumer, Finish finish) {
  ak::Ring<STAGES> ring;
  while (work.more()) {
    const ak::TilePart part = work.next();
    Pipeline::Sums sums;
    sum_rounded(memory, ring, consumer, part.count, sums);
    finish(sums, part);
  }
}

// ---- b that is packed while tiles are multiplied: lines from `first` on, those of the tiles that no block has first

// Waits for the lines of a tile. All blocks are resident, as there is one for an SM at most.
struct PackedTiles {
  Tiles tiles;
  const unsigned int* lines_packed;  // of every BN lines
  int first, n;
  __device__ __forceinline__ ak::ElementPlace place(int tile, int rank) const {
    const ak::ElementPlace at = tiles.place(tile, rank);
    if (at.column >= first && at.column < n) {
      const unsigned int lines = min(BN, n - at.column);
      while (*static_cast<const volatile unsigned int*>(lines_packed + at.column / BN) < lines) __nanosleep(64);
      __threadfence();
      asm volatile("fence.proxy.async.global;" ::: "memory");
    }
    return at;
  }
};

// Three warps of a block take every so many lines of k elements, a multiple of 4.
__device__ __forceinline__ void pack_later(const scalar_t* b, unsigned char* packed_b, unsigned int* lines_packed, int first,
                                           int n, int k) {
  const int thread = threadIdx.x % 128 - 32;
  for (int line = first + blockIdx.x; line < n; line += gridDim.x) {
    const float4* from = reinterpret_cast<const float4*>(b + static_cast<long long>(line) * k);
    uint4* to = reinterpret_cast<uint4*>(packed_b + static_cast<long long>(line) * k * 4);
    for (int i = thread; i < k / 4; i += 4 * 96) {
      float4 v[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (i + e * 96 < k / 4) v[e] = __ldcs(from + i + e * 96);
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (i + e * 96 < k / 4) {
          to[i + e * 96] = make_uint4(ak::round_to_tf32(v[e].x), ak::round_to_tf32(v[e].y), ak::round_to_tf32(v[e].z),
                                      ak::round_to_tf32(v[e].w));
        }
      }
    }
    asm volatile("fence.proxy.async.global;" ::: "memory");
    __threadfence();
    ak::named_barrier<96>(5);
    if (thread == 0) atomicAdd(lines_packed + line / BN, 1u);
  }
}

// a: m x k, b: k x n, both along k; c: m x n, or half as wide with a gate.
__global__ void __launch_bounds__(Pipeline::kThreads, 1)
    gemm_wgmma_narrow(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                      result_t* __restrict__ c, const wide_t* bias, const wide_t* residual, const float* row_scales,
                      const float* column_scales, const float* alpha, const float* beta, const float* c_scale,
                      const long long* seed, const float* p, sum_t* parts, unsigned int* arrived, const scalar_t* b,
                      unsigned char* packed_b, unsigned int* lines_packed, int first, int batch, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  unsigned char* slices = memory + (1024 - ak::shared_address(memory) % 1024) % 1024;
  unsigned char* staged = slices + STAGES * Pipeline::kStageBytes;
  ak::PipelineMemory ring;
  ring.slices = ak::shared_address(slices);
  ring.full = ak::shared_address(staged) + CONSUMERS * 4 * STAGED_BYTES;
  ring.empty = ring.full + STAGES * 8;
  Pipeline::begin(ring);

  const Tiles tiles(m, n, batch);
  const int rank = Pipeline::rank(), group = ak::warp_group();
  const ak::TilesOf<STREAM_K == 1> work(blockIdx.x / CLUSTER, gridDim.x / CLUSTER, tiles.count,
                            (k + Pipeline::kDepth - 1) / Pipeline::kDepth);
  if (group == CONSUMERS) {
    Pipeline::become_producer();
    if constexpr (ROUND == 1) {
      if (threadIdx.x % 128 == 0) {
        Pipeline::produce(&map_a, &map_b, ring, PackedTiles{tiles, lines_packed, first, n}, work, rank);
      } else if (ak::warp_index() % 4 > 0) {
        pack_later(b, packed_b, lines_packed, first, n, k);
      }
    } else {
      if (threadIdx.x % 128 == 0) Pipeline::produce(&map_a, &map_b, ring, tiles, work, rank);
    }
  } else {
    Pipeline::become_consumer();
    const Epilogue epilogue({bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, n);
    const int warp = threadIdx.x % 128 / 32;
    sum_t* rows = reinterpret_cast<sum_t*>(staged + (group * 4 + warp) * STAGED_BYTES);
    const Left left = {parts, arrived};
    const auto finish = [&](Pipeline::Sums& sums, const ak::TilePart& part) {
      if (!left.complete(sums, work, part, CLUSTER * CONSUMERS, rank * CONSUMERS + group, group + 1)) return;
      const ak::ElementPlace at = tiles.place(part.tile, rank);
      const Epilogue chosen = epilogue.of(at.batch, m);
      const int first = at.row + (PINGPONG == 1 ? 0 : group * Pipeline::kBlocks * 64) + warp * 16;
#pragma unroll
      for (int block = 0; block < Pipeline::kBlocks; ++block) {
        ak::write_rows<BN>(sums[block], rows, chosen, c, first + block * 64, at.column, m);
      }
    };
    if constexpr (ROUND == 1) {
      consume_rounded(ring, work, group, finish);
    } else {
      Pipeline::consume(ring, work, group, finish);
    }
  }
  Pipeline::end();
}

// ---- packing: 4 bytes of k at a time

constexpr int EACH = 4 / sizeof(scalar_t);  // elements of a word
union Word {
  scalar_t element[EACH];
  u32 bits;
  __device__ Word() : bits(0) {}
};
__device__ __forceinline__ u32 packed(const Word& word) {
#ifdef AK_DTYPE_FLOAT32
  return ak::round_to_tf32(word.element[0]);
#else
  return word.bits;
#endif
}

__device__ __forceinline__ u32 packed_word(u32 bits) {
  Word word;
  word.bits = bits;
  return packed(word);
}

// A block copies a line of k elements to one of `line` bytes; whole vectors, four of a thread under way at a time, where
// lines of both are multiples of them.
__global__ void __launch_bounds__(256)
    pack_lines(const scalar_t* __restrict__ from, unsigned char* __restrict__ to, int k, int line) {
  from += static_cast<long long>(blockIdx.x) * k;
  to += static_cast<long long>(blockIdx.x) * line;
  if (k * static_cast<int>(sizeof(scalar_t)) == line) {
    constexpr int kEach = 16 / sizeof(scalar_t);
    for (int i = threadIdx.x; i < line / 16; i += 1024) {
      ak::Pack<scalar_t, kEach> packs[4];
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        if (i + v * 256 < line / 16) packs[v] = ak::load<kEach, ak::Cache::streaming>(from + (i + v * 256) * kEach);
      }
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        if (i + v * 256 >= line / 16) continue;
        uint4 words;
        words.x = packed_word(packs[v].raw.x), words.y = packed_word(packs[v].raw.y);
        words.z = packed_word(packs[v].raw.z), words.w = packed_word(packs[v].raw.w);
        reinterpret_cast<uint4*>(to)[i + v * 256] = words;
      }
    }
    return;
  }
  u32* words = reinterpret_cast<u32*>(to);
  for (int i = threadIdx.x; i < line / 4; i += 256) {
    Word word;
#pragma unroll
    for (int e = 0; e < EACH; ++e) {
      if (i * EACH + e < k) word.element[e] = from[i * EACH + e];
    }
    words[i] = packed(word);
  }
}

// from: k lines of `lines` elements. A block transposes 32 x 32 blocks of EACH x EACH elements, so that both sides see
// runs of 128 bytes.
__global__ void __launch_bounds__(256)
    pack_across(const scalar_t* __restrict__ from, unsigned char* __restrict__ to, int lines, int k, int line) {
  __shared__ u32 tile[EACH][32][33];
  from += static_cast<long long>(blockIdx.z) * lines * k;
  to += static_cast<long long>(blockIdx.z) * lines * line;
  const int first_line = blockIdx.x * 32 * EACH, first_k = blockIdx.y * 32 * EACH, x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) {
    Word across[EACH], along[EACH];
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
      const int at = first_k + y * EACH + i, column = first_line + x * EACH;
      const scalar_t* source = from + static_cast<long long>(at) * lines + column;
      if (at < k && lines % EACH == 0) {
        if (column < lines) across[i].bits = *reinterpret_cast<const u32*>(source);
      } else if (at < k) {
#pragma unroll
        for (int e = 0; e < EACH; ++e) {
          if (column + e < lines) across[i].element[e] = source[e];
        }
      }
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
      for (int e = 0; e < EACH; ++e) along[i].element[e] = across[e].element[i];
      tile[i][x][y] = packed(along[i]);
    }
  }
  __syncthreads();
  const int word = first_k * static_cast<int>(sizeof(scalar_t)) / 4 + x;
  if (word >= line / 4) return;
  for (int y = threadIdx.y; y < 32 * EACH; y += 8) {
    if (first_line + y < lines) {
      u32* words = reinterpret_cast<u32*>(to + static_cast<long long>(first_line + y) * line);
      words[word] = tile[y % EACH][y / EACH][x];
    }
  }
}
