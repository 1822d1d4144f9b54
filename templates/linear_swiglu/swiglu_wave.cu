/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 128},
    "BN": {"values": [16, 32, 48, 64, 80, 88, 96, 112, 128], "default": 88},
    "X_STAGES": {"values": [2, 3, 4, 6], "default": 3},
    "SPLIT_K": {"values": [1, 2], "default": 1},
    "ACROSS": {"values": [1, 2, 4], "default": 2},
    "AHEAD": {"values": [0, 4], "default": 0}
  },
  "starts": [
    {"AHEAD": 4},
    {"ACROSS": 1},
    {"BN": 96, "ACROSS": 4},
    {"BM": 64, "ACROSS": 1}
  ],
  "constraints": [
    "ARCH == 90",
    "BN + (BN // SPLIT_K if SPLIT_K > 1 else 0) + 40 <= (255 if BM == 64 else 168 if BM == 128 else 96)",
    "SPLIT_K == 1 or ACROSS == 1 and BN <= 64",
    "X_STAGES * BM <= 768",
    "LEFT // (2 * BN * 128 + 16) >= 3"
  ],
  "let": {
    "PITCH": "2 * round_up(K, 8)",
    "PACK": "K % 8 != 0",
    "RESULTS": "(SPLIT_K - 1) * 2 * (BN // SPLIT_K) * BM * 4 + BM * 64 + BM // 64 * (BN // SPLIT_K) * 8",
    "LEFT": "232448 - 1024 - X_STAGES * (BM * 128 + 16) - RESULTS",
    "CLUSTER": "SPLIT_K * ACROSS",
    "TILES": "ceil_div(M, BM) * ceil_div(N, BN * ACROSS)",
    "RESIDENT": "(SM_COUNT if CLUSTER <= 2 else SM_COUNT * 15 // 16) // CLUSTER",
    "CLUSTERS": "TILES if SPLIT_K > 1 else min(TILES, RESIDENT)",
    "WAVES": "ceil_div(TILES, RESIDENT)",
    "STEPS": "WAVES * ceil_div(K, 64 * SPLIT_K)",
    "TILE_STEPS": "TILES * ceil_div(K, 64)",
    "KILOBYTES": "(M * K + 2 * K * N + M * N) // 512"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "KILOBYTES", "1 if PACK else 0", "KILOBYTES if PACK else 0"],
  "workspace": [
    {"name": "packed_x", "dtype": "dtype", "count": "PITCH // 2 * M if PACK else 0"},
    {"name": "packed_gate", "dtype": "dtype", "count": "PITCH // 2 * N if PACK else 0"},
    {"name": "packed_up", "dtype": "dtype", "count": "PITCH // 2 * N if PACK else 0"}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM // ACROSS"]},
    {"name": "map_gate", "tensor": "gate", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]},
    {"name": "map_up", "tensor": "up", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]},
    {"name": "map_packed_x", "tensor": "packed_x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM // ACROSS"]},
    {"name": "map_packed_gate", "tensor": "packed_gate", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]},
    {"name": "map_packed_up", "tensor": "packed_up", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN"]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["M"], "block": [256], "when": "PACK",
     "args": ["x", "packed_x", {"i64": "M"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "pack_lines", "grid": ["N"], "block": [256], "when": "PACK",
     "args": ["gate", "packed_gate", {"i64": "N"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "pack_lines", "grid": ["N"], "block": [256], "when": "PACK",
     "args": ["up", "packed_up", {"i64": "N"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "linear_swiglu", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "not PACK",
     "args": ["map_x", "map_gate", "map_up", "x", "gate", "up", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"},
              {"i64": "PITCH"}]},
    {"kernel": "linear_swiglu", "grid": ["CLUSTERS * CLUSTER"], "block": ["BM * 2 + 64"], "cluster": ["CLUSTER"],
     "shared_bytes": 232448, "when": "PACK",
     "args": ["map_packed_x", "map_packed_gate", "map_packed_up", "packed_x", "packed_gate", "packed_up", "y",
              {"i32": "M"}, {"i32": "N"}, {"i32": "K"}, {"i64": "PITCH"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = f(x gate^T) * (x up^T) on Hopper's matrix units where reading the weights is all of the time: one wave of
// blocks that have BN lines of gate and the same of up each, any multiple of 8, so that all SMs have the same share,
// and all BM rows of x (ak/linear_wave.cuh). Both halves of a result are sums of one thread. Nothing is prepared.
// ACROSS blocks of a cluster fetch x for each other, SPLIT_K share k. Lines of x and weights that
// are no multiples of 16 bytes are first copied to longer ones.
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
constexpr int BN = 88;
constexpr int X_STAGES = 3;
constexpr int SPLIT_K = 1;
constexpr int ACROSS = 2;
constexpr int AHEAD = 0;
using scalar_t = __nv_bfloat16;
#endif

using Layer = ak::LinearWave<ak::Element<scalar_t>, 2, BM, BN, 1, X_STAGES, SPLIT_K, ACROSS, 1>;

// A function of the gate times what it lets through.
struct Follow : ak::NoTerms {
  __device__ __forceinline__ float result(const float (&sums)[2], float, float2) const {
#if defined(AK_FUNCTION_GELU)
    return ak::gelu_to_16_bits(sums[0]) * sums[1];
#elif defined(AK_FUNCTION_GELU_TANH)
    return ak::fast_gelu_tanh(sums[0]) * sums[1];
#else
    return ak::fast_silu(sums[0]) * sums[1];
#endif
  }
};

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear_swiglu(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_gate,
                  const __grid_constant__ CUtensorMap map_up, const scalar_t* x, const scalar_t* gate, const scalar_t* up,
                  scalar_t* y, int m, int n, int k, long long pitch) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Layer::ask_ahead<AHEAD>(gate, pitch, {m, n, k});
  Layer::ask_ahead<AHEAD>(up, pitch, {m, n, k});
  ak::prefetch_together<BM * 2>(x, static_cast<long long>(m) * k);
  Layer::run(memory, &map_x, {&map_gate, &map_up}, {m, n, k}, Follow{}, y);
}

__global__ void __launch_bounds__(256)
    pack_lines(const scalar_t* from, scalar_t* to, long long lines, int width, int pitch) {
  ak::pad_lines(from, to, lines, width, pitch);
}
