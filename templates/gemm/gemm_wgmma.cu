/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 192, 256], "default": 128},
    "BN": {"values": [64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 256], "default": 256},
    "CONSUMERS": {"values": [1, 2, 3], "default": 2},
    "PINGPONG": {"values": [0, 1], "default": 0},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "SIDE_BY_SIDE": {"values": [0, 1], "default": 0},
    "STREAM_K": {"values": [0, 1], "default": 0},
    "GROUP": {"values": [1, 4, 8, 16], "default": 8}
  },
  "starts": [
    {"BN": 64, "CLUSTER": 1, "STAGES": 8},
    {"BN": 128, "CONSUMERS": 1, "SIDE_BY_SIDE": 1, "STAGES": 6},
    {"BN": 192, "PINGPONG": 1, "CLUSTER": 1},
    {"BM": 64, "BN": 64, "PINGPONG": 1, "STAGES": 8, "CLUSTER": 1},
    {"BM": 192, "BN": 192, "CONSUMERS": 3, "STAGES": 3, "CLUSTER": 1},
    {"BN": 112, "STAGES": 6, "CLUSTER": 1},
    {"CLUSTER": 1},
    {"BM": 256, "BN": 192, "SIDE_BY_SIDE": 1, "STAGES": 3},
    {"BM": 256, "BN": 192, "STAGES": 3, "CLUSTER": 1},
    {"BN": 96, "SIDE_BY_SIDE": 1, "STAGES": 6},
    {"BM": 192, "BN": 176, "CONSUMERS": 3, "STAGES": 3, "SIDE_BY_SIDE": 1},
    {"BM": 192, "BN": 128, "PINGPONG": 1, "CLUSTER": 1},
    {"BM": 192, "BN": 128, "PINGPONG": 1, "SIDE_BY_SIDE": 1},
    {"BM": 64, "BN": 128, "PINGPONG": 1, "STAGES": 8, "CLUSTER": 1},
    {"BN": 64, "SIDE_BY_SIDE": 1, "STAGES": 8},
    {"BM": 256, "BN": 192, "STAGES": 3},
    {"BN": 160, "PINGPONG": 1, "CLUSTER": 1},
    {"BN": 176},
    {"BN": 128, "CONSUMERS": 1, "STAGES": 6},
    {"BM": 256, "BN": 192, "SIDE_BY_SIDE": 1, "STREAM_K": 1, "STAGES": 3},
    {"BN": 80, "STAGES": 6, "CLUSTER": 1},
    {"SIDE_BY_SIDE": 1},
    {"BM": 256, "BN": 208, "STAGES": 3, "CLUSTER": 1},
    {"BN": 128, "PINGPONG": 1, "STAGES": 6, "CLUSTER": 1},
    {"BN": 144, "PINGPONG": 1, "CLUSTER": 1},
    {"BN": 128, "STAGES": 6, "STREAM_K": 1},
    {"BM": 192, "BN": 192, "CONSUMERS": 3, "STAGES": 3, "SIDE_BY_SIDE": 1},
    {"BM": 192, "BN": 128, "CONSUMERS": 3, "CLUSTER": 1},
    {"BM": 192, "BN": 160, "CONSUMERS": 3, "STAGES": 3, "CLUSTER": 1},
    {"BN": 224},
    {"BM": 256, "BN": 128},
    {"BM": 64, "BN": 128, "CONSUMERS": 1, "STAGES": 8, "CLUSTER": 1}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "PINGPONG == 0 or CONSUMERS == 2 and STREAM_K == 0",
    "SIDE_BY_SIDE == 0 or CLUSTER == 2",
    "BM % (64 if PINGPONG else CONSUMERS * 64) == 0",
    "BM // (1 if PINGPONG else CONSUMERS) // 64 * BN <= (256 if CONSUMERS == 1 else 416 if CONSUMERS == 2 else 192)",
    "STAGES * (BM + (round_up(BN, 64) if b_layout == 'row' else BN)) * 128 + CONSUMERS * 16384 + 2048 <= 232448",
    "PINGPONG + SIDE_BY_SIDE + STREAM_K == 0 and BN % 64 == 0 and BM != 192 or GROUP == 8 and (STAGES == 8 or (STAGES + 1) * (BM + round_up(BN, 64)) * 128 + CONSUMERS * 16384 + 2048 > 232448)"
  ],
  "let": {
    "COUNT": "1 if batch == 'none' else B",
    "A_LINE": "K if a_layout == 'row' else M",
    "B_LINE": "N if b_layout == 'row' else K",
    "A_PITCH": "2 * round_up(A_LINE, 8)",
    "B_PITCH": "2 * round_up(B_LINE, 8)",
    "PACK_A": "1 if A_LINE % 8 != 0 or batch != 'none' and B_LINE % 8 != 0 else 0",
    "PACK_B": "1 if B_LINE % 8 != 0 or batch != 'none' and A_LINE % 8 != 0 else 0",
    "PACK": "PACK_A + PACK_B > 0",
    "ROWS": "batch != 'none' or BN % 64 != 0 or gate != 'none' or residual != 'none' or scales != 'none' or dropout != 'none' or store != 'same' or N % 8 != 0",
    "LINES_B": "round_up(BN, 64) if b_layout == 'row' else BN",
    "SHARED": "STAGES * (BM + LINES_B) * 128 + CONSUMERS * 16384 + 2048",
    "CLUSTERS_DOWN": "ceil_div(M, BM * (1 if SIDE_BY_SIDE else CLUSTER))",
    "TILES": "COUNT * CLUSTERS_DOWN * ceil_div(N, BN * (CLUSTER if SIDE_BY_SIDE else 1))",
    "RESIDENT": "SM_COUNT // CLUSTER",
    "CLUSTERS": "min(RESIDENT, max(1, TILES * ceil_div(K, 64) // 4) if STREAM_K else TILES)",
    "WAVES": "1 if STREAM_K else ceil_div(TILES, RESIDENT)",
    "TILE_STEPS": "TILES * ceil_div(K, 64)",
    "STEPS": "ceil_div(TILE_STEPS, CLUSTERS) if STREAM_K else WAVES * ceil_div(K, 64)",
    "KILOBYTES": "COUNT * (M * K + K * N + M * N) // 512",
    "SHARES": "ceil_div(CLUSTERS, TILES) if STREAM_K else 0"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "TILE_STEPS if A_LINE % 64 else 0", "TILE_STEPS if B_LINE % 64 else 0",
                 "KILOBYTES", "PACK_A + PACK_B", "COUNT * (M * K * PACK_A + K * N * PACK_B) // 512",
                 "SHARES", "1 if STREAM_K and TILES % CLUSTERS else 0", "STEPS if N < BN else 0",
                 "COUNT * M * N // 512 if N % 64 else 0"],
  "workspace": [
    {"name": "packed_a", "dtype": "dtype",
     "count": "A_PITCH // 2 * COUNT * (M if a_layout == 'row' else K) if PACK_A else 0"},
    {"name": "packed_b", "dtype": "dtype",
     "count": "B_PITCH // 2 * COUNT * (K if b_layout == 'row' else N) if PACK_B else 0"},
    {"name": "parts", "dtype": "float32", "count": "CLUSTERS * CLUSTER * BM * BN if STREAM_K else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "CLUSTERS * CLUSTER * CONSUMERS if STREAM_K else 0", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "map_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K"], "strides_bytes": ["A_PITCH"],
     "box": [64, "(BM if a_layout == 'row' else 64) // (CLUSTER if SIDE_BY_SIDE else 1)"]},
    {"name": "map_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N"], "strides_bytes": ["B_PITCH"],
     "box": [64, "(64 if b_layout == 'row' else BN) // (1 if SIDE_BY_SIDE else CLUSTER)"]},
    {"name": "map_packed_a", "tensor": "packed_a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K"], "strides_bytes": ["A_PITCH"],
     "box": [64, "(BM if a_layout == 'row' else 64) // (CLUSTER if SIDE_BY_SIDE else 1)"]},
    {"name": "map_packed_b", "tensor": "packed_b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N"], "strides_bytes": ["B_PITCH"],
     "box": [64, "(64 if b_layout == 'row' else BN) // (1 if SIDE_BY_SIDE else CLUSTER)"]},
    {"name": "batch_a", "tensor": "a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K", "COUNT"], "strides_bytes": ["A_PITCH",
     "A_PITCH * (M if a_layout == 'row' else K)"],
     "box": [64, "(BM if a_layout == 'row' else 64) // (CLUSTER if SIDE_BY_SIDE else 1)", 1]},
    {"name": "batch_b", "tensor": "b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N", "COUNT"], "strides_bytes": ["B_PITCH",
     "B_PITCH * (K if b_layout == 'row' else N)"],
     "box": [64, "(64 if b_layout == 'row' else BN) // (1 if SIDE_BY_SIDE else CLUSTER)", 1]},
    {"name": "batch_packed_a", "tensor": "packed_a", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K if a_layout == 'row' else M", "M if a_layout == 'row' else K", "COUNT"], "strides_bytes": ["A_PITCH",
     "A_PITCH * (M if a_layout == 'row' else K)"],
     "box": [64, "(BM if a_layout == 'row' else 64) // (CLUSTER if SIDE_BY_SIDE else 1)", 1]},
    {"name": "batch_packed_b", "tensor": "packed_b", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["N if b_layout == 'row' else K", "K if b_layout == 'row' else N", "COUNT"], "strides_bytes": ["B_PITCH",
     "B_PITCH * (K if b_layout == 'row' else N)"],
     "box": [64, "(64 if b_layout == 'row' else BN) // (1 if SIDE_BY_SIDE else CLUSTER)", 1]},
    {"name": "map_c", "tensor": "c", "dtype": "dtype", "swizzle": "128B",
     "dims": ["N", "M"], "strides_bytes": ["2 * N"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["COUNT * (M if a_layout == 'row' else K)"], "block": [256],
     "args": ["a", "packed_a", {"i32": "A_LINE"}, {"i32": "A_PITCH // 2"}], "when": "PACK_A"},
    {"kernel": "pack_lines", "grid": ["COUNT * (K if b_layout == 'row' else N)"], "block": [256],
     "args": ["b", "packed_b", {"i32": "B_LINE"}, {"i32": "B_PITCH // 2"}], "when": "PACK_B"},
    {"kernel": "gemm_wgmma", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_a", "map_b", "map_c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not PACK and not ROWS"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_a", "map_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not PACK and ROWS and batch == 'none'"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_packed_a", "map_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "PACK_A and PACK_B and batch == 'none'"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_packed_a", "map_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "PACK_A and not PACK_B"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["map_a", "map_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "PACK_B and not PACK_A"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["batch_a", "batch_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "not PACK and batch != 'none'"},
    {"kernel": "gemm_wgmma_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["batch_packed_a", "batch_packed_b", "c",
              {"optional": "bias"}, {"optional": "residual"}, {"optional": "row_scales"}, {"optional": "column_scales"},
              {"optional": "alpha"}, {"optional": "beta"}, {"optional": "c_scale"}, {"optional": "seed"},
               {"optional": "p"},
              "parts", "arrived", {"i32": "COUNT"}, {"i32": "M"}, {"i32": "N"}, {"i32": "K"}],
     "when": "PACK and batch != 'none'"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The product of 16-bit matrices on Hopper's matrix units, and what follows it (product_epilogue.cuh). Blocks stay
// resident and take tiles of BM x BN in turn: one warp group fetches slices of a and b, CONSUMERS multiply them,
// together on a tile or (PINGPONG) in turn, each on tiles of its own, so that one writes results while the other
// multiplies. The CLUSTER blocks of a cluster work on tiles below each other and fetch b for all (multicast), or
// SIDE_BY_SIDE and fetch a. wgmma_pipeline.cuh is how. STREAM_K cuts the last tiles along k where they would leave SMs
// idle (stream_k.cuh).
//
// Results go through shared memory in panels (product_tiles.cuh). Where they need more than a bias and an activation, have another width or
// lines that are no multiple of 16 bytes, and of products of a batch, each warp writes its rows itself
// (gemm_wgmma_rows). Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share
// operands in L2. Operands whose lines are no multiple of 16 bytes cannot be described to the accelerator: a launch of
// its own copies them to longer lines. That reads and writes both once.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#ifdef AK_STORE_FLOAT8_E4M3FN
#include <cuda_fp8.h>
#endif

#include <ak/product_epilogue.cuh>
#include <ak/product_tiles.cuh>
#include <ak/wgmma_pipeline.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 256;
constexpr int CONSUMERS = 2;
constexpr int PINGPONG = 0;
constexpr int STAGES = 4;
constexpr int CLUSTER = 2;
constexpr int SIDE_BY_SIDE = 0;
constexpr int STREAM_K = 0;
constexpr int GROUP = 8;
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

#ifdef AK_BATCH_STRIDED
constexpr bool BATCHED = true;
#else
constexpr bool BATCHED = false;
#endif

// Bias and residual are of the operands' type.
#if defined(AK_STORE_FLOAT8_E4M3FN)
using result_t = __nv_fp8_e4m3;
#elif defined(AK_STORE_INT8)
using result_t = signed char;
#else
using result_t = scalar_t;
#endif

// What of the epilogue there is.
struct Options : ak::EpilogueOptions<float, scalar_t, result_t> {
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

using Pipeline = ak::WgmmaPipeline<ak::Element<scalar_t>, BM, BN, CONSUMERS, STAGES, CLUSTER, A_ACROSS, B_ACROSS,
                                   PINGPONG == 1, SIDE_BY_SIDE == 1, 0, BATCHED>;
using Tiles = ak::ProductTiles<Pipeline, GROUP, STREAM_K == 1>;

// What follows the sums of a column where results are written as panels.
struct Follow {
  const scalar_t* bias;
  int n;
  __device__ __forceinline__ float addend(int column) const {
#if AK_BIAS
    return column < n ? static_cast<float>(bias[column]) : 0.0f;
#else
    return 0.0f;
#endif
  }
  __device__ __forceinline__ float result(float x) const { return ak::activate<Options::kActivation>(x); }
};

// a: m x k, b: k x n, c: m x n, in the layouts of the problem; every line a multiple of 16 bytes.
__global__ void __launch_bounds__(Pipeline::kThreads, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, const scalar_t* __restrict__ bias, const scalar_t*,
               const float*, const float*, const float*, const float*, const float*, const long long*, const float*,
               float* parts, unsigned int* arrived, int batch, int m, int n,
                    int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tiles tiles(memory);
  int turn = 0;
  tiles.make(&map_a, &map_b, {parts, arrived}, batch, m, n, k,
             [&](const Pipeline::Sums& sums, const ak::ElementPlace& at, int group) {
               tiles.write_panels<scalar_t>(&map_c, group, sums, Follow{bias, n}, at.row, at.column, turn);
             });
}

// The same for any number of columns and all that may follow a product; c is half as wide with a gate.
__global__ void __launch_bounds__(Pipeline::kThreads, 1)
    gemm_wgmma_rows(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                    result_t* c, const scalar_t* bias, const scalar_t* residual, const float* row_scales,
                    const float* column_scales, const float* alpha, const float* beta, const float* c_scale,
                    const long long* seed, const float* p, float* parts, unsigned int* arrived, int batch, int m, int n,
                    int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tiles tiles(memory);
  const Epilogue epilogue({bias, residual, row_scales, column_scales, alpha, beta, c_scale, seed, p}, n);
  tiles.make(&map_a, &map_b, {parts, arrived}, batch, m, n, k,
             [&](const Pipeline::Sums& sums, const ak::ElementPlace& at, int group) {
               const int warp = threadIdx.x % 128 / 32;
               const Epilogue chosen = epilogue.of(at.batch, m);
               float* rows = reinterpret_cast<float*>(tiles.results + (group * 4 + warp) * ak::kStagedBytes<BN>);
#pragma unroll
               for (int block = 0; block < Pipeline::kBlocks; ++block) {
                 ak::write_rows<BN>(sums[block], rows, chosen, c, at.row + block * 64 + warp * 16, at.column, m);
               }
             });
}

// A block copies a line of `length` elements to one of `pitch`.
__global__ void __launch_bounds__(256)
    pack_lines(const scalar_t* __restrict__ from, scalar_t* __restrict__ to, int length, int pitch) {
  from += static_cast<long long>(blockIdx.x) * length;
  to += static_cast<long long>(blockIdx.x) * pitch;
  for (int i = threadIdx.x; i < length; i += 256) to[i] = from[i];
}
