/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128], "default": 32},
    "BN": {"values": [64, 128, 256], "default": 128},
    "WN": {"values": [16, 32, 64], "default": 32},
    "WARPS_K": {"values": [1, 2, 4], "default": 1},
    "BK": {"values": [128, 256], "default": 128},
    "STAGES": {"values": [4, 5], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1}
  },
  "starts": [
    {"BK": 256, "STAGES": 5, "WARPS_K": 4, "WN": 64},
    {"BM": 64, "BN": 256, "WARPS_K": 2, "WN": 64}
  ],
  "constraints": [
    "ARCH >= 80",
    "BN // WN * WARPS_K in [4, 8]",
    "WN * BM <= 4096",
    "max(STAGES * (BM + BN) * BK, BM * (BN + 4) * 4) <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "PACKED_BLOCKS": "ceil_div(K, 256) * 2",
    "THREADS": "BN // WN * WARPS_K * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK, BM * (BN + 4) * 4)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * 8192", "prepared": true},
    {"name": "parts", "dtype": "int32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_int8<true>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 16 == 0",
     "args": ["x", "packed", "x_scale", "weight_scale", {"optional": "bias"}, "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_int8<false>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 16 != 0",
     "args": ["x", "packed", "x_scale", "weight_scale", {"optional": "bias"}, "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_up", "grid": ["ceil_div(M * ceil_div(N, 8), 256)"], "block": [256], "when": "SPLIT_K > 1",
     "args": ["parts", "x_scale", "weight_scale", {"optional": "bias"}, "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T of bytes, sums in int32, scales of rows and columns in the epilogue. `prepare` packs the weights so that 16
// bytes of a lane are a matrix operand. The product is ak/linear_mma.cuh: weights as the A operand of mma.sync
// (m16n8k32), rows of x as the B operand, a ring of cp.async slices.
//
// SPLIT_K > 1: as many blocks share a tile, each with its part of k. Their sums go to the workspace, and a second
// launch adds them up. Rows of x that are no multiples of 16 bytes are copied element by element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/epilogue.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/packed_weights.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 32;
constexpr int BN = 128;
constexpr int WN = 32;
constexpr int WARPS_K = 1;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 1;
constexpr bool BIAS = false;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::PlainWeights<ak::s8>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, WARPS_K, STAGES>;

// Results of these sums: scales, and the bias where there is one.
__device__ __forceinline__ auto results(const float* x_scale, const float* weight_scale, const scalar_t* bias,
                                        scalar_t* y, int n) {
  const auto scaled = ak::chain(ak::ScaleRows{x_scale}, ak::ScaleColumns{weight_scale});
  if constexpr (BIAS) {
    return ak::store_results(y, n, ak::chain(scaled, ak::AddBias<scalar_t>{bias}));
  } else {
    return ak::store_results(y, n, scaled);
  }
}

// A block of 64 lines by 128 of k; zeros past the ends.
__global__ void __launch_bounds__(128) pack_weights(const unsigned char* weight, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 128;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> ak::u32 {
    const bool inside = first + line < n && start + at < k;
    return inside ? weight[static_cast<long long>(first + line) * k + start + at] : 0;
  });
}

template <bool WIDE>
__global__ void __launch_bounds__(Tile::kThreads)
    linear_int8(const signed char* __restrict__ x, const unsigned char* __restrict__ packed,
                const float* __restrict__ x_scale, const float* __restrict__ weight_scale,
                const scalar_t* __restrict__ bias, scalar_t* __restrict__ y, int* __restrict__ parts, int m, int n,
                int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  if constexpr (SPLIT_K > 1) {
    const ak::StoreSums<int> store{parts + static_cast<long long>(blockIdx.y) * m * n, n};
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), store);
  } else {
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), results(x_scale, weight_scale, bias, y, n));
  }
}

__global__ void __launch_bounds__(256) add_up(const int* parts, const float* x_scale, const float* weight_scale,
                                              const scalar_t* bias, scalar_t* y, int m, int n) {
  ak::add_parts<SPLIT_K>(parts, m, n, blockIdx.x * 256ll + threadIdx.x, results(x_scale, weight_scale, bias, y, n));
}
