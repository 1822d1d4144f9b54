/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128, 256], "default": 64},
    "BN": {"values": [32, 64, 96, 128], "default": 64},
    "WARPS": {"values": [4, 8], "default": 4},
    "STAGES": {"values": [2, 3, 4], "default": 2},
    "Q_REGISTERS": {"values": [0, 1], "default": 0},
    "SLACK": {"values": [0, 8], "default": 8},
    "HEADS": {"values": [1, 4, 16], "default": 1}
  },
  "constraints": [
    "ARCH >= 80",
    "16 * WARPS <= BM <= 32 * WARPS",
    "BM // (16 * WARPS) * (D + BN + (D // 2 if Q_REGISTERS else 0)) <= 400",
    "(BM + STAGES * BN) * D * 2 <= SHARED_BYTES_PER_BLOCK"
  ],
  "launches": [
    {"kernel": "attention_mma", "grid": ["ceil_div(S, BM) * H * B"], "block": ["WARPS * 32"],
     "shared_bytes": "(BM + STAGES * BN) * D * 2",
     "args": ["q", "k", "v", "o", "lse", {"i32": "B * H"}, {"i32": "H"}, {"i32": "G"}, {"i32": "S"}, {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// o = softmax(q k^T / sqrt(D)) v in one pass over the keys, with the matrix units of Ampere and later. A block takes BM
// queries of one head and walks the tiles of BN keys from the last one down, so that those with a mask come first. Each
// warp has BM / WARPS queries for itself: their scores, probabilities and results stay in its registers.
//
//   shared memory:  queries (BM lines) | tile | tile | ... STAGES of them, of k and of v in turn, filled by cp.async
//   a warp, for every tile:  scores = q k^T  ->  p = 2^(scores * SCALE - shift)  ->  sums += p, results += p v
//
// shift is the running maximum of a query's scores in powers of two. Results are rescaled only where a tile raises the
// maximum of some query of the warp by more than SLACK: a stale shift is as good while 2^SLACK is far from overflow.
// Lines hold 16-byte chunks, exchanged so that any 8 neighbouring lines have the same chunk in different banks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/mma.cuh>
#include <ak/reduce.cuh>
#include <ak/threads.cuh>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 64;
constexpr int WARPS = 4;
constexpr int STAGES = 2;
constexpr bool Q_REGISTERS = false;
constexpr int SLACK = 8;
constexpr int HEADS = 1;
constexpr int D = 128;
constexpr bool CAUSAL = false;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

constexpr int THREADS = WARPS * 32;
constexpr int BLOCKS_M = BM / (16 * WARPS);  // of 16 queries, for each warp
constexpr int LINE = D * 2;                  // bytes
constexpr int TILE = BN * LINE;
constexpr int SPAN = D % 64 == 0 ? 8 : 4;  // chunks among which a line's are exchanged
constexpr unsigned int ALL_LANES = 0xffffffffu;

using ak::u32;
using element = ak::Element<scalar_t>;

// ---- lines in shared memory

__device__ __forceinline__ u32 swizzle(int line) { return (SPAN == 8 ? line % 8 : line / 2 % 4) * 16; }
// Where chunk 0 or 1 of a line lies; `across` leads from there to the chunk so many further on. Lines 16 further down
// are swizzled alike.
__device__ __forceinline__ u32 place(int line, int chunk) { return line * LINE + (chunk * 16 ^ swizzle(line)); }
__device__ __forceinline__ u32 across(u32 address, int chunks) {
  return (address ^ chunks % SPAN * 16) + chunks / SPAN * SPAN * 16;
}

// Lines from `count` on are zero.
template <int LINES>
__device__ __forceinline__ void fetch(u32 to, const scalar_t* from, int count) {
  constexpr int STEP = THREADS / SPAN;
  const int line = threadIdx.x / SPAN, chunk = threadIdx.x % SPAN;
  const u32 address = to + line * LINE + (chunk * 16 ^ swizzle(line));
  const scalar_t* source = from + line * D + chunk * 8;
#pragma unroll
  for (int i = 0; i < LINES; i += STEP) {
    if (LINES % STEP != 0 && line + i >= LINES) break;
    const bool inside = line + i < count;
#pragma unroll
    for (int c = 0; c < D / 8; c += SPAN) {
      ak::copy_async<16, 128>(address + i * LINE + c * 16, inside ? source + i * D + c * 8 : from, inside);
    }
  }
}

// ---- one head

struct Place {
  int tile, head, key_head;  // tile of queries; heads are those of all batches
};

// Blocks take the tiles of HEADS heads together, so that these share keys in L2, and of a causal head the long ones
// first, so that none is left to run alone at the end.
__device__ __forceinline__ Place find_place(int heads, int h, int g, int s) {
  const int tiles = (s + BM - 1) / BM, block = blockIdx.x;
  const int group = block / (HEADS * tiles), within = block - group * HEADS * tiles;
  const int width = min(HEADS, heads - group * HEADS);
  const int head = group * HEADS + within % width;
  return {tiles - 1 - within / width, head, head / h * g + head % h / (h / g)};
}

struct Walk {
  const scalar_t *k, *v;
  u32 ring;
  int tiles, t;

  // Copy number `turn`: k and v of the last tile, then of the one before it, and so on. Nothing where none is left.
  __device__ __forceinline__ void start(int turn) const {
    if (turn < 2 * tiles) {
      const int first = (tiles - 1 - turn / 2) * BN;
      fetch<BN>(slot(turn), (turn % 2 == 0 ? k : v) + static_cast<long long>(first) * D, t - first);
    }
    ak::commit_copies();
  }
  __device__ __forceinline__ u32 slot(int turn) const {
    return ring + static_cast<u32>(turn) % static_cast<u32>(STAGES) * TILE;
  }
  // Waits for a copy, and starts the one that takes the place of the copy before it, which all warps have read.
  __device__ __forceinline__ u32 next(int turn) const {
    ak::wait_copies<STAGES - 2>();
    __syncthreads();
    start(turn + STAGES - 1);
    return slot(turn);
  }
};

struct Queries {
  u32 address;  // of the lane's line
  u32 kept[BLOCKS_M][D / 16][4];  // only with Q_REGISTERS

  __device__ __forceinline__ void keep() {
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
      for (int step = 0; step < D / 16; ++step) ak::load_matrices(kept[m][step], across(address, step * 2) + m * 16 * LINE);
    }
  }
  __device__ __forceinline__ void get(u32 (&a)[4], int m, int step) const {
    if constexpr (Q_REGISTERS) {
      for (int i = 0; i < 4; ++i) a[i] = kept[m][step][i];
    } else {
      ak::load_matrices(a, across(address, step * 2) + m * 16 * LINE);
    }
  }
};

// Sums of the matrix units: [0], [1] are neighbouring columns of line lane / 4, [2], [3] those 8 lines below.
using Scores = float[BLOCKS_M][BN / 8][4];
using Results = float[BLOCKS_M][D / 8][4];
using PerLine = float[BLOCKS_M][2];

__device__ __forceinline__ void multiply_keys(const Queries& queries, u32 tile, Scores& scores) {
  const int lane = threadIdx.x % 32;
  const u32 address = tile + place(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int n = 0; n < BN / 8; ++n) scores[m][n][0] = scores[m][n][1] = scores[m][n][2] = scores[m][n][3] = 0.0f;
  }
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    u32 a[BLOCKS_M][4];
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) queries.get(a[m], m, step);
#pragma unroll
    for (int n = 0; n < BN / 16; ++n) {
      u32 b[4];
      ak::load_matrices(b, across(address, step * 2) + n * 16 * LINE);
#pragma unroll
      for (int m = 0; m < BLOCKS_M; ++m) {
        ak::mma<element>(scores[m][2 * n], a[m], b[0], b[1]);
        ak::mma<element>(scores[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ void multiply_values(const Scores& p, u32 tile, Results& results) {
  const int lane = threadIdx.x % 32;
  const u32 address = tile + place(lane % 16, lane / 16);
#pragma unroll
  for (int step = 0; step < BN / 16; ++step) {
    u32 a[BLOCKS_M][4];
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* two = &p[m][2 * step + i / 2][i % 2 * 2];
        a[m][i] = ak::pack_pair<element>(two[0], two[1]);
      }
    }
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      u32 b[4];
      ak::load_matrices_transposed(b, across(address, n * 2) + step * 16 * LINE);
#pragma unroll
      for (int m = 0; m < BLOCKS_M; ++m) {
        ak::mma<element>(results[m][2 * n], a[m], b[0], b[1]);
        ak::mma<element>(results[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// query: of the lane's first line; first: key of the tile.
__device__ __forceinline__ void mask(Scores& scores, int query, int first, int s, int t) {
  const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int seen = CAUSAL ? min(t, query + m * 16 + half * 8 + t - s + 1) : t;
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (column + n * 8 + i >= seen) scores[m][n][half * 2 + i] = ak::minus_infinity();
        }
      }
    }
  }
}

// Powers of two of the scores times this are their exponentials.
__device__ __forceinline__ float scale() { return 1.4426950408889634f / sqrtf(static_cast<float>(D)); }

__device__ __forceinline__ void raise_shifts(const Scores& scores, PerLine& shifts, PerLine& sums, Results& results) {
  PerLine tops;
  bool raised = false;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = ak::minus_infinity();
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) top = fmaxf(top, fmaxf(scores[m][n][half * 2], scores[m][n][half * 2 + 1]));
      tops[m][half] = ak::reduce_quad(top, ak::Maximum()) * scale();
      raised |= tops[m][half] > shifts[m][half] + SLACK;
    }
  }
  if (!__any_sync(ALL_LANES, raised)) return;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float shift = fmaxf(shifts[m][half], tops[m][half]);
      const float factor = shift == shifts[m][half] ? 1.0f : ak::fast_exp2(shifts[m][half] - shift);
      shifts[m][half] = shift;
      sums[m][half] *= factor;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) results[m][n][half * 2] *= factor, results[m][n][half * 2 + 1] *= factor;
    }
  }
}

// Scores become probabilities times 2^(their logarithm - shift).
__device__ __forceinline__ void exponentiate(Scores& scores, const PerLine& shifts, PerLine& sums) {
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // No key seen yet: its scores are minus infinity, and so must be what is left of them.
      const float shift = shifts[m][half] == ak::minus_infinity() ? 0.0f : shifts[m][half];
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          scores[m][n][i] = ak::fast_exp2(fmaf(scores[m][n][i], scale(), -shift));
          sums[m][half] += scores[m][n][i];
        }
      }
    }
  }
}

// Through the warp's own lines of the queries, so that whole chunks are written. o, lse: of the warp's first query, of
// which there are `count`.
__device__ __forceinline__ void write_results(unsigned char* lines, const Results& results, const PerLine& shifts,
                                              const PerLine& sums, scalar_t* o, float* lse, int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int line = m * 16 + half * 8 + lane / 4;
      const float sum = ak::reduce_quad(sums[m][half], ak::Sum()), inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        *reinterpret_cast<u32*>(lines + across(place(line, 0), n) + lane % 4 * 4) =
            ak::pack_pair<element>(results[m][n][half * 2] * inverse, results[m][n][half * 2 + 1] * inverse);
      }
      if (lane % 4 == 0 && line < count) lse[line] = (shifts[m][half] + log2f(sum)) * 0.69314718055994531f;
    }
  }
  __syncwarp();
  for (int i = lane; i < BLOCKS_M * 16 * SPAN; i += 32) {
    const int line = i / SPAN, chunk = i % SPAN;
    if (line >= count) break;
#pragma unroll
    for (int c = 0; c < D / 8; c += SPAN) {
      const uint4 bytes = *reinterpret_cast<const uint4*>(lines + line * LINE + (chunk * 16 ^ swizzle(line)) + c * 16);
      *reinterpret_cast<uint4*>(o + static_cast<long long>(line) * D + (c + chunk) * 8) = bytes;
    }
  }
}

// q, o: [heads][s][D]; k, v: [heads / h * g][t][D]; lse: [heads][s].
__global__ void __launch_bounds__(THREADS)
    attention_mma(const scalar_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                  scalar_t* __restrict__ o, float* __restrict__ lse, int heads, int h, int g, int s, int t) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = ak::shared_address(memory);
  const int lane = threadIdx.x % 32, warp_line = threadIdx.x / 32 * BLOCKS_M * 16;
  const Place at = find_place(heads, h, g, s);
  const int first_query = at.tile * BM;
  // Keys that the block's last query sees, and those that all its queries see.
  const int end = CAUSAL ? max(min(first_query + BM, s) + t - s, 0) : t;
  const int for_all = CAUSAL ? max(min(first_query + t - s + 1, t), 0) : t;
  const long long keys = static_cast<long long>(at.key_head) * t * D;
  const long long first_line = static_cast<long long>(at.head) * s + first_query;
  const Walk walk{k + keys, v + keys, shared + BM * LINE, (end + BN - 1) / BN, t};

  fetch<BM>(shared, q + first_line * D, s - first_query);
  for (int turn = 0; turn < STAGES - 1; ++turn) walk.start(turn);
  Queries queries;
  queries.address = shared + place(warp_line + lane % 16, lane / 16);
  if constexpr (Q_REGISTERS) {
    ak::wait_copies<STAGES - 2>();
    __syncthreads();
    queries.keep();
  }

  Results results = {};
  PerLine shifts, sums = {};
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) shifts[m][0] = shifts[m][1] = ak::minus_infinity();
  for (int i = 0; i < walk.tiles; ++i) {
    const int first = (walk.tiles - 1 - i) * BN;
    Scores scores;
    multiply_keys(queries, walk.next(2 * i), scores);
    if (first + BN > for_all) mask(scores, first_query + warp_line + lane / 4, first, s, t);
    raise_shifts(scores, shifts, sums, results);
    exponentiate(scores, shifts, sums);
    multiply_values(scores, walk.next(2 * i + 1), results);
  }

  ak::wait_copies<0>();  // without any key the queries may still be on their way
  __syncthreads();
  const long long line = first_line + warp_line;
  write_results(memory + warp_line * LINE, results, shifts, sums, o + line * D, lse + line,
                s - first_query - warp_line);
}
