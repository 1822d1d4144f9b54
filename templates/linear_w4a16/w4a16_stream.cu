/* alphakernel
{
  "tunables": {
    "ROWS": {"values": [8, 16], "default": 8},
    "STRIPS": {"values": [2, 4], "default": 2},
    "GROUPS": {"values": [1, 2], "default": 2},
    "WARPS_N": {"values": [1, 2], "default": 1},
    "WARPS_K": {"values": [8, 16, 32], "default": 16},
    "SPLIT_K": {"values": [1, 2, 4], "default": 1}
  },
  "starts": [
    {"SPLIT_K": 2, "STRIPS": 4, "WARPS_K": 8},
    {"GROUPS": 1, "ROWS": 16},
    {"ROWS": 16, "SPLIT_K": 2, "STRIPS": 4, "WARPS_K": 8}
  ],
  "constraints": [
    "ARCH >= 90",
    "WARPS_N * WARPS_K <= 32",
    "STRIPS * GROUPS * 8 + ROWS * GROUPS * 2 + ROWS // 2 * STRIPS * GROUPS + 24 <= 65536 // THREADS",
    "SHARED <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "BLOCK_BYTES": "4352 if zero_points else 4224",
    "PACKED_BLOCKS": "ceil_div(K, 256) * 2",
    "THREADS": "WARPS_N * WARPS_K * 32",
    "LINES": "WARPS_N * STRIPS * 16",
    "SHARED": "(WARPS_K * ROWS * (LINES + 4) + (ROWS * LINES if SPLIT_K > 1 else 0)) * 4"
  },
  "workspace": [
    {"name": "packed", "dtype": "uint8", "count": "ceil_div(N, 64) * PACKED_BLOCKS * BLOCK_BYTES", "prepared": true}
  ],
  "prepare": [
    {"kernel": "pack_weights", "grid": ["PACKED_BLOCKS", "ceil_div(N, 64)"], "block": [128],
     "args": ["weight", "scale", {"optional": "zero"}, "packed", {"i32": "N"}, {"i32": "K"}]}
  ],
  "launches": [
    {"kernel": "linear_w4a16<true>", "grid": ["ceil_div(N, LINES) * ceil_div(M, ROWS) * SPLIT_K"], "block": ["THREADS"],
     "cluster": ["SPLIT_K"], "shared_bytes": "SHARED", "when": "K % 8 == 0",
     "args": ["x", "packed", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]},
    {"kernel": "linear_w4a16<false>", "grid": ["ceil_div(N, LINES) * ceil_div(M, ROWS) * SPLIT_K"], "block": ["THREADS"],
     "cluster": ["SPLIT_K"], "shared_bytes": "SHARED", "when": "K % 8 != 0",
     "args": ["x", "packed", "y", {"i32": "M"}, {"i32": "N"}, {"i32": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T with weights of 4 bits in groups of 128, for so few rows that reading the weights is all there is to do.
// Every warp asks for all of its weights and rows of x at once, straight to registers: 16 lines times STRIPS by 128
// times GROUPS of k. Nothing is staged or waited for in between, so that a launch has as many bytes under way as it has
// registers. `prepare` packs weights in the order of mma.sync's operands, and within 32 of k in that in which 16 bytes
// of a row of x are operands, too. Products are of the numbers less their zero points; a group's sums are multiplied by
// its scale.
//
// The sums of WARPS_K warps meet in shared memory, those of SPLIT_K blocks of a cluster in that of the block that
// writes them: in the order of k, the same every time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/clusters.cuh>
#include <ak/elements.cuh>
#include <ak/mma.cuh>
#include <ak/packed_weights.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int ROWS = 8;
constexpr int STRIPS = 2;
constexpr int GROUPS = 2;
constexpr int WARPS_N = 1;
constexpr int WARPS_K = 16;
constexpr int SPLIT_K = 1;
constexpr bool ZERO_POINTS = false;
using scalar_t = __nv_bfloat16;
#endif

using X = ak::Element<scalar_t>;
using Weights = ak::Int4Weights<X, ZERO_POINTS>;
using ak::u32;
constexpr int kThreads = WARPS_N * WARPS_K * 32, kLines = WARPS_N * STRIPS * 16, kPitch = kLines + 4;
constexpr int kEights = ROWS / 8;  // of rows, a product's columns

// Place in k, within a group, of what is operand `at` of it: of 32, a lane has 8 neighbours.
__device__ __forceinline__ int place_in_k(int at) {
  const int step = at / 16, half = at / 8 % 2, lane = at / 2 % 4;
  return at / 32 * 32 + lane * 8 + step % 2 * 4 + half * 2 + at % 2;
}

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
  ak::pack_block<Weights>(block, [&](int line, int at) -> u32 {
    const int i = group * 128 + place_in_k(at);
    if (first + line >= n || i >= k) return zero_of(line);
    return weight[(first + line) * static_cast<long long>(bytes) + i / 2] >> i % 2 * 4 & 15;
  });
  if (threadIdx.x < 64) {
    const int line = Weights::line_of_entry(threadIdx.x);
    const bool inside = group < groups && first + line < n;
    const u32 bits =
        inside ? reinterpret_cast<const ak::u16*>(scale)[(first + line) * static_cast<long long>(groups) + group] : 0;
    Weights::put_line(block, threadIdx.x, bits, zero_of(line));
  }
}

// Scales and zero points of lines lane / 4 and lane / 4 + 8 of 16.
struct Factors {
  float scale[2];
  u32 zero[2];
};
__device__ __forceinline__ Factors factors_at(const unsigned char* block, int sixteen) {
  const int pair = sixteen * 8 + threadIdx.x % 32 / 4;
  Factors result;
  if constexpr (ZERO_POINTS) {
    const uint2 both = __ldg(reinterpret_cast<const uint2*>(block + Weights::kTailAt) + pair);
    result.scale[0] = ak::unpack_pair<X>(both.x).x, result.scale[1] = ak::unpack_pair<X>(both.y).x;
    result.zero[0] = __byte_perm(both.x, both.x, 0x3232), result.zero[1] = __byte_perm(both.y, both.y, 0x3232);
  } else {
    const float2 both = ak::unpack_pair<X>(__ldg(reinterpret_cast<const u32*>(block + Weights::kTailAt) + pair));
    result.scale[0] = both.x, result.scale[1] = both.y;
    result.zero[0] = result.zero[1] = Weights::kMagic + 0x00080008u;
  }
  return result;
}

// Eight neighbours of a row of x, zeros past its ends. WIDE: rows are multiples of 16 bytes.
template <bool WIDE>
__device__ __forceinline__ uint4 eight_of_x(const scalar_t* x, int row, int at, int rows, int k) {
  const scalar_t* from = x + static_cast<long long>(row) * k + at;
  if constexpr (WIDE) {
    return row < rows && at < k ? __ldg(reinterpret_cast<const uint4*>(from)) : uint4{};
  } else {
    u32 words[4] = {};
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (row < rows && at + e < k) words[e / 2] |= static_cast<u32>(reinterpret_cast<const ak::u16*>(from)[e]) << e % 2 * 16;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  }
}

struct Sums {
  float d[STRIPS][kEights][4];
};

// The products of GROUPS groups from `group` on. line: the warp's first.
template <bool WIDE>
__device__ __forceinline__ void sum_groups(Sums& sums, const scalar_t* x, const unsigned char* packed, int row, int line,
                                           int group, int rows, int lines, int k) {
  const int lane = threadIdx.x % 32, blocks = Weights::blocks(k), last = (lines - 1) / 64;
  uint4 words[GROUPS][2][STRIPS];
  Factors factors[GROUPS][STRIPS];
  uint4 of_x[GROUPS][kEights][4];
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
#pragma unroll
    for (int s = 0; s < STRIPS; ++s) {
      const int strip = min((line + s * 16) / 64, last), sixteen = (line / 16 + s) % 4;
      const unsigned char* block =
          packed + (static_cast<long long>(strip) * blocks + min(group + g, blocks - 1)) * Weights::kBytes;
#pragma unroll
      for (int unit = 0; unit < 2; ++unit) {
        words[g][unit][s] = __ldcs(reinterpret_cast<const uint4*>(block) + (unit * 4 + sixteen) * 32 + lane);
      }
      factors[g][s] = factors_at(block, sixteen);
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        of_x[g][e][c] =
            eight_of_x<WIDE>(x, row + e * 8 + lane / 4, (group + g) * 128 + c * 32 + lane % 4 * 8, rows, k);
      }
    }
  }
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    Sums parts = {};
#pragma unroll
    for (int step = 0; step < 8; ++step) {
#pragma unroll
      for (int s = 0; s < STRIPS; ++s) {
        u32 a[4];
        Weights::numbers(a, words[g][step / 4][s], step % 4, factors[g][s].zero);
#pragma unroll
        for (int e = 0; e < kEights; ++e) {
          const uint4& of_row = of_x[g][e][step / 2];
          ak::mma<X>(parts.d[s][e], a, ak::word_of(of_row, step % 2 * 2), ak::word_of(of_row, step % 2 * 2 + 1));
        }
      }
    }
#pragma unroll
    for (int s = 0; s < STRIPS; ++s) {
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
#pragma unroll
        for (int i = 0; i < 4; ++i) sums.d[s][e][i] += parts.d[s][e][i] * factors[g][s].scale[i / 2];
      }
    }
  }
}

template <bool WIDE>
__global__ void __launch_bounds__(kThreads, 1)
    linear_w4a16(const scalar_t* __restrict__ x, const unsigned char* __restrict__ packed, scalar_t* __restrict__ y,
                 int m, int n, int k) {
  extern __shared__ __align__(16) float staged[];  // [warp along k][row][line], then [block of the cluster][row][line]
  const int across = (m + ROWS - 1) / ROWS, tile = blockIdx.x / SPLIT_K, rank = blockIdx.x % SPLIT_K;
  const int row = tile % across * ROWS, line = tile / across * kLines, rows = min(ROWS, m - row);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warp_n = warp % WARPS_N, warp_k = warp / WARPS_N;
  if constexpr (SPLIT_K > 1) ak::cluster_arrive();  // that all blocks have begun is asked for below

  // A warp's sums of all its rounds, of which there is one where the launch has a warp for all GROUPS groups.
  const int groups = (k + 127) / 128;
  for (int round = 0; round == 0 || round * SPLIT_K * WARPS_K * GROUPS < groups; ++round) {
    const int group = ((round * SPLIT_K + rank) * WARPS_K + warp_k) * GROUPS;
    Sums sums = {};
    sum_groups<WIDE>(sums, x, packed, row, line + warp_n * STRIPS * 16, group, m, n, k);
#pragma unroll
    for (int s = 0; s < STRIPS; ++s) {
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int at = e * 8 + lane % 4 * 2 + i % 2;
          float* to = staged + (warp_k * ROWS + at) * kPitch + (warp_n * STRIPS + s) * 16 + lane / 4 + i / 2 * 8;
          if (at < rows) *to = round == 0 ? sums.d[s][e][i] : *to + sums.d[s][e][i];
        }
      }
    }
  }
  __syncthreads();
  float* met = staged + WARPS_K * ROWS * kPitch;
  constexpr int kShare = kLines / SPLIT_K;  // lines that a block of the cluster writes
  if constexpr (SPLIT_K > 1) ak::cluster_wait();
  for (int i = threadIdx.x; i < rows * kLines; i += kThreads) {
    const int at = i / kLines, of_tile = i % kLines;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < WARPS_K; ++w) sum += staged[(w * ROWS + at) * kPitch + of_tile];
    if constexpr (SPLIT_K > 1) {
      const u32 to = ak::shared_address(met + (rank * ROWS + at) * kShare + of_tile % kShare);
      ak::store_remote(ak::remote_address(to, of_tile / kShare), sum);
    } else {
      if (line + of_tile < n) y[static_cast<long long>(row + at) * n + line + of_tile] = static_cast<scalar_t>(sum);
    }
  }
  if constexpr (SPLIT_K > 1) {
    ak::cluster_sync();
    for (int i = threadIdx.x; i < rows * kShare; i += kThreads) {
      const int at = i / kShare, column = line + rank * kShare + i % kShare;
      float sum = 0;
#pragma unroll
      for (int from = 0; from < SPLIT_K; ++from) sum += met[(from * ROWS + at) * kShare + i % kShare];
      if (column < n) y[static_cast<long long>(row + at) * n + column] = static_cast<scalar_t>(sum);
    }
  }
}
