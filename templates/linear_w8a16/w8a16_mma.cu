/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128], "default": 32},
    "BN": {"values": [64, 128, 256], "default": 128},
    "WN": {"values": [16, 32, 64], "default": 32},
    "WARPS_K": {"values": [1, 2, 4], "default": 1},
    "BK": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [4, 5], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1}
  },
  "constraints": [
    "ARCH >= 80",
    "BN // WN * WARPS_K in [4, 8]",
    "BK // 32 % WARPS_K == 0",
    "WN * BM <= 4096",
    "max(STAGES * (BM * 2 + BN) * BK, BM * (BN + 4) * 4) <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "PACKED_BLOCKS": "ceil_div(K, 128) * 2",
    "THREADS": "BN // WN * WARPS_K * 32",
    "SHARED": "max(STAGES * (BM * 2 + BN) * BK, BM * (BN + 4) * 4)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * 4096", "prepared": true},
    {"name": "parts", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_w8a16<true>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["x", "packed", "scale", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_w8a16<false>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 != 0",
     "args": ["x", "packed", "scale", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_up", "grid": ["ceil_div(M * ceil_div(N, 8), 256)"], "block": [256], "when": "SPLIT_K > 1",
     "args": ["parts", "scale", "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T with weights of 8 bits and a scale for every column of the result. `prepare` packs the weights so that 16
// bytes of a lane are two matrix operands; bytes become 16-bit operands in registers, exactly, and scales are applied
// to the sums. The product is ak/linear_mma.cuh: weights as the A operand of mma.sync, rows of x as the B operand, a
// ring of cp.async slices.
//
// SPLIT_K > 1: as many blocks share a tile, each with its part of k. Their sums go to the workspace, and a second
// launch adds them up, in the same order every time. Rows of x that are no multiples of 16 bytes are copied element by
// element.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/packed_weights.cuh>
#include <ak/tiles.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 32;
constexpr int BN = 128;
constexpr int WN = 32;
constexpr int WARPS_K = 1;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 1;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::ByteWeights<ak::Element<scalar_t>>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, WARPS_K, STAGES>;

// Results of these sums: times the scales of the columns.
struct ScaleByColumn {
  const scalar_t* scale;
  __device__ __forceinline__ float operator()(float sum, int, int column) const {
    return sum * static_cast<float>(scale[column]);
  }
};
using Store = ak::StoreResults<scalar_t, ScaleByColumn>;

// A block of 64 lines by 64 of k, as number + 128; zeros past the ends.
__global__ void __launch_bounds__(128) pack_weights(const unsigned char* weight, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 64;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> ak::u32 {
    const bool inside = first + line < n && start + at < k;
    return (inside ? weight[static_cast<long long>(first + line) * k + start + at] : 0) ^ 128;
  });
}

template <bool WIDE>
__global__ void __launch_bounds__(Tile::kThreads)
    linear_w8a16(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed,
                 const scalar_t* __restrict__ scale, scalar_t* __restrict__ y, float* __restrict__ parts, int m, int n,
                 int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  if constexpr (SPLIT_K > 1) {
    const ak::StoreSums<float> store{parts + static_cast<long long>(blockIdx.y) * m * n, n};
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), store);
  } else {
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), Store{y, n, {scale}});
  }
}

__global__ void __launch_bounds__(256) add_up(const float* parts, const scalar_t* scale, scalar_t* y, int m, int n) {
  ak::add_parts<SPLIT_K>(parts, m, n, blockIdx.x * 256ll + threadIdx.x, Store{y, n, {scale}});
}
