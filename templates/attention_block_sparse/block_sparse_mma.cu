/* alphakernel
{
  "tunables": {
    "BM": {"values": [64, 128], "default": 64},
    "BN": {"values": [32, 64, 128], "default": 64},
    "WARPS": {"values": [4, 8], "default": 4},
    "STAGES": {"values": [2, 3, 4], "default": 2},
    "Q_REGISTERS": {"values": [0, 1], "default": 0},
    "SLACK": {"values": [0, 8], "default": 8}
  },
  "constraints": [
    "ARCH >= 80",
    "16 * WARPS <= BM <= 32 * WARPS",
    "BM <= block and BN <= block",
    "BM // (16 * WARPS) * (D + BN + (D // 2 if Q_REGISTERS else 0)) <= 400",
    "(BM + STAGES * BN) * D * 2 <= SHARED_BYTES_PER_BLOCK"
  ],
  "launches": [
    {"kernel": "block_sparse_mma", "grid": ["R * (block // BM) * H * B"], "block": ["WARPS * 32"],
     "shared_bytes": "(BM + STAGES * BN) * D * 2",
     "args": ["q", "k", "v", "partial_count", "full_count", "columns", "o", "lse", {"i32": "H"}, {"i32": "G"},
              {"i32": "S"}, {"i32": "T"}, {"i32": "R"}, {"i32": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Attention to the blocks of keys that lists name, in one pass over them, with the matrix units of Ampere and later. A
// block takes BM queries of one head and walks the tiles of BN keys of its list: of partial blocks, which are masked,
// then of full ones. Each warp has BM / WARPS queries for itself: their scores, probabilities and results stay in its
// registers.
//
//   shared memory:  queries (BM lines) | tile | tile | ... STAGES of them, of k and of v in turn, filled by cp.async
//   a warp, for every tile:  scores = q k^T  ->  p = 2^(scores * SCALE - shift)  ->  sums += p, results += p v
//
// shift is the running maximum of a query's scores in powers of two. Results are rescaled only where a tile raises the
// maximum of some query of the warp by more than SLACK: a stale shift is as good while 2^SLACK is far from overflow.
// Lines hold 16-byte chunks, exchanged so that any 8 neighbouring lines have the same chunk in different banks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/attention.cuh>
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
constexpr int D = 128;
constexpr int BLOCK = 128;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

constexpr int THREADS = WARPS * 32;
constexpr int BLOCKS_M = BM / (16 * WARPS);  // of 16 queries, for each warp
constexpr int LINE = D * 2;                  // bytes
constexpr int TILE = BN * LINE;
constexpr unsigned int ALL_LANES = 0xffffffffu;

using ak::u32;
using element = ak::Element<scalar_t>;

// ---- lines in shared memory

// Where chunk 0 to 7 of a line lies; `across` leads from chunk 0 or 1 to the one so many further on. Lines 16 further
// down are exchanged alike.
__device__ __forceinline__ u32 place(int line, int chunk) { return line * LINE + (chunk ^ line % 8) * 16; }
__device__ __forceinline__ u32 across(u32 address, int chunks) {
  return (address ^ chunks % 8 * 16) + chunks / 8 * 128;
}

// Lines from `count` on are zero.
template <int LINES>
__device__ __forceinline__ void fetch(u32 to, const scalar_t* from, int count) {
  constexpr int STEP = THREADS / 8;
  const int line = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const u32 address = to + place(line, chunk);
  const scalar_t* source = from + line * D + chunk * 8;
#pragma unroll
  for (int i = 0; i < LINES; i += STEP) {
    if (LINES % STEP != 0 && line + i >= LINES) break;
    const bool inside = line + i < count;
#pragma unroll
    for (int c = 0; c < D / 8; c += 8) {
      ak::copy_async<16, 128>(address + i * LINE + c * 16, inside ? source + i * D + c * 8 : from, inside);
    }
  }
}

// ---- the list of a block of queries

struct Walk {
  const scalar_t *k, *v;
  const int* columns;
  u32 ring;
  int partial, count, t;  // tiles of partial blocks; of all; keys

  // First key of a step's tile.
  __device__ __forceinline__ int first_key(int step) const {
    constexpr int TILES = BLOCK / BN;  // of a block
    return columns[step / TILES] * BLOCK + step % TILES * BN;
  }
  // Copy number `turn`: k and v of one step after the other. Nothing where none is left.
  __device__ __forceinline__ void start(int turn) const {
    if (turn < 2 * count) {
      const int first = first_key(turn / 2);
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
      for (int step = 0; step < D / 16; ++step)
        ak::load_matrices(kept[m][step], across(address, step * 2) + m * 16 * LINE);
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

// Takes away the scores of keys, counted from first, that a query does not see. query: of the lane's first line.
template <class Seen>
__device__ __forceinline__ void mask(Scores& scores, int query, int first, const Seen& seen) {
  const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int end = seen.end(query + m * 16 + half * 8);
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (column + n * 8 + i >= end) scores[m][n][half * 2 + i] = ak::minus_infinity();
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
      float sum = 0.0f;  // of the tile: keys added one by one would round thousands of times, alike where keys are
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          scores[m][n][i] = ak::fast_exp2(fmaf(scores[m][n][i], scale(), -shift));
          sum += scores[m][n][i];
        }
      }
      sums[m][half] += sum;
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
  for (int i = lane; i < BLOCKS_M * 16 * 8; i += 32) {
    const int line = i / 8, chunk = i % 8;
    if (line >= count) break;
#pragma unroll
    for (int c = 0; c < D / 8; c += 8) {
      const uint4 bytes = *reinterpret_cast<const uint4*>(lines + place(line, chunk) + c * 16);
      *reinterpret_cast<uint4*>(o + static_cast<long long>(line) * D + (c + chunk) * 8) = bytes;
    }
  }
}

// q, o: [batches][h][s][D]; k, v: [batches][g][t][D]; counts: [h][rows]; columns: [h][rows][width]; lse:
// [batches][h][s].
__global__ void __launch_bounds__(THREADS)
    block_sparse_mma(const scalar_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                     const int* __restrict__ partial_count, const int* __restrict__ full_count,
                     const int* __restrict__ columns, scalar_t* __restrict__ o, float* __restrict__ lse, int h, int g,
                     int s, int t, int rows, int width) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = ak::shared_address(memory);
  const int lane = threadIdx.x % 32, warp_line = threadIdx.x / 32 * BLOCKS_M * 16;
  constexpr int TILES = BLOCK / BM;  // of a block of queries
  const int tile = blockIdx.x % (rows * TILES), head = blockIdx.x / (rows * TILES);  // head of all batches
  const int first_query = tile * BM, query = first_query + warp_line + lane / 4;
  if (first_query >= s) return;
  const int list = head % h * rows + tile / TILES, partial = partial_count[list];
  const int key_head = head / h * g + head % h / (h / g);
  const long long keys = static_cast<long long>(key_head) * t * D;
  const long long first_line = static_cast<long long>(head) * s + first_query;
  const ak::SeenKeys<true, 0> before{s, t};
  const ak::SeenKeys<false, 0> all{s, t};
  const Walk walk{k + keys, v + keys, columns + static_cast<long long>(list) * width, shared + BM * LINE,
                  partial * (BLOCK / BN), (partial + full_count[list]) * (BLOCK / BN), t};

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
  for (int step = 0; step < walk.count; ++step) {
    const int first = walk.first_key(step);
    Scores scores;
    multiply_keys(queries, walk.next(2 * step), scores);
    if (step < walk.partial) {
      mask(scores, query, first, before);
    } else if (first + BN > t) {
      mask(scores, query, first, all);
    }
    raise_shifts(scores, shifts, sums, results);
    exponentiate(scores, shifts, sums);
    multiply_values(scores, walk.next(2 * step + 1), results);
  }

  ak::wait_copies<0>();  // without any key the queries may still be on their way
  __syncthreads();
  const long long line = first_line + warp_line;
  write_results(memory + warp_line * LINE, results, shifts, sums, o + line * D, lse + line,
                s - first_query - warp_line);
}
