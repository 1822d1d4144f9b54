/* alphakernel
{
  "tunables": {
    "KEYS": {"values": [16, 32, 64], "default": 32},
    "WARPS_M": {"values": [1, 2, 4], "default": 1},
    "WARPS_N": {"values": [2, 4, 8], "default": 4},
    "STAGES": {"values": [2, 3, 4], "default": 2},
    "BLOCKS_PER_SM": {"values": [1, 2, 4], "default": 1},
    "LAST_BLOCK": {"values": [0, 1], "default": 0}
  },
  "constraints": [
    "ARCH >= 80",
    "KEYS % (8 * WARPS_N) == 0",
    "WARPS_M * WARPS_N <= 16",
    "SHARED + 1024 <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "SHARED": "(WARPS_M * 16 + STAGES * KEYS) * D * 2 + WARPS_M * 16 * KEYS * 2",
    "ROW_TILES": "ceil_div(Q * H, WARPS_M * 16)",
    "WANTED": "max(1, BLOCKS_PER_SM * SM_COUNT // (B * ROW_TILES))",
    "SHARE": "KEYS * ceil_div(ceil_div(S, KEYS), WANTED)",
    "SPLITS": "ceil_div(S, SHARE)"
  },
  "workspace": [
    {"name": "part", "dtype": "float32", "count": "B * Q * H * SPLITS * DV if SPLITS > 1 else 0"},
    {"name": "part_lse", "dtype": "float32", "count": "B * Q * H * SPLITS if SPLITS > 1 else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "B * ROW_TILES if SPLITS > 1 and LAST_BLOCK else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "mla_mma", "grid": ["SPLITS", "ROW_TILES", "B"], "block": ["WARPS_M * WARPS_N * 32"],
     "shared_bytes": "SHARED",
     "args": ["q", "kv", "lengths", {"optional": "block_table"}, "scale", "o", "lse", "part", "part_lse",
              "arrived", {"i32": "Q"}, {"i32": "H"}, {"i32": "S"}, {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * H * (DV // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK and ARCH < 90",
     "args": ["lengths", "part", "part_lse", "o", "lse", {"i32": "B * Q * H"}, {"i32": "Q * H"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * H * (DV // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK and ARCH >= 90", "pdl": true,
     "args": ["lengths", "part", "part_lse", "o", "lse", {"i32": "B * Q * H"}, {"i32": "Q * H"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The same as mla_wgmma.cu by mma.sync: all heads of all queries are rows of one product, and a tile of keys is read
// from memory once for both products.
//
//   block:  SHARE keys of one sequence, WARPS_M * 16 rows, a team of WARPS_N warps for each 16 of them
//     the ring:  STAGES tiles of KEYS keys, filled by cp.async
//     a team, for every tile:
//       scores of a part of its keys a warp  ->  the rows' maxima meet in shared memory  ->  weights of all keys there
//       ->  a part of the columns of the results a warp, in registers
//
//   shared memory:  queries │ keys x STAGES │ weights
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/copies.cuh>
#include <ak/decode.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/handover.cuh>
#include <ak/mma.cuh>
#include <ak/reduce.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>

#ifndef ALPHAKERNEL
constexpr int KEYS = 32;
constexpr int WARPS_M = 1;
constexpr int WARPS_N = 4;
constexpr int STAGES = 2;
constexpr bool LAST_BLOCK = false;
constexpr int D = 576;
constexpr int DV = 512;
constexpr bool PAGED = false;
constexpr int PAGE_SIZE = 64;
using scalar_t = __nv_bfloat16;
#endif

constexpr int TEAM = WARPS_N * 32;
constexpr int THREADS = WARPS_M * TEAM;
constexpr int ROWS = WARPS_M * 16;
constexpr int PANELS = D / 64;  // of 64 elements: lines of 128 bytes, swizzled
constexpr int QUERY_PANEL = ROWS * 128;
constexpr int PANEL = KEYS * 128;
constexpr int SLOT = PANELS * PANEL;
constexpr int WEIGHT_LINE = KEYS * 2;
constexpr int OWN_KEYS = KEYS / WARPS_N;  // of a tile, whose scores a warp computes
constexpr int COLUMNS = DV / WARPS_N;     // of the results, of a warp
constexpr float LOG2_E = 1.4426950408889634f;

using ak::u32;
using element = ak::Element<scalar_t>;
// Sums of the matrix units: [0], [1] are neighbouring columns of row lane / 4, [2], [3] those of row lane / 4 + 8.
using Scores = float[OWN_KEYS / 8][4];
using Sums = float[COLUMNS / 8][4];

__device__ __forceinline__ int warp_of_team() { return threadIdx.x % TEAM / 32; }
__device__ __forceinline__ int team() { return threadIdx.x / TEAM; }
__device__ __forceinline__ void wait_for_team() { ak::named_barrier<TEAM>(1 + team()); }

// Chunk `chunk` of a line of panels of LINES lines.
template <int LINES>
__device__ __forceinline__ u32 place(int line, int chunk) {
  return chunk / 8 * (LINES * 128) + ak::swizzled(line, chunk % 8);
}

// ---- keys of a block: eight threads copy a line, a panel at a time

struct Ring {
  static constexpr int STEP = THREADS / 8;                // lines that are copied together
  static constexpr int LINES = (KEYS + STEP - 1) / STEP;  // of a thread
  const scalar_t* kv;
  const int* table;  // pages of the sequence
  int sequence, room, length, first, tiles;
  u32 slots;
  int pages[LINES];  // of the tile that is copied next, asked for while the one before it is copied

  __device__ __forceinline__ int position(int tile) const { return first + tile * KEYS; }
  __device__ __forceinline__ u32 slot(int tile) const {
    return slots + static_cast<u32>(tile) % static_cast<u32>(STAGES) * SLOT;
  }
  __device__ __forceinline__ void look_up(int tile) {
    if constexpr (PAGED) {
      const int last = max(length - 1, 0) / PAGE_SIZE;
#pragma unroll
      for (int i = 0; i < LINES; ++i) {
        const int at = position(tile) + threadIdx.x / 8 + i * STEP;
        pages[i] = __ldg(table + min(at / PAGE_SIZE, last));
      }
    }
  }
  // Copies a tile, if there is one; lines past the sequence's end are zero.
  __device__ __forceinline__ void start(int tile) {
    if (tile < tiles) {
      const int chunk = threadIdx.x % 8;
#pragma unroll
      for (int i = 0; i < LINES; ++i) {
        const int line = threadIdx.x / 8 + i * STEP, at = position(tile) + line;
        if (STEP > KEYS && line >= KEYS) break;
        const bool inside = at < length;
        long long from = static_cast<long long>(sequence) * room + at;
        if constexpr (PAGED) from = static_cast<long long>(pages[i]) * PAGE_SIZE + static_cast<u32>(at) % PAGE_SIZE;
        const scalar_t* source = kv + (inside ? from * D + chunk * 8 : 0);
#pragma unroll
        for (int panel = 0; panel < PANELS; ++panel) {
          ak::copy_async<16, 128>(slot(tile) + panel * PANEL + ak::swizzled(line, chunk), source + panel * 64, inside);
        }
      }
      look_up(tile + 1);
    }
    ak::commit_copies();
  }
};

// The block's rows, from `first_row` on; rows past the end are zero.
__device__ __forceinline__ void stage_queries(unsigned char* lines, const scalar_t* q, const ak::DecodeRows& rows,
                                              int sequence, int first_row) {
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += THREADS) {
    const int line = i / (D / 8), chunk = i % (D / 8), row = first_row + line;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows.count()) {
      const long long from = static_cast<long long>(rows.line(sequence, 0, row)) * D + chunk * 8;
      bytes = *reinterpret_cast<const uint4*>(q + from);
    }
    *reinterpret_cast<uint4*>(lines + place<ROWS>(line, chunk)) = bytes;
  }
}

// ---- products of a warp

// Of the team's rows and the warp's keys of a tile; `queries`: of the team's first row.
__device__ __forceinline__ void multiply_keys(u32 queries, u32 tile, Scores& scores) {
  const int lane = threadIdx.x % 32, first_key = warp_of_team() * OWN_KEYS;
#pragma unroll
  for (int n = 0; n < OWN_KEYS / 8; ++n) scores[n][0] = scores[n][1] = scores[n][2] = scores[n][3] = 0.0f;
#pragma unroll 3
  for (int step = 0; step < D / 16; step += 2) {
    u32 a[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) ak::load_matrices(a[i], queries + place<ROWS>(lane % 16, (step + i) * 2 + lane / 16));
#pragma unroll
    for (int n = 0; n < OWN_KEYS / 8; ++n) {
      u32 b[4];  // eight keys: both halves of either step
      ak::load_matrices(b, tile + place<KEYS>(first_key + n * 8 + lane % 8, step * 2 + lane / 8));
      ak::mma<element>(scores[n], a[0], b[0], b[1]);
      ak::mma<element>(scores[n], a[1], b[2], b[3]);
    }
  }
}

// Of the team's weights and the warp's columns of a tile.
__device__ __forceinline__ void multiply_values(u32 weights, u32 tile, Sums& sums) {
  const int lane = threadIdx.x % 32, first_chunk = warp_of_team() * (COLUMNS / 8);
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    u32 a[4];
    ak::load_matrices(a, weights + ak::swizzled<WEIGHT_LINE>(lane % 16, step * 2 + lane / 16));
#pragma unroll
    for (int chunk = 0; chunk < COLUMNS / 8; chunk += 2) {
      u32 b[4];  // of both chunks: keys 0 to 7, keys 8 to 15
      ak::load_matrices_transposed(b, tile + place<KEYS>(step * 16 + lane % 16, first_chunk + chunk + lane / 16));
      ak::mma<element>(sums[chunk], a, b[0], b[1]);
      ak::mma<element>(sums[chunk + 1], a, b[2], b[3]);
    }
  }
}

// ---- softmax, of the lane's rows lane / 4 and lane / 4 + 8

// Of all warps of a team: each has a value for either row, and gets what the operation makes of all. A barrier of the
// team comes before the next call.
template <class Operation>
__device__ __forceinline__ void meet(float (&values)[2], float (&meeting)[WARPS_N][ROWS], Operation operation) {
  const int lane = threadIdx.x % 32, row = team() * 16 + lane / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    values[half] = ak::reduce_quad(values[half], operation);
    if (lane % 4 == 0) meeting[warp_of_team()][row + half * 8] = values[half];
  }
  wait_for_team();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    values[half] = meeting[0][row + half * 8];
#pragma unroll
    for (int warp = 1; warp < WARPS_N; ++warp) values[half] = operation(values[half], meeting[warp][row + half * 8]);
  }
}

struct Softmax {
  float scale;  // scores times this are exponents of two
  int seen[2];  // keys that the row sees
  float top[2], sum[2];

  __device__ __forceinline__ void mask(Scores& scores, int position) const {
    const int column = position + threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < OWN_KEYS / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (column + n * 8 + i % 2 >= seen[i / 2]) scores[n][i] = ak::minus_infinity();
      }
    }
  }

  // The largest of the warp's own scores.
  static __device__ __forceinline__ void own_maxima(const Scores& scores, float (&above)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      above[half] = ak::minus_infinity();
#pragma unroll
      for (int n = 0; n < OWN_KEYS / 8; ++n)
        above[half] = fmaxf(above[half], fmaxf(scores[n][half * 2], scores[n][half * 2 + 1]));
    }
  }

  // Takes the maxima of a tile's scores: sums so far are rescaled to what is now the largest.
  __device__ __forceinline__ void raise(const float (&above)[2], Sums& sums) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float raised = fmaxf(top[half], above[half] * scale);
      const float factor = raised == top[half] ? 1.0f : ak::fast_exp2(top[half] - raised);
      top[half] = raised;
      sum[half] *= factor;
#pragma unroll
      for (int n = 0; n < COLUMNS / 8; ++n) sums[n][half * 2] *= factor, sums[n][half * 2 + 1] *= factor;
    }
  }

  // The weights of the warp's own scores, to its columns of the team's weights. Before the first key that a row sees
  // all scores are minus infinity, and so must be their exponents.
  __device__ __forceinline__ void put_weights(const Scores& scores, u32 weights) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float shift = top[half] == ak::minus_infinity() ? 0.0f : top[half];
#pragma unroll
      for (int n = 0; n < OWN_KEYS / 8; ++n) {
        const float low = ak::fast_exp2(fmaf(scores[n][half * 2], scale, -shift));
        const float high = ak::fast_exp2(fmaf(scores[n][half * 2 + 1], scale, -shift));
        sum[half] += low + high;
        const int chunk = warp_of_team() * (OWN_KEYS / 8) + n;
        const u32 to = weights + ak::swizzled<WEIGHT_LINE>(lane / 4 + half * 8, chunk) + lane % 4 * 4;
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(ak::pack_pair<element>(low, high)) : "memory");
      }
    }
  }
};

// ---- results

// Where a block leaves rows: as results if it has all keys, else as part `split` of `splits`.
struct Results {
  scalar_t* o;
  float *lse, *means, *logarithms;
  int split, splits;

  // Columns `column` and the next of the mean.
  __device__ __forceinline__ void write(long long line, int column, float low, float high) const {
    if (splits == 1) {
      *reinterpret_cast<u32*>(o + line * DV + column) = ak::pack_pair<element>(low, high);
    } else {
      *reinterpret_cast<float2*>(means + (line * splits + split) * DV + column) = make_float2(low, high);
    }
  }
  // The binary logarithm of the weights' sum, by one thread a row.
  __device__ __forceinline__ void write_sum(long long line, float log2_sum) const {
    if (splits > 1) {
      logarithms[line * splits + split] = log2_sum;
    } else {
      lse[line] = log2_sum / LOG2_E;
    }
  }
};

__global__ void __launch_bounds__(128)
    combine_splits(const int* __restrict__ lengths, const float* __restrict__ part, const float* __restrict__ part_lse,
                   scalar_t* __restrict__ o, float* __restrict__ lse, int lines, int lines_of_sequence, int splits,
                   int share) {
  const int i = blockIdx.x * 128 + threadIdx.x, line = i / (DV / 4);
  if (line >= lines) return;
  const int used = (lengths[line / lines_of_sequence] + share - 1) / share;
  ak::wait_for_parts();
  ak::combine_decoded<DV>(part, part_lse, o, lse, line, i % (DV / 4) * 4, splits, used);
}

// q: [b][queries][heads][D]; kv: [b][room][D], or [pages][PAGE_SIZE][D]; o: [b][queries][heads][DV];
// part: [b][queries][heads][splits][DV].
__global__ void __launch_bounds__(THREADS)
    mla_mma(const scalar_t* __restrict__ q, const scalar_t* __restrict__ kv, const int* __restrict__ lengths,
            const int* __restrict__ block_table, float scale, scalar_t* __restrict__ o, float* __restrict__ lse,
            float* part, float* part_lse, unsigned int* arrived, int queries, int heads, int room, int share) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ float meeting[WARPS_N][ROWS];
  ak::let_combination_begin();
  const ak::DecodeRows rows{queries, heads, 1};
  const int split = blockIdx.x, first_row = blockIdx.y * ROWS, sequence = blockIdx.z;
  const int length = lengths[sequence], begin = split * share;

  if (begin < length || split == 0) {
    const u32 panels = ak::shared_address(memory), own_queries = panels + team() * 16 * 128;
    Ring ring;
    ring.kv = kv;
    ring.table = block_table + static_cast<long long>(sequence) * ((room + PAGE_SIZE - 1) / PAGE_SIZE);
    ring.sequence = sequence;
    ring.room = room;
    ring.length = length;
    ring.first = begin;
    ring.tiles = (max(min(begin + share, length) - begin, 0) + KEYS - 1) / KEYS;
    ring.slots = panels + PANELS * QUERY_PANEL;
    const u32 weights = ring.slots + STAGES * SLOT + team() * 16 * WEIGHT_LINE;
    ring.look_up(0);
    for (int tile = 0; tile < STAGES - 1; ++tile) ring.start(tile);
    stage_queries(memory, q, rows, sequence, first_row);

    const int lane = threadIdx.x % 32, row = first_row + team() * 16 + lane / 4;
    Softmax softmax;
    softmax.scale = LOG2_E * scale;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      softmax.seen[half] = rows.seen(row + half * 8, length);
      softmax.top[half] = ak::minus_infinity();
      softmax.sum[half] = 0.0f;
    }
    Sums sums = {};
    for (int tile = 0; tile < ring.tiles; ++tile) {
      ak::wait_copies<STAGES - 2>();
      __syncthreads();  // the tile is there for all, and the one before it was read by all
      ring.start(tile + STAGES - 1);
      Scores scores;
      float above[2];
      multiply_keys(own_queries, ring.slot(tile), scores);
      const int position = ring.position(tile);
      if (position + KEYS > rows.seen_by_all(length)) softmax.mask(scores, position + warp_of_team() * OWN_KEYS);
      Softmax::own_maxima(scores, above);
      meet(above, meeting, ak::Maximum());
      softmax.raise(above, sums);
      softmax.put_weights(scores, weights);
      wait_for_team();  // the weights of all its warps are there
      multiply_values(weights, ring.slot(tile), sums);
    }
    ak::wait_copies<0>();
    meet(softmax.sum, meeting, ak::Sum());

    const Results results{o, lse, part, part_lse, split, static_cast<int>(gridDim.x)};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (row + half * 8 >= rows.count()) continue;
      const long long line = rows.line(sequence, 0, row + half * 8);
      const float sum = softmax.sum[half], inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
      const int column = warp_of_team() * COLUMNS + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < COLUMNS / 8; ++n) {
        results.write(line, column + n * 8, sums[n][half * 2] * inverse, sums[n][half * 2 + 1] * inverse);
      }
      if (column == 0) results.write_sum(line, sum == 0.0f ? ak::minus_infinity() : softmax.top[half] + log2f(sum));
    }
  }

  if constexpr (LAST_BLOCK) {
    if (gridDim.x == 1) return;
    __syncthreads();
    if (!ak::is_last_block(arrived + sequence * gridDim.y + blockIdx.y)) return;
    for (int i = threadIdx.x; i < ROWS * (DV / 4); i += THREADS) {
      const int row = first_row + i / (DV / 4);
      if (row >= rows.count()) break;
      ak::combine_decoded<DV>(part, part_lse, o, lse, rows.line(sequence, 0, row), i % (DV / 4) * 4, gridDim.x,
                              (length + share - 1) / share);
    }
  }
}
