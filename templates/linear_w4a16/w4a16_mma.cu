/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128], "default": 16},
    "BN": {"values": [64, 128, 256], "default": 128},
    "WN": {"values": [16, 32, 64], "default": 32},
    "WARPS_K": {"values": [1, 2, 4], "default": 2},
    "BK": {"values": [128, 256], "default": 128},
    "STAGES": {"values": [4, 5], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1}
  },
  "starts": [
    {"BK": 256, "BN": 256, "SPLIT_K": 8, "WARPS_K": 1, "WN": 64},
    {"BM": 64, "BN": 64, "SPLIT_K": 2}
  ],
  "constraints": [
    "ARCH >= 80",
    "BN // WN * WARPS_K in [4, 8]",
    "BK // 64 % WARPS_K == 0",
    "WN * BM <= 4096",
    "max(STAGES * (BM * BK * 2 + BN * BK // 8192 * (4352 if zero_points else 4224)), BM * (BN + 4) * 4) <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "BLOCK_BYTES": "4352 if zero_points else 4224",
    "PACKED_BLOCKS": "ceil_div(K, 256) * 2",
    "THREADS": "BN // WN * WARPS_K * 32",
    "SHARED": "max(STAGES * (BM * BK * 2 + BN * BK // 8192 * BLOCK_BYTES), BM * (BN + 4) * 4)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * BLOCK_BYTES", "prepared": true},
    {"name": "parts", "dtype": "float32", "count": "SPLIT_K * M * N if SPLIT_K > 1 else 0"}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "scale", {"optional": "zero"}, "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_w4a16<true>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["x", "packed", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_w4a16<false>", "grid": ["ceil_div(N, BN) * ceil_div(M, BM)", "SPLIT_K"], "block": ["THREADS"],
     "shared_bytes": "SHARED", "when": "K % 8 != 0",
     "args": ["x", "packed", "y", "parts", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "add_up", "grid": ["ceil_div(M * ceil_div(N, 8), 256)"], "block": [256], "when": "SPLIT_K > 1",
     "args": ["parts", "y", {"i32": "M"}, {"i32": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T with weights of 4 bits in groups of 128. `prepare` packs weights, scales and zero points so that 16 bytes
// of a lane are four matrix operands; numbers become 16-bit operands in registers (lop3, subtraction, scale). The
// product is ak/linear_mma.cuh: weights as the A operand of mma.sync, rows of x as the B operand, a ring of cp.async
// slices.
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
constexpr int BM = 16;
constexpr int BN = 128;
constexpr int WN = 32;
constexpr int WARPS_K = 2;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 1;
constexpr bool ZERO_POINTS = false;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::Int4Weights<ak::Element<scalar_t>, ZERO_POINTS>;
using Tile = ak::LinearMma<Weights, BN, BM, BK, WN, WARPS_K, STAGES>;
using Store = ak::StoreResults<scalar_t, ak::AsItIs>;

// A block of 64 lines by 128 of k, which is one group of each line. Past the ends numbers are zero points.
__global__ void __launch_bounds__(128) pack_weights(const unsigned char* weight, const scalar_t* scale,
                                                    const unsigned char* zero, unsigned char* packed, int n, int k) {
  const int bytes = (k + 1) / 2, groups = (k + 127) / 128, first = blockIdx.y * 64, group = blockIdx.x;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + group) * Weights::kBytes;
  const auto zero_of = [&](int line) {
    return zero != nullptr && group < groups && first + line < n
               ? zero[(first + line) * static_cast<long long>(groups) + group]
               : 8;
  };
  ak::pack_block<Weights>(block, [&](int line, int at) -> ak::u32 {
    const int i = group * 128 + at;
    if (first + line >= n || i >= k) return zero_of(line);
    return weight[(first + line) * static_cast<long long>(bytes) + i / 2] >> i % 2 * 4 & 15;
  });
  if (threadIdx.x < 64) {
    const int line = Weights::line_of_entry(threadIdx.x);
    const bool inside = group < groups && first + line < n;
    const ak::u32 bits =
        inside ? reinterpret_cast<const ak::u16*>(scale)[(first + line) * static_cast<long long>(groups) + group] : 0;
    Weights::put_line(block, threadIdx.x, bits, zero_of(line));
  }
}

template <bool WIDE>
__global__ void __launch_bounds__(Tile::kThreads)
    linear_w4a16(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed, scalar_t* __restrict__ y,
                 float* __restrict__ parts, int m, int n, int k) {
  extern __shared__ __align__(128) unsigned char memory[];
  if constexpr (SPLIT_K > 1) {
    const ak::StoreSums<float> store{parts + static_cast<long long>(blockIdx.y) * m * n, n};
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), store);
  } else {
    Tile::run<WIDE, SPLIT_K>(memory, x, packed, m, n, k, ak::NoScales(), Store{y, n, {}});
  }
}

__global__ void __launch_bounds__(256) add_up(const float* parts, scalar_t* y, int m, int n) {
  ak::add_parts<SPLIT_K>(parts, m, n, blockIdx.x * 256ll + threadIdx.x, Store{y, n, {}});
}
