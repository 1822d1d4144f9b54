/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [32, 64, 80, 96, 128, 160], "default": 64},
    "DEPTH": {"values": [1, 2], "default": 1},
    "X_STAGES": {"values": [3, 4, 6, 8], "default": 6},
    "SPLIT_K": {"values": [1, 2, 4], "default": 2},
    "ACROSS": {"values": [1, 2], "default": 1},
    "DOWN": {"values": [1, 2], "default": 1},
    "AHEAD": {"values": [0, 8], "default": 8}
  },
  "starts": [
    {"BN": 80, "X_STAGES": 4, "ACROSS": 2},
    {"BM": 64, "SPLIT_K": 1, "DOWN": 2},
    {"BN": 160, "X_STAGES": 4, "SPLIT_K": 4},
    {"AHEAD": 0},
    {"BM": 64, "BN": 80, "SPLIT_K": 1, "ACROSS": 2, "DOWN": 2},
    {"DEPTH": 2, "X_STAGES": 3},
    {"BM": 64, "BN": 32, "DEPTH": 2, "X_STAGES": 4, "SPLIT_K": 1}
  ],
  "constraints": [
    "ARCH == 90",
    "BN // 2 + (BN // 2 // SPLIT_K if SPLIT_K > 1 else 0) + 40 <= (255 if BM == 64 else 168 if BM == 128 else 96)",
    "SPLIT_K == 1 or BM == 128",
    "SPLIT_K < 4 or BN >= 96 and ACROSS == 1",
    "DOWN == 1 or BM == 64",
    "DEPTH == 1 or BN <= 64",
    "X_STAGES * DEPTH * BM <= 1024",
    "LEFT // (DEPTH * BN * 128 + 16) >= 3"
  ],
  "let": {
    "PITCH": "round_up(K, 16)",
    "PACK": "K % 16 != 0",
    "RESULTS": "(SPLIT_K - 1) * (BN // SPLIT_K) * BM * 4 + BM * 64 + BM // 64 * (BN // SPLIT_K) * 8",
    "LEFT": "232448 - 1024 - X_STAGES * (DEPTH * BM * 128 + 16) - RESULTS",
    "CLUSTER": "SPLIT_K * ACROSS * DOWN",
    "TILES": "ceil_div(M, BM * DOWN) * ceil_div(N, BN * ACROSS)",
    "RESIDENT": "(SM_COUNT if CLUSTER <= 2 else SM_COUNT * 15 // 16) // CLUSTER",
    "CLUSTERS": "TILES if SPLIT_K > 1 else min(TILES, RESIDENT)",
    "WAVES": "ceil_div(TILES, RESIDENT)",
    "STEPS": "WAVES * ceil_div(K, 128 * DEPTH * SPLIT_K)",
    "TILE_STEPS": "TILES * ceil_div(K, 128 * DEPTH)",
    "KILOBYTES": "(M * K + K * N + 2 * M * N) // 1024"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "KILOBYTES", "1 if PACK else 0", "KILOBYTES if PACK else 0"],
  "workspace": [
    {"name": "packed_x", "dtype": "int8", "count": "PITCH * M if PACK else 0"},
    {"name": "packed_weight", "dtype": "int8", "count": "PITCH * N if PACK else 0"}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [128, "BM // ACROSS"]},
    {"name": "map_weight", "tensor": "weight", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [128, "BN // DOWN"]},
    {"name": "map_packed_x", "tensor": "packed_x", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [128, "BM // ACROSS"]},
    {"name": "map_packed_weight", "tensor": "packed_weight", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [128, "BN // DOWN"]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["M"], "block": [256], "when": "PACK",
     "args": ["x", "packed_x", {"i64": "M"}, {"i32": "K"}, {"i32": "PITCH"}]},
    {"kernel": "pack_lines", "grid": ["N"], "block": [256], "when": "PACK",
     "args": ["weight", "packed_weight", {"i64": "N"}, {"i32": "K"}, {"i32": "PITCH"}]},
    {"kernel": "linear_int8", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "not PACK",
     "args": ["map_x", "map_weight", "x", "weight", "x_scale", "weight_scale", {"optional": "bias"}, "y", {"i32": "M"},
              {"i32": "N"}, {"i32": "K"}, {"i64": "PITCH"}]},
    {"kernel": "linear_int8", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "PACK",
     "args": ["map_packed_x", "map_packed_weight", "packed_x", "packed_weight", "x_scale", "weight_scale",
              {"optional": "bias"}, "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}, {"i64": "PITCH"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T of bytes on Hopper's matrix units where reading the weights is all of the time, sums in int32, scales of
// rows and columns in the epilogue: one wave of blocks that have BN lines of the weights and BM rows of x each
// (ak/linear_wave.cuh). Nothing is prepared. ACROSS blocks of a cluster fetch x for each other, DOWN the weights,
// SPLIT_K share k. Lines of x and W that are no multiples of 16 bytes are first copied to longer ones.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/linear_wave.cuh>
#include <ak/pad.cuh>
#include <ak/wgmma_int8.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 64;
constexpr int DEPTH = 1;
constexpr int X_STAGES = 6;
constexpr int SPLIT_K = 2;
constexpr int ACROSS = 1;
constexpr int DOWN = 1;
constexpr int AHEAD = 8;
constexpr bool BIAS = false;
using scalar_t = __nv_bfloat16;
#endif

using Layer = ak::LinearWave<ak::s8, 1, BM, BN, DEPTH, X_STAGES, SPLIT_K, ACROSS, DOWN>;

// Scales of row and column, and the bias where there is one.
struct Follow {
  static constexpr bool kTerms = true;
  const float* x_scale;
  const float* weight_scale;
  const scalar_t* bias;
  __device__ __forceinline__ float row(int row) const { return x_scale[row]; }
  __device__ __forceinline__ float2 column(int column) const {
    return make_float2(weight_scale[column], BIAS ? static_cast<float>(bias[column]) : 0.0f);
  }
  __device__ __forceinline__ float result(const float (&sums)[1], float of_row, float2 of_column) const {
    const float scaled = sums[0] * of_row * of_column.x;
    return BIAS ? scaled + of_column.y : scaled;
  }
};

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear_int8(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_weight,
                const signed char* x, const signed char* weight, const float* x_scale, const float* weight_scale,
                const scalar_t* bias, scalar_t* y, int m, int n, int k, long long pitch) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Layer::ask_ahead<AHEAD>(weight, pitch, {m, n, k});
  ak::prefetch_together<BM * 2>(x, static_cast<long long>(m) * k);
  ak::prefetch_together<BM * 2>(weight_scale, n);
  ak::prefetch_together<BM * 2>(x_scale, m);
  if constexpr (BIAS) ak::prefetch_together<BM * 2>(bias, n);
  Layer::run(memory, &map_x, {&map_weight}, {m, n, k}, Follow{x_scale, weight_scale, bias}, y);
}

__global__ void __launch_bounds__(256)
    pack_lines(const signed char* from, signed char* to, long long lines, int width, int pitch) {
  ak::pad_lines(from, to, lines, width, pitch);
}
