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
    {"BM": 64, "BN": 256, "SPLIT_K": 2, "STAGES": 5, "WARPS_K": 2, "WN": 64}
  ],
  "constraints": [
    "ARCH >= 89",
    "scales != 'block' or BK == 128",
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
    {"name": "parts", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_fp8<true>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 16 == 0",
     "args": ["x", "packed", "x_scale", "weight_scale", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_fp8<false>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 16 != 0",
     "args": ["x", "packed", "x_scale", "weight_scale", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_up", "grid": ["ceil_div(M * ceil_div(N, 8), 256)"], "block": [256], "when": "SPLIT_K > 1",
     "args": ["parts", "x_scale", "weight_scale", "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T of fp8 numbers, sums in float32. `prepare` packs the weights so that 16 bytes of a lane are a matrix
// operand. The product is ak/linear_mma.cuh: weights as the A operand of mma.sync (m16n8k32), rows of x as the B
// operand, a ring of cp.async slices. Scales of blocks: fresh sums for every 128 of k are multiplied by them and added
// in float32.
//
// SPLIT_K > 1: as many blocks share a tile, each with its part of k. Their sums go to the workspace, and a second
// launch adds them up, in the same order every time. Rows of x that are no multiples of 16 bytes are copied element by
// element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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
using scalar_t = __nv_bfloat16;
#define AK_SCALES_BLOCK 1
#endif

using Weights = ak::PlainWeights<ak::e4m3>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, WARPS_K, STAGES>;

// Scales of the whole sum: of the row of x and of the line of the weight, or of both tensors. Those of blocks are
// applied to the sums of every 128 of k.
#ifdef AK_SCALES_BLOCK
constexpr bool SCALED = true;
#else
constexpr bool SCALED = false;
#endif
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
using Store = ak::StoreResults<scalar_t, SumScales>;

__device__ __forceinline__ auto scales_along_k(const float* x_scale, const float* weight_scale, int m, int n, int k) {
  if constexpr (SCALED) {
    return ak::BlockScales{x_scale, weight_scale, m, n, (k + 127) / 128};
  } else {
    return ak::NoScales();
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
    linear_fp8(const __nv_fp8_e4m3* __restrict__ x, const unsigned char* __restrict__ packed,
               const float* __restrict__ x_scale, const float* __restrict__ weight_scale, scalar_t* __restrict__ y,
               float* __restrict__ parts, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  if constexpr (SPLIT_K > 1) {
    const ak::StoreSums<float> store{parts + static_cast<long long>(blockIdx.y) * m * n, n};
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, scales_along_k(x_scale, weight_scale, m, n, k), store);
  } else {
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, scales_along_k(x_scale, weight_scale, m, n, k),
                             Store{y, n, {x_scale, weight_scale}});
  }
}

__global__ void __launch_bounds__(256)
    add_up(const float* parts, const float* x_scale, const float* weight_scale, scalar_t* y, int m, int n) {
  ak::add_parts<SPLIT_K>(parts, m, n, blockIdx.x * 256ll + threadIdx.x, Store{y, n, {x_scale, weight_scale}});
}
