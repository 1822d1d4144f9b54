/* alphakernel
{
  "tunables": {
    "BM": {"values": [8, 16, 32, 64, 128, 256], "default": 16},
    "CONSUMERS": {"values": [1, 2, 3, 4], "default": 2},
    "K_GROUPS": {"values": [1, 2, 4], "default": 1},
    "BLOCKS": {"values": [1, 2], "default": 1},
    "BK": {"values": [128, 256], "default": 128},
    "STAGES": {"values": [2, 3, 4, 5, 6, 7, 8], "default": 4},
    "SPLIT_K": {"values": [1, 2, 4, 8], "default": 4},
    "SHARE": {"values": [1, 2], "default": 1},
    "GROUP": {"values": [1, 8], "default": 8}
  },
  "starts": [
    {"BK": 256, "BM": 8, "CONSUMERS": 4, "K_GROUPS": 4, "SPLIT_K": 2, "STAGES": 8},
    {"BK": 256, "K_GROUPS": 2, "SPLIT_K": 2, "STAGES": 8},
    {"BM": 128, "CONSUMERS": 1, "SPLIT_K": 2}
  ],
  "constraints": [
    "ARCH == 90",
    "BLOCKS * (BM // 2 + 32) + 48 <= (112 if CONSUMERS == 4 else 152 if CONSUMERS == 3 else 224)",
    "SPLIT_K == 1 or SHARE == 1",
    "BM // SHARE >= 8",
    "SPLIT_K == 1 or GROUP == 8",
    "CONSUMERS % K_GROUPS == 0",
    "K_GROUPS == 1 or BM <= 128 and BLOCKS == 1 and SHARE == 1 and GROUP == 8 and SPLIT_K * K_GROUPS <= 8",
    "K_GROUPS < STAGES",
    "SHARED <= 232448",
    "STAGES in [4, 8] or SHARED + STAGE_BYTES + 16 > 232448"
  ],
  "let": {
    "BLOCK_BYTES": "4352 if zero_points else 4224",
    "PACKED_BLOCKS": "ceil_div(K, 256) * 2",
    "LINES_OF_BLOCK": "CONSUMERS // K_GROUPS * BLOCKS * 64",
    "STAGE_BYTES": "round_up(BM * BK * 2 + LINES_OF_BLOCK // 64 * (BK // 128) * BLOCK_BYTES, 1024)",
    "RING": "STAGES * STAGE_BYTES",
    "MEET": "SPLIT_K * K_GROUPS > 1",
    "SUMS": "CONSUMERS * BLOCKS * 64 * (BM * 4 if MEET else min(BM, 32) * 2)",
    "SHARED": "1024 + (max(RING, SUMS) if MEET else RING + SUMS) + STAGES * 16",
    "TILES": "ceil_div(N, LINES_OF_BLOCK * SHARE) * ceil_div(M, BM)",
    "CLUSTERS": "TILES if MEET else min(TILES, SM_COUNT // SHARE)"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * BLOCK_BYTES", "prepared": true}
  ],
  "tensor_maps": [
    {"name": "map_x", "tensor": "x", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["K", "M"], "strides_bytes": ["2 * K"], "box": [64, "BM // SHARE"]}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "scale", {"optional": "zero"}, "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_w4a16", "grid": ["CLUSTERS * SPLIT_K * SHARE"], "block": ["(CONSUMERS + 1) * 128"],
     "cluster": ["SPLIT_K * SHARE"], "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["map_x", "x", "packed", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_any", "grid": ["ceil_div(N, 64) * ceil_div(M, 32)"], "block": [128],
     "shared_bytes": "2 * (32 * 256 + BLOCK_BYTES)", "when": "K % 8 != 0",
     "args": ["x", "packed", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T with weights of 4 bits in groups of 128, on Hopper's matrix units. `prepare` packs weights, scales and zero
// points so that 16 bytes of a lane are four matrix operands; numbers become 16-bit operands in registers (lop3,
// subtraction, scale), which wgmma takes from there. The product is ak/linear_wgmma.cuh: out^T = W x^T, so that BM rows
// of x, 8 to 256, are the narrow side; slices come by the tensor memory accelerator; SPLIT_K blocks of a cluster share
// a tile along k and add up in each other's shared memory. Rows of x that are no multiples of 16 bytes cannot be
// described to the accelerator: they take linear_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/elements.cuh>
#include <ak/linear_mma.cuh>
#include <ak/linear_results.cuh>
#include <ak/linear_wgmma.cuh>
#include <ak/packed_weights.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 16;
constexpr int CONSUMERS = 2;
constexpr int K_GROUPS = 1;
constexpr int BLOCKS = 1;
constexpr int BK = 128;
constexpr int STAGES = 4;
constexpr int SPLIT_K = 4;
constexpr int SHARE = 1;
constexpr int GROUP = 8;
constexpr bool ZERO_POINTS = false;
using scalar_t = __nv_bfloat16;
#endif

using Weights = ak::Int4Weights<ak::Element<scalar_t>, ZERO_POINTS>;
using Layer = ak::LinearWgmma<Weights, CONSUMERS, BLOCKS, BM, BK, STAGES, SPLIT_K, SHARE, GROUP, K_GROUPS, 0, false,
                              ak::LinearEnd::exchange>;
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

__global__ void __launch_bounds__(Layer::kThreads, 1)
    linear_w4a16(const __grid_constant__ CUtensorMap map_x, const scalar_t* __restrict__ x,
                 const unsigned char* __restrict__ packed, scalar_t* __restrict__ y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::prefetch_together<CONSUMERS * 128>(x, static_cast<long long>(m) * k);
  Layer::run(memory, &map_x, packed, m, n, k, ak::NoScales(), Store{y, n, {}});
}

// Any shape: tiles of 64 lines by 32 rows with mma.sync, of the same packed weights.
__global__ void __launch_bounds__(128)
    linear_any(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed, scalar_t* __restrict__ y,
               int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char memory[];
  ak::LinearMma<Weights, 64, 32, 128, 16, 1, 2>::run<false>(memory, x, packed, m, n, k, ak::NoScales(),
                                                            Store{y, n, {}});
}
