/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128, 192, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2, 3, 4], "default": 2},
    "K_GROUPS": {"values": [1, 2, 4], "default": 1},
    "BLOCKS": {"values": [1, 2], "default": 1},
    "BK": {"values": [128, 256], "default": 128},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1},
    "SHARE": {"values": [1, 2], "default": 1},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "starts": [
    {"CONSUMERS": 1, "SPLIT_K": 2, "STAGES": 8},
    {"BM": 256}
  ],
  "constraints": [
    "ARCH == 90",
    "BLOCKS * (BM // 2 + 16) + 48 <= (104 if CONSUMERS == 4 else 152 if CONSUMERS == 3 else 224)",
    "SPLIT_K == 1 or SHARE == 1",
    "BM // SHARE >= 8",
    "SPLIT_K == 1 or GROUP == 8",
    "CONSUMERS % K_GROUPS == 0",
    "K_GROUPS == 1 or BM <= 128 and BLOCKS == 1 and SHARE == 1 and GROUP == 8 and SPLIT_K * K_GROUPS <= 8",
    "K_GROUPS < STAGES",
    "SHARED <= 232448",
    "STAGES in [4, 8] or SHARED + (2 if STAGES == 6 else 1) * (STAGE_BYTES + 16) > 232448"
  ],
  "let": {
    "PACKED_BLOCKS": "ceil_div(K, 256) * 2",
    "LINES_OF_BLOCK": "CONSUMERS // K_GROUPS * BLOCKS * 64",
    "STAGE_BYTES": "(BM + LINES_OF_BLOCK) * BK",
    "RING": "STAGES * STAGE_BYTES",
    "MEET": "SPLIT_K * K_GROUPS > 1",
    "SUMS": "CONSUMERS * BLOCKS * 64 * (BM * 4 if MEET else min(BM, 32) * 2)",
    "SHARED": "1024 + (max(RING, SUMS) if MEET else RING + SUMS) + STAGES * 16",
    "TILES": "ceil_div(N, LINES_OF_BLOCK * SHARE) * ceil_div(M, BM)",
    "CLUSTERS": "TILES if MEET else min(TILES, SM_COUNT // SHARE)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * 8192", "prepared": true}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "uint8", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["K"], "box": [128, "BM // SHARE"]}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_int8", "grid": ["CLUSTERS * SPLIT_K * SHARE"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["SPLIT_K * SHARE"], "shared_bytes": "SHARED", "when": "K % 16 == 0",
     "args": ["map_x", "x", "packed", "x_scale", "weight_scale", {"optional": "bias"}, "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_any", "grid": ["ceil_div(N, 64) * ceil_div(M, 32)"], "block": [128],
     "shared_bytes": "2 * (32 + 64) * 128", "when": "K % 16 != 0",
     "args": ["x", "packed", "x_scale", "weight_scale", {"optional": "bias"}, "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T of bytes on Hopper's matrix units, sums in int32, scales of rows and columns in the epilogue. `prepare`
// packs the weights so that 16 bytes of a lane are a matrix operand, which wgmma takes from registers. The product is
// ak/linear_wgmma.cuh: out^T = W x^T, so that BM rows of x, 8 to 256, are the instruction's columns; slices come by the
// tensor memory accelerator. SPLIT_K blocks of a cluster share a tile along k and add up in each other's shared memory;
// SHARE blocks of a cluster share rows of x. Rows of x that are no multiples of 16 bytes cannot be described to the
// accelerator: they take linear_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/epilogue.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_wgmma.cuh>
#include <ak/packed_weights.cuh>
#include <ak/wgmma_int8.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int CONSUMERS = 2;
constexpr int K_GROUPS = 1;
constexpr int BLOCKS = 1;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 1;
constexpr int SHARE = 1;
constexpr int GROUP = 8;
constexpr bool BIAS = false;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::PlainWeights<ak::s8>;
using Layer = ak::LinearWgmma<Weights, CONSUMERS, BLOCKS, BM, BK, STAGES, SPLIT_K, SHARE, GROUP, K_GROUPS, 0, false,
                              ak::LinearEnd::exchange>;

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

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear_int8(const __grid_constant__ CUtensorMap map_x, const signed char* __restrict__ x,
                const unsigned char* __restrict__ packed, const float* __restrict__ x_scale,
                const float* __restrict__ weight_scale, const scalar_t* __restrict__ bias, scalar_t* __restrict__ y,
                int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::prefetch_together<CONSUMERS * 128>(x, static_cast<long long>(m) * k);
  ak::prefetch_together<CONSUMERS * 128>(weight_scale, n);
  ak::prefetch_together<CONSUMERS * 128>(x_scale, m);
  if constexpr (BIAS) ak::prefetch_together<CONSUMERS * 128>(bias, n);
  Layer::run(memory, &map_x, packed, m, n, k, ak::NoScales(), results(x_scale, weight_scale, bias, y, n));
}

// Any shape: tiles of 64 lines by 32 rows with mma.sync, of the same packed weights.
__global__ void __launch_bounds__(128)
    linear_any(const signed char* __restrict__ x, const unsigned char* __restrict__ packed,
               const float* __restrict__ x_scale, const float* __restrict__ weight_scale,
               const scalar_t* __restrict__ bias, scalar_t* __restrict__ y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::LinearMma<Weights, 64, 32, 128, 16, 1, 2>::run<false>(memory, x, packed, m, n, k, ak::NoScales(),
                                                            results(x_scale, weight_scale, bias, y, n));
}
