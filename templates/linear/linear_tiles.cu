/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 192, 256], "default": 128},
    "BN": {"values": [64, 128, 192, 256], "default": 256},
    "CONSUMERS": {"values": [1, 2], "default": 2},
    "PINGPONG": {"values": [0, 1], "default": 0},
    "STAGES": {"values": [3, 4, 5, 6, 8], "default": 4},
    "CLUSTER": {"values": [1, 2], "default": 2},
    "STREAM_K": {"values": [0, 1], "default": 0},
    "GROUP": {"values": [4, 8, 16], "default": 8}
  },
  "starts": [
    {"CLUSTER": 1},
    {"BN": 128, "PINGPONG": 1, "STAGES": 6, "CLUSTER": 1},
    {"BM": 64, "BN": 128, "PINGPONG": 1, "STAGES": 8, "CLUSTER": 1},
    {"BM": 256, "BN": 192, "STAGES": 3, "CLUSTER": 1}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "PINGPONG == 0 or CONSUMERS == 2 and STREAM_K == 0",
    "BM % (64 if PINGPONG else CONSUMERS * 64) == 0",
    "BM // (1 if PINGPONG else CONSUMERS) // 64 * BN <= (256 if CONSUMERS == 1 else 416)",
    "SHARED <= 232448",
    "GROUP == 8 or PINGPONG + STREAM_K == 0",
    "STAGES == 8 or SHARED + (BM + BN) * 128 > 232448"
  ],
  "let": {
    "PITCH": "2 * round_up(K, 8)",
    "PACK": "K % 8 != 0",
    "SHARED": "STAGES * (BM + BN) * 128 + CONSUMERS * 16384 + 2048",
    "TILES": "ceil_div(M, BM * CLUSTER) * ceil_div(N, BN)",
    "RESIDENT": "SM_COUNT // CLUSTER",
    "CLUSTERS": "min(RESIDENT, max(1, TILES * ceil_div(K, 64) // 4) if STREAM_K else TILES)",
    "WAVES": "1 if STREAM_K else ceil_div(TILES, RESIDENT)",
    "TILE_STEPS": "TILES * ceil_div(K, 64)",
    "STEPS": "ceil_div(TILE_STEPS, CLUSTERS) if STREAM_K else WAVES * ceil_div(K, 64)",
    "KILOBYTES": "(M * K + K * N + M * N) // 512"
  },
  "time_terms": ["1", "WAVES", "STEPS", "TILE_STEPS", "TILE_STEPS if K % 64 else 0", "KILOBYTES", "1 if PACK else 0",
                 "KILOBYTES if PACK else 0"],
  "workspace": [
    {"name": "packed_x", "dtype": "dtype", "count": "PITCH // 2 * M if PACK else 0"},
    {"name": "packed_weight", "dtype": "dtype", "count": "PITCH // 2 * N if PACK else 0"},
    {"name": "parts", "dtype": "float32", "count": "CLUSTERS * CLUSTER * BM * BN if STREAM_K else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "CLUSTERS * CLUSTER * CONSUMERS if STREAM_K else 0", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM"]},
    {"name": "map_weight", "tensor": "weight", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN // CLUSTER"]},
    {"name": "map_packed_x", "tensor": "packed_x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["PITCH"], "box": [64, "BM"]},
    {"name": "map_packed_weight", "tensor": "packed_weight", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "N"], "strides_bytes": ["PITCH"], "box": [64, "BN // CLUSTER"]},
    {"name": "map_y", "tensor": "y", "dtype": "dtype", "swizzle": "128B",
     "dims": ["N", "M"], "strides_bytes": ["2 * N"], "box": [64, 64]}
  ],
  "launches": [
    {"kernel": "pack_lines", "grid": ["M"], "block": [256], "when": "PACK",
     "args": ["x", "packed_x", {"i64": "M"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "pack_lines", "grid": ["N"], "block": [256], "when": "PACK",
     "args": ["weight", "packed_weight", {"i64": "N"}, {"i32": "K"}, {"i32": "PITCH // 2"}]},
    {"kernel": "linear", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED", "when": "not PACK and N % 8 == 0",
     "args": ["map_x", "map_weight", "map_y", "bias", "parts", "arrived", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED", "when": "not PACK and N % 8 != 0",
     "args": ["map_x", "map_weight", "y", "bias", "parts", "arrived", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_rows", "grid": ["CLUSTERS * CLUSTER"], "block": ["(CONSUMERS + 1) * 128"], "cluster": ["CLUSTER"],
     "shared_bytes": "SHARED", "when": "PACK",
     "args": ["map_packed_x", "map_packed_weight", "y", "bias", "parts", "arrived", {"i32": "M"}, {"i32": "N"},
              {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation(x W^T + bias) on Hopper's matrix units, for many rows: both operands come through shared memory as they
// are, so that nothing is prepared. Tiles are those of gemm_wgmma.cu: blocks stay resident and take BM x BN in turn, one
// warp group fetches and CONSUMERS multiply, together or (PINGPONG) in turn; the CLUSTER blocks of a cluster work on
// tiles below each other and fetch the weights for all; STREAM_K cuts the last tiles along k. Results go through panels
// (product_tiles.cuh); where lines of y are no multiples of 16 bytes each warp writes its rows itself (linear_rows).
// Lines of x and W that are none are first copied to longer ones.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/functions.cuh>
#include <ak/pad.cuh>
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
constexpr int STREAM_K = 0;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#endif

using Pipeline = ak::WgmmaPipeline<ak::Element<scalar_t>, BM, BN, CONSUMERS, STAGES, CLUSTER, false, false, PINGPONG == 1>;
using Tiles = ak::ProductTiles<Pipeline, GROUP, STREAM_K == 1>;

// Bias, then the activation; fast, and good for 16 bits.
struct Follow {
  const scalar_t* bias;
  int n;
  __device__ __forceinline__ float addend(int column) const {
    return column < n ? static_cast<float>(bias[column]) : 0.0f;
  }
  __device__ __forceinline__ float result(float x) const {
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

// The same for rows.
struct Options : ak::EpilogueOptions<float, scalar_t, scalar_t> {
  static constexpr bool kBias = true;
#if defined(AK_ACTIVATION_RELU)
  static constexpr ak::Activation kActivation = ak::Activation::relu;
#elif defined(AK_ACTIVATION_GELU)
  static constexpr ak::Activation kActivation = ak::Activation::gelu;
#elif defined(AK_ACTIVATION_SILU)
  static constexpr ak::Activation kActivation = ak::Activation::silu;
#endif
};
using Epilogue = ak::ProductEpilogue<Options>;

__global__ void __launch_bounds__(Pipeline::kThreads, 1)
    linear(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_weight,
           const __grid_constant__ CUtensorMap map_y, const scalar_t* __restrict__ bias, float* parts,
           unsigned int* arrived, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tiles tiles(memory);
  int turn = 0;
  tiles.make(&map_x, &map_weight, {parts, arrived}, 1, m, n, k,
             [&](const Pipeline::Sums& sums, const ak::ElementPlace& at, int group) {
               tiles.write_panels<scalar_t>(&map_y, group, sums, Follow{bias, n}, at.row, at.column, turn);
             });
}

__global__ void __launch_bounds__(Pipeline::kThreads, 1)
    linear_rows(const __grid_constant__ CUtensorMap map_x, const __grid_constant__ CUtensorMap map_weight, scalar_t* y,
                const scalar_t* bias, float* parts, unsigned int* arrived, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Tiles tiles(memory);
  const Epilogue epilogue({bias}, n);
  tiles.make(&map_x, &map_weight, {parts, arrived}, 1, m, n, k,
             [&](const Pipeline::Sums& sums, const ak::ElementPlace& at, int group) {
               const int warp = threadIdx.x % 128 / 32;
               float* rows = reinterpret_cast<float*>(tiles.results + (group * 4 + warp) * ak::kStagedBytes<BN>);
#pragma unroll
               for (int block = 0; block < Pipeline::kBlocks; ++block) {
                 ak::write_rows<BN>(sums[block], rows, epilogue, y, at.row + block * 64 + warp * 16, at.column, m);
               }
             });
}

__global__ void __launch_bounds__(256)
    pack_lines(const scalar_t* from, scalar_t* to, long long lines, int width, int pitch) {
  ak::pad_lines(from, to, lines, width, pitch);
}
