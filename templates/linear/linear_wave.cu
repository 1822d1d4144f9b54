/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [32, 48, 64, 80, 88, 96, 112, 128, 144, 224], "default": 128},
    "DEPTH": {"values": [1, 2], "default": 1},
    "X_STAGES": {"values": [3, 4, 6], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4], "default": 1},
    "ACROSS": {"values": [1, 2, 4], "default": 2},
    "AHEAD": {"values": [0, 4], "default": 0}
  },
  "starts": [
    {"BN": 88},
    {"BN": 88, "AHEAD": 4},
    {"ACROSS": 1},
    {"BN": 88, "ACROSS": 1},
    {"BN": 144, "ACROSS": 4},
    {"BN": 96, "ACROSS": 4},
    {"BM": 64, "BN": 88, "ACROSS": 1},
    {"BM": 64, "BN": 32, "DEPTH": 2, "ACROSS": 1},
    {"BM": 64, "BN": 64, "SPLIT_K": 2, "ACROSS": 1}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "BN // 2 + (BN // 2 // SPLIT_K if SPLIT_K > 1 else 0) + 40 <= (255 if BM == 64 else 168 if BM == 128 else 96)",
    "SPLIT_K == 1 or ACROSS == 1 and BN <= 64 and BN % (8 * SPLIT_K) == 0",
    "DEPTH == 1 or BN <= 64",
    "X_STAGES * DEPTH * BM <= 1024",
    "LEFT // (DEPTH * BN * 128 + 16) >= 3"
  ],
  "let": {
    "PITCH": "2 * round_up(K, 8)",
    "PACK": "K % 8 != 0",
    "RESULTS": "(SPLIT_K - 1) * (BN // SPLIT_K) * BM * 4 + BM * 64 + BM // 64 * (BN // SPLIT_K) * 8",
    "LEFT": "232448 - 1024 - X_STAGES * (DEPTH * BM * 128 + 16) - RESULTS",
    "CLUSTER": "SPLIT_K * ACROSS",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN * ACROSS)",
    "RESIDENT": "(SM_COUNT if CLUSTER <= 2 else SM_COUNT * 15 // 16) // CLUSTER",
    "CLUSTERS": "TILES if SPLIT_K > 1 else min(TILES, RESIDENT)",
    "WAVES": "ceil_div(TILES, RESIDENT)",
    "STEPS": "WAVES * ceil_div(K, 64 * DEPTH * SPLIT_K)",
    "TILE_STEPS": "TILES * ceil_div(K, 64 * DEPTH)",
    "KILOBYTES": "(M * K + K * N + M * N) // 512"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "KILOBYTES", "1 if PACK else 0", "KILOBYTES if PACK else 0"],
  "workspace": [
    {"name": "packed_x", "dtype": "dtype", "count": "PITCH // 2 * M if PACK else 0"},
    {"name": "packed_weight", "dtype": "dtype", "count": "PITCH // 2 * N if PACK else 0"}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM // ACROSS"]},
    {"name": "map_weight", "tensor": "weight", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]},
    {"name": "map_packed_x", "tensor": "packed_x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM // ACROSS"]},
    {"name": "map_packed_weight", "tensor": "packed_weight", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["M"], "block": [256], "when": "PACK",
     "args": ["x", "packed_x", {"i64": "M"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "pack_lines", "grid": ["N"], "block": [256], "when": "PACK",
     "args": ["weight", "packed_weight", {"i64": "N"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "linear", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "not PACK",
     "args": ["map_x", "map_weight", "x", "weight", "bias", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}, {"i64": "PITCH"}]},
    {"kernel": "linear", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "PACK",
     "args": ["map_packed_x", "map_packed_weight", "packed_x", "packed_weight", "bias", "y", {"i32": "M"}, {"i32": "N"},
              {"i32": "K"}, {"i64": "PITCH"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation(x W^T + bias) on Hopper's matrix units where reading the weights is all of the time: one wave of
// blocks that have BN lines of the weights each, any multiple of 8, so that all SMs have the same share, and all BM
// rows of x (ak/linear_wave.cuh). Nothing is prepared. ACROSS blocks of a cluster fetch x for each other,
// SPLIT_K share k. Lines of x and W that are no multiples of 16 bytes are first copied to longer ones.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/functions.cuh>
#include <ak/linear_wave.cuh>
#include <ak/pad.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int BN = 128;
constexpr int DEPTH = 1;
constexpr int X_STAGES = 4;
constexpr int SPLIT_K = 1;
constexpr int ACROSS = 2;
constexpr int AHEAD = 0;
using scalar_t = __nv_bfloat16;
#endif

using Layer = ak::LinearWave<ak::Element<scalar_t>, 1, BM, BN, DEPTH, X_STAGES, SPLIT_K, ACROSS, 1>;

// Bias, then the activation; fast, and good for 16 bits.
struct Follow {
  static constexpr bool kTerms = true;
  const scalar_t* bias;
  __device__ __forceinline__ float row(int) const { return 1.0f; }
  __device__ __forceinline__ float2 column(int column) const {
    return make_float2(1.0f, static_cast<float>(bias[column]));
  }
  __device__ __forceinline__ float result(const float (&sums)[1], float, float2 of_column) const {
    const float x = sums[0] + of_column.y;
#if defined(AK_ACTIVATION_RELU)
    return ak::relu(x);
#elif defined(AK_ACTIVATION_GELU)
    return ak::gelu_to_16_bits(x);
#elif defined(AK_ACTIVATION_SILU)
    return ak::fast_silu(x);
#else
    return x;
#endif
  }
};

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_weight, const scalar_t* x,
           const scalar_t* weight, const scalar_t* bias, scalar_t* y, int m, int n, int k, long long pitch) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Layer::ask_ahead<AHEAD>(weight, pitch, {m, n, k});
  ak::prefetch_together<BM * 2>(x, static_cast<long long>(m) * k);
  ak::prefetch_together<BM * 2>(bias, n);
  Layer::run(memory, &map_x, {&map_weight}, {m, n, k}, Follow{bias}, y);
}

__global__ void __launch_bounds__(256)
    pack_lines(const scalar_t* from, scalar_t* to, long long lines, int width, int pitch) {
  ak::pad_lines(from, to, lines, width, pitch);
}
