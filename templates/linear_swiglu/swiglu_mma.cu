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
    "WN * BM <= 4096",
    "max(STAGES * (BM + BN) * BK * 2, BM * (BN + 4) * 4) <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "LINES": "ceil_div(N, 8) * 16",
    "PACKED_BLOCKS": "ceil_div(K, 128) * 2",
    "THREADS": "BN // WN * WARPS_K * 32",
    "SHARED": "max(STAGES * (BM + BN) * BK * 2, BM * (BN + 4) * 4)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(LINES, 64) * PACKED_BLOCKS * 8192", "prepared": true},
    {"name": "parts", "dtype": "float32", "count": "SPLIT_K * M * LINES if SPLIT_K > 1 else 0"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(LINES, 64)"], "block": [128],
     "args": ["gate", "up", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_swiglu<true>", "grid": ["ceil_div(LINES, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["x", "packed", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_swiglu<false>", "grid": ["ceil_div(LINES, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 != 0",
     "args": ["x", "packed", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_up", "grid": ["ceil_div(M * ceil_div(N, 8), 256)"], "block": [256], "when": "SPLIT_K > 1",
     "args": ["parts", "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = f(x gate^T) * (x up^T) in one product. `prepare` packs eight lines of gate and the same eight of up as 16
// lines, in the order of matrix fragments, so that both halves of a result are neighbouring sums, and the result alone
// is stored. The product is ak/linear_mma.cuh: weights as the A operand of mma.sync, rows of x as the B operand, a ring
// of cp.async slices.
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

using Weights = ak::PlainWeights<ak::Element<scalar_t>>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, WARPS_K, STAGES>;
#if defined(AK_FUNCTION_GELU)
using Store = ak::StoreGated<scalar_t, ak::geglu>;
#elif defined(AK_FUNCTION_GELU_TANH)
using Store = ak::StoreGated<scalar_t, ak::geglu_tanh>;
#else
using Store = ak::StoreGated<scalar_t>;
#endif

// A block of 64 lines by 64 of k; zeros past the ends. Of every 16 lines the first eight are of gate.
__global__ void __launch_bounds__(128)
    pack_weights(const scalar_t* gate, const scalar_t* up, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 64;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> ak::u32 {
    const int row = (first + line) / 16 * 8 + line % 8;
    const bool inside = row < n && start + at < k;
    const scalar_t* from = line % 16 < 8 ? gate : up;
    return inside ? reinterpret_cast<const ak::u16*>(from)[static_cast<long long>(row) * k + start + at] : 0;
  });
}

template <bool WIDE>
__global__ void __launch_bounds__(Tile::kThreads)
    linear_swiglu(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed, scalar_t* __restrict__ y,
                  float* __restrict__ parts, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  const int lines = (n + 7) / 8 * 16;
  if constexpr (SPLIT_K > 1) {
    const ak::StoreSums<float> store{parts + static_cast<long long>(blockIdx.y) * m * lines, lines};
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, lines, k, ak::NoScales(), store);
  } else {
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, lines, k, ak::NoScales(), Store{y, n});
  }
}

__global__ void __launch_bounds__(256) add_up(const float* parts, scalar_t* y, int m, int n) {
  ak::add_parts<SPLIT_K>(parts, m, (n + 7) / 8 * 16, blockIdx.x * 256ll + threadIdx.x, Store{y, n});
}
