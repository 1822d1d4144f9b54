/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128, 192, 256], "default": 128},
    "CONSUMERS": {"values": [1, 2, 3, 4], "default": 2},
    "K_GROUPS": {"values": [1, 2, 4], "default": 1},
    "BLOCKS": {"values": [1, 2], "default": 1},
    "BK": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [2, 3, 4, 5, 6, 8], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 1},
    "SHARE": {"values": [1, 2], "default": 1},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "starts": [
    {"BK": 128, "STAGES": 3},
    {"STAGES": 6}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
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
    "PACKED_BLOCKS": "ceil_div(K, 128) * 2",
    "LINES_OF_BLOCK": "CONSUMERS // K_GROUPS * BLOCKS * 64",
    "STAGE_BYTES": "(BM + LINES_OF_BLOCK) * BK * 2",
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
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["2 * K"], "box": [64, "BM // SHARE"]}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear", "grid": ["CLUSTERS * SPLIT_K * SHARE"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["SPLIT_K * SHARE"], "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["map_x", "x", "packed", "bias", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_any", "grid": ["ceil_div(N, 64) * ceil_div(M, 32)"], "block": [128],
     "shared_bytes": "2 * (32 + 64) * 64 * 2", "when": "K % 8 != 0",
     "args": ["x", "packed", "bias", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = activation(x W^T + bias) on Hopper's matrix units. `prepare` packs the weights so that 16 bytes of a lane are a
// matrix operand, which wgmma takes from registers. The product is ak/linear_wgmma.cuh: out^T = W x^T, so that BM rows
// of x, 8 to 256, are the instruction's columns; slices come by the tensor memory accelerator. SPLIT_K blocks of a
// cluster share a tile along k and add up in each other's shared memory; SHARE blocks of a cluster share rows of x.
// Rows of x that are no multiples of 16 bytes cannot be described to the accelerator: they take linear_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>
#include <ak/epilogue.cuh>
#include <ak/functions.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_wgmma.cuh>
#include <ak/packed_weights.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 128;
constexpr int CONSUMERS = 2;
constexpr int K_GROUPS = 1;
constexpr int BLOCKS = 1;
constexpr int BK = 64;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 1;
constexpr int SHARE = 1;
constexpr int GROUP = 8;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::PlainWeights<ak::Element<scalar_t>>;
using Layer = ak::LinearWgmma<Weights, CONSUMERS, BLOCKS, BM, BK, STAGES, SPLIT_K, SHARE, GROUP, K_GROUPS, 0, false,
                              ak::LinearEnd::exchange>;

// Results of these sums: bias, then the activation; fast, and good for 16 bits.
__device__ __forceinline__ float activate(float x) {
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
using Step = ak::Chain<ak::AddBias<scalar_t>, ak::Apply<activate>>;
using Store = ak::StoreResults<scalar_t, Step>;

// A block of 64 lines by 64 of k; zeros past the ends.
__global__ void __launch_bounds__(128) pack_weights(const scalar_t* weight, unsigned char* packed, int n, int k) {
  const int first = blockIdx.y * 64, start = blockIdx.x * 64;
  unsigned char* block = packed + (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x) * Weights::kBytes;
  ak::pack_block<Weights>(block, [&](int line, int at) -> ak::u32 {
    const bool inside = first + line < n && start + at < k;
    return inside ? reinterpret_cast<const ak::u16*>(weight)[static_cast<long long>(first + line) * k + start + at] : 0;
  });
}

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear(const __grid_constant__ CUtensorMap map_x, const scalar_t* __restrict__ x,
           const unsigned char* __restrict__ packed, const scalar_t* __restrict__ bias, scalar_t* __restrict__ y, int m,
           int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::prefetch_together<CONSUMERS * 128>(x, static_cast<long long>(m) * k);
  ak::prefetch_together<CONSUMERS * 128>(bias, n);
  Layer::run(memory, &map_x, packed, m, n, k, ak::NoScales(), Store{y, n, {{bias}, {}}});
}

// Any shape: tiles of 64 lines by 32 rows with mma.sync, of the same packed weights.
__global__ void __launch_bounds__(128)
    linear_any(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed,
               const scalar_t* __restrict__ bias, scalar_t* __restrict__ y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::LinearMma<Weights, 64, 32, 64, 16, 1, 2>::run<false>(memory, x, packed, m, n, k, ak::NoScales(),
                                                           Store{y, n, {{bias}, {}}});
}
