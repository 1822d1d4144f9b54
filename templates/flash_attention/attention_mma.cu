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
    "ARCH >= (89 if dtype == 'float8_e4m3fn' else 80)",
    "16 * WARPS <= BM <= 32 * WARPS",
    "BM // (16 * WARPS) * (D + BN + (D // 2 if Q_REGISTERS else 0)) <= 400",
    "SHARED <= SHARED_BYTES_PER_BLOCK",
    "SLACK == 8 or dtype != 'float8_e4m3fn'",
    "HEADS == 1 or lengths == 'same'"
  ],
  "let": {
    "FP8": "dtype == 'float8_e4m3fn'",
    "BLOCKS": "(ceil_div(S, BM) * B if lengths == 'same' else S // BM + B) * H",
    "SHARED": "BM * D * 2 + STAGES * BN * D * sizeof_k"
  },
  "workspace": [{"name": "values", "dtype": "dtype", "count": "B * G * D * round_up(T, 128) if FP8 else 0"}],
  "launches": [
    {"kernel": "transpose_values", "grid": ["ceil_div(T, 128)", "D // 32", "B * G"], "block": [256], "when": "FP8",
     "args": ["v", "values", {"i32": "T"}]},
    {"kernel": "attention_mma", "grid": ["BLOCKS"], "block": ["WARPS * 32"], "shared_bytes": "SHARED", "when": "not FP8",
     "args": ["q", "k", "v", {"optional": "slopes"}, {"optional": "sinks"}, {"optional": "residual"},
              {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"}, {"optional": "k_scale"},
              {"optional": "v_scale"}, "o", "lse", {"i32": "B"}, {"i32": "H"}, {"i32": "G"}, {"i32": "S"},
              {"i32": "T"}]},
    {"kernel": "attention_mma", "grid": ["BLOCKS"], "block": ["WARPS * 32"], "shared_bytes": "SHARED", "when": "FP8",
     "args": ["q", "k", "values", {"optional": "slopes"}, {"optional": "sinks"}, {"optional": "residual"},
              {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"}, {"optional": "k_scale"},
              {"optional": "v_scale"}, "o", "lse", {"i32": "B"}, {"i32": "H"}, {"i32": "G"}, {"i32": "S"},
              {"i32": "T"}]}
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
// A head's sink is a key with a score and no value: the walk begins with it, as the shift and a sum of 1.
// Lines hold 16-byte chunks, exchanged so that any 8 neighbouring lines have the same chunk in different banks.
//
// fp8: a launch before lays values along keys, in the order of the weights in registers. Weights are up to 2^RANGE, so
// that small ones are not lost, which leaves no slack.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/attention.cuh>
#include <ak/copies.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/groups.cuh>
#include <ak/mma.cuh>
#include <ak/narrow.cuh>
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
constexpr int WINDOW = 0;
constexpr int SOFTCAP = 0;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

#ifdef AK_SLOPES_ALIBI
constexpr bool ALIBI = true;
#else
constexpr bool ALIBI = false;
#endif
#ifdef AK_SINKS_HEAD
constexpr bool SINKS = true;
#else
constexpr bool SINKS = false;
#endif
#ifdef AK_RESIDUAL_ADDED
constexpr bool RESIDUAL = true;
#else
constexpr bool RESIDUAL = false;
#endif
#ifdef AK_LENGTHS_VARYING
constexpr bool VARYING = true;
#else
constexpr bool VARYING = false;
#endif

#ifdef AK_LAYOUT_TOKENS
constexpr bool TOKENS = true;
#else
constexpr bool TOKENS = false;
#endif

#ifdef AK_DTYPE_FLOAT8_E4M3FN
constexpr bool FP8 = true;
using result_t = __nv_bfloat16;
#else
constexpr bool FP8 = false;
using result_t = scalar_t;
#endif

constexpr int THREADS = WARPS * 32;
constexpr int BLOCKS_M = BM / (16 * WARPS);  // of 16 queries, for each warp
constexpr int LINE = D * sizeof(scalar_t);   // bytes of a query or key
constexpr int VALUE_LINE = FP8 ? BN : LINE;  // of a value, or of all values of one column
constexpr int RESULT_LINE = D * 2;
constexpr int TILE = BN * LINE;
constexpr float RANGE = FP8 ? 8.0f : 0.0f;  // 2^8 of e4m3's 448; SLACK is as much
constexpr unsigned int ALL_LANES = 0xffffffffu;

using ak::u32;
using element = ak::Element<scalar_t>;
using result = ak::Element<result_t>;
using Seen = ak::SeenKeys<CAUSAL, WINDOW>;
using Exponents = ak::ScoreExponents<D, SOFTCAP, ALIBI>;

// ---- lines in shared memory

// Chunks among which those of a line of so many bytes are exchanged.
template <int BYTES>
constexpr int SPAN = BYTES % 128 == 0 ? 8 : BYTES % 64 == 0 ? 4 : 2;

template <int BYTES>
__device__ __forceinline__ u32 swizzle(int line) {
  return line / (8 / SPAN<BYTES>) % SPAN<BYTES> * 16;
}
// Where a chunk below SPAN of a line lies; `across` leads from chunk 0 or 1 to the chunk so many further on. Lines 16
// further down are swizzled alike.
template <int BYTES>
__device__ __forceinline__ u32 place(int line, int chunk) {
  return line * BYTES + (chunk * 16 ^ swizzle<BYTES>(line));
}
template <int BYTES>
__device__ __forceinline__ u32 across(u32 address, int chunks) {
  return (address ^ chunks % SPAN<BYTES> * 16) + chunks / SPAN<BYTES> * SPAN<BYTES> * 16;
}

// Lines of so many bytes; those from `count` on are zero.
template <int LINES, int BYTES>
__device__ __forceinline__ void fetch(u32 to, const scalar_t* from, int pitch, int count) {
  constexpr int CHUNKS = SPAN<BYTES>, STEP = THREADS / CHUNKS, PER_CHUNK = 16 / sizeof(scalar_t);
  const int line = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
  const u32 address = to + place<BYTES>(line, chunk);
  const scalar_t* source = from + line * pitch + chunk * PER_CHUNK;
#pragma unroll
  for (int i = 0; i < LINES; i += STEP) {
    if (LINES % STEP != 0 && line + i >= LINES) break;
    const bool inside = line + i < count;
#pragma unroll
    for (int c = 0; c < BYTES / 16; c += CHUNKS) {
      ak::copy_async<16, 128>(address + i * BYTES + c * 16, inside ? source + i * pitch + c * PER_CHUNK : from, inside);
    }
  }
}

// ---- one head

struct Shape {
  int batches, heads, key_heads, queries, keys;  // queries and keys of a batch; of all where lengths vary
};

// A tile of queries of one head. Lines of a head are a pitch apart: heads lie within a token where lengths vary and in the
// layout of tokens, else tokens within a head.
struct Place {
  bool exists = true;
  int head, first_query;  // of its batch
  Seen seen;
  long long q, k, lse;  // where the first query, the first key of its batch and its logarithm are
  long long values;     // and of fp8 the lines of values
  int key_head;
  int q_pitch, k_pitch;
};

// Blocks take the tiles of HEADS heads together, so that these share keys in L2, and of a causal head the long ones
// first, so that none is left to run alone at the end.
__device__ __forceinline__ Place place_of_batch(const Shape& shape) {
  const int tiles = (shape.queries + BM - 1) / BM, block = blockIdx.x;
  const int group = block / (HEADS * tiles), within = block - group * HEADS * tiles;
  const int width = min(HEADS, shape.batches * shape.heads - group * HEADS);
  const int head = group * HEADS + within % width, batch = head / shape.heads;  // head of all batches
  Place at;
  at.head = head - batch * shape.heads;
  at.first_query = (tiles - 1 - within / width) * BM;
  at.seen = {shape.queries, shape.keys};
  at.q_pitch = at.k_pitch = D;
  at.lse = static_cast<long long>(head) * shape.queries + at.first_query;
  at.q = at.lse * D;
  const int key_head = batch * shape.key_heads + at.head / (shape.heads / shape.key_heads);
  at.k = static_cast<long long>(key_head) * shape.keys * D;
  at.values = static_cast<long long>(key_head) * D * ak::value_pitch(shape.keys);
  at.key_head = key_head - batch * shape.key_heads;
  if constexpr (TOKENS) {
    at.q_pitch = shape.heads * D;
    at.k_pitch = shape.key_heads * D;
    at.q = (static_cast<long long>(batch) * shape.queries + at.first_query) * at.q_pitch + at.head * D;
    at.k = static_cast<long long>(batch) * shape.keys * at.k_pitch + at.key_head * D;
  }
  return at;
}
// The heads of a tile are neighbours.
__device__ __forceinline__ Place place_of_sequence(const Shape& shape, const int* q_offsets, const int* k_offsets) {
  ak::GroupTiles<ak::RowsByOffsets> tiles({q_offsets}, shape.batches, BM, shape.heads);
  ak::GroupTile tile;
  Place at;
  at.exists = tiles.find(blockIdx.x, tile);
  if (!at.exists) return at;
  const ak::GroupRows keys = ak::RowsByOffsets{k_offsets}(tile.group);
  at.head = tile.index % shape.heads;
  at.first_query = ((tile.rows.count + BM - 1) / BM - 1 - tile.index / shape.heads) * BM;
  at.seen = {tile.rows.count, keys.count};
  at.q_pitch = shape.heads * D;
  at.k_pitch = shape.key_heads * D;
  const long long token = tile.rows.begin + at.first_query;
  at.lse = static_cast<long long>(at.head) * shape.queries + token;
  at.q = token * at.q_pitch + at.head * D;
  at.k = static_cast<long long>(keys.begin) * at.k_pitch + at.head / (shape.heads / shape.key_heads) * D;
  return at;
}

struct Walk {
  const scalar_t *k, *v;
  u32 ring;
  ak::KeyTiles tiles;
  int t, pitch;

  __device__ __forceinline__ int count() const { return tiles.end - tiles.begin; }
  // First key of the step's tile: of the last tile, then of the one before it, and so on.
  __device__ __forceinline__ int first_key(int step) const { return (tiles.end - 1 - step) * BN; }
  // Copy number `turn`: k and v of one step after the other. Nothing where none is left.
  __device__ __forceinline__ void start(int turn) const {
    if (turn < 2 * count()) {
      const int first = first_key(turn / 2);
      if (FP8 && turn % 2 != 0) {
        fetch_columns(slot(turn), first);
      } else {
        fetch<BN, LINE>(slot(turn), (turn % 2 == 0 ? k : v) + static_cast<long long>(first) * pitch, pitch, t - first);
      }
    }
    ak::commit_copies();
  }
  // Of fp8, values by columns. A tile may end behind the last line's end, by whole groups of 32 keys.
  __device__ __forceinline__ void fetch_columns(u32 to, int first) const {
    constexpr int CHUNKS = BN / 16;
    const int value_pitch = ak::value_pitch(t);
#pragma unroll 4
    for (int i = threadIdx.x; i < D * CHUNKS; i += THREADS) {
      const int column = i / CHUNKS, chunk = i % CHUNKS, span = SPAN<VALUE_LINE>;
      const bool inside = first + chunk * 16 < value_pitch;
      const u32 at = to + place<VALUE_LINE>(column, chunk % span) + chunk / span * span * 16;
      const scalar_t* from = v + static_cast<long long>(column) * value_pitch + first + chunk * 16;
      ak::copy_async<16>(at, inside ? from : v, inside);
    }
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
  u32 kept[BLOCKS_M][LINE / 32][4];  // only with Q_REGISTERS

  __device__ __forceinline__ void keep() {
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
      for (int step = 0; step < LINE / 32; ++step)
        ak::load_matrices(kept[m][step], across<LINE>(address, step * 2) + m * 16 * LINE);
    }
  }
  __device__ __forceinline__ void get(u32 (&a)[4], int m, int step) const {
    if constexpr (Q_REGISTERS) {
      for (int i = 0; i < 4; ++i) a[i] = kept[m][step][i];
    } else {
      ak::load_matrices(a, across<LINE>(address, step * 2) + m * 16 * LINE);
    }
  }
};

// Sums of the matrix units: [0], [1] are neighbouring columns of line lane / 4, [2], [3] those 8 lines below.
using Scores = float[BLOCKS_M][BN / 8][4];
using Results = float[BLOCKS_M][D / 8][4];
using PerLine = float[BLOCKS_M][2];

__device__ __forceinline__ void multiply_keys(const Queries& queries, u32 tile, Scores& scores) {
  const int lane = threadIdx.x % 32;
  const u32 address = tile + place<LINE>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int n = 0; n < BN / 8; ++n) scores[m][n][0] = scores[m][n][1] = scores[m][n][2] = scores[m][n][3] = 0.0f;
  }
#pragma unroll
  for (int step = 0; step < LINE / 32; ++step) {
    u32 a[BLOCKS_M][4];
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) queries.get(a[m], m, step);
#pragma unroll
    for (int n = 0; n < BN / 16; ++n) {
      u32 b[4];
      ak::load_matrices(b, across<LINE>(address, step * 2) + n * 16 * LINE);
#pragma unroll
      for (int m = 0; m < BLOCKS_M; ++m) {
        ak::mma<element>(scores[m][2 * n], a[m], b[0], b[1]);
        ak::mma<element>(scores[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Part i of the A operand of step number `step`, rounded.
__device__ __forceinline__ u32 weights(const Scores& p, int m, int step, int i) {
  if constexpr (FP8) {
    const float *two = &p[m][4 * step + i / 2 * 2][i % 2 * 2], *next = &p[m][4 * step + i / 2 * 2 + 1][i % 2 * 2];
    return ak::pack_fp8<element>(two[0], two[1], next[0], next[1]);
  } else {
    const float* two = &p[m][2 * step + i / 2][i % 2 * 2];
    return ak::pack_pair<element>(two[0], two[1]);
  }
}

__device__ __forceinline__ void multiply_values(const Scores& p, u32 tile, Results& results) {
  const int lane = threadIdx.x % 32;
  const u32 address = tile + (FP8 ? place<VALUE_LINE>(lane % 8 + lane / 16 * 8, lane / 8 % 2)
                                  : place<VALUE_LINE>(lane % 16, lane / 16));
#pragma unroll
  for (int step = 0; step < BN * static_cast<int>(sizeof(scalar_t)) / 32; ++step) {
    u32 a[BLOCKS_M][4];
#pragma unroll
    for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = weights(p, m, step, i);
    }
#pragma unroll
    for (int n = 0; n < D / 16; ++n) {
      u32 b[4];
      if constexpr (FP8) {
        ak::load_matrices(b, across<VALUE_LINE>(address, step * 2) + n * 16 * VALUE_LINE);
      } else {
        ak::load_matrices_transposed(b, across<VALUE_LINE>(address, n * 2) + step * 16 * VALUE_LINE);
      }
#pragma unroll
      for (int m = 0; m < BLOCKS_M; ++m) {
        ak::mma<element>(results[m][2 * n], a[m], b[0], b[1]);
        ak::mma<element>(results[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Products become what the exponents say. query: of the lane's first line; first: key of the tile.
__device__ __forceinline__ void to_exponents(Scores& scores, const Exponents& exponents, int query, int first,
                                             const Seen& seen) {
  const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float distance = seen.position(query + m * 16 + half * 8) - column;
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& score = scores[m][n][half * 2 + i];
          score = exponents(score, distance - (n * 8 + i));
        }
      }
    }
  }
}

// Takes away the scores of keys that a query does not see.
__device__ __forceinline__ void mask(Scores& scores, int query, int first, const Seen& seen) {
  const int column = first + threadIdx.x % 4 * 2;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int begin = seen.begin(query + m * 16 + half * 8), end = seen.end(query + m * 16 + half * 8);
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int key = column + n * 8 + i;
          if (key >= end || (WINDOW > 0 && key < begin)) scores[m][n][half * 2 + i] = ak::minus_infinity();
        }
      }
    }
  }
}

// Powers of two of the scores times this are their exponentials. factor: of products, of fp8.
__device__ __forceinline__ float exponent_scale(float factor) {
  return Exponents::kScaled ? factor * (1.4426950408889634f / sqrtf(static_cast<float>(D))) : 1.0f;
}

__device__ __forceinline__ void raise_shifts(const Scores& scores, float scale, PerLine& shifts, PerLine& sums,
                                             Results& results) {
  PerLine tops;
  bool raised = false;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = ak::minus_infinity();
#pragma unroll
      for (int n = 0; n < BN / 8; ++n) top = fmaxf(top, fmaxf(scores[m][n][half * 2], scores[m][n][half * 2 + 1]));
      tops[m][half] = ak::reduce_quad(top, ak::Maximum()) * scale;
      raised |= tops[m][half] > shifts[m][half] + SLACK;
    }
  }
  if (!__any_sync(ALL_LANES, raised)) return;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float shift = fmaxf(shifts[m][half], tops[m][half] - RANGE);
      const float factor = shift == shifts[m][half] ? 1.0f : ak::fast_exp2(shifts[m][half] - shift);
      shifts[m][half] = shift;
      sums[m][half] *= factor;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) results[m][n][half * 2] *= factor, results[m][n][half * 2 + 1] *= factor;
    }
  }
}

// Scores become probabilities times 2^(their logarithm - shift).
__device__ __forceinline__ void exponentiate(Scores& scores, float scale, const PerLine& shifts, PerLine& sums) {
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
          scores[m][n][i] = ak::fast_exp2(fmaf(scores[m][n][i], scale, -shift));
          sum += scores[m][n][i];
        }
      }
      sums[m][half] += sum;
    }
  }
}

// Two neighbours, and those of the residual, if there is one.
__device__ __forceinline__ u32 result_pair(float low, float high, const result_t* residual, bool inside) {
  if constexpr (RESIDUAL) {
    const float2 added = ak::unpack_pair<result>(inside ? *reinterpret_cast<const u32*>(residual) : 0);
    return ak::pack_pair<result>(low + added.x, high + added.y);
  } else {
    return ak::pack_pair<result>(low, high);
  }
}

// Through lines of the warp's own where the queries were, so that whole chunks are written. o, residual, lse: of the
// warp's first query, of which there are `count`.
__device__ __forceinline__ void write_results(unsigned char* lines, const Results& results, const PerLine& shifts,
                                              const PerLine& sums, float factor, const result_t* residual, result_t* o,
                                              int pitch, float* lse, int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int line = m * 16 + half * 8 + lane / 4;
      const float sum = ak::reduce_quad(sums[m][half], ak::Sum()), inverse = sum == 0.0f ? 0.0f : factor / sum;
#pragma unroll
      for (int n = 0; n < D / 8; ++n) {
        *reinterpret_cast<u32*>(lines + across<RESULT_LINE>(place<RESULT_LINE>(line, 0), n) + lane % 4 * 4) =
            result_pair(results[m][n][half * 2] * inverse, results[m][n][half * 2 + 1] * inverse,
                        residual + line * pitch + n * 8 + lane % 4 * 2, line < count);
      }
      if (lane % 4 == 0 && line < count) lse[line] = (shifts[m][half] + log2f(sum)) * 0.69314718055994531f;
    }
  }
  __syncwarp();
  constexpr int CHUNKS = SPAN<RESULT_LINE>;
  for (int i = lane; i < BLOCKS_M * 16 * CHUNKS; i += 32) {
    const int line = i / CHUNKS, chunk = i % CHUNKS;
    if (line >= count) break;
#pragma unroll
    for (int c = 0; c < D / 8; c += CHUNKS) {
      const uint4 bytes = *reinterpret_cast<const uint4*>(lines + place<RESULT_LINE>(line, chunk) + c * 16);
      *reinterpret_cast<uint4*>(o + line * pitch + (c + chunk) * 8) = bytes;
    }
  }
}

__global__ void __launch_bounds__(256) transpose_values(const scalar_t* v, scalar_t* values, int keys) {
  ak::transpose_values(v, values, keys, D);
}

// q, residual, o: [batches][heads][queries][D]; k, v: [batches][key_heads][keys][D]; slopes, sinks: [heads]; lse:
// [batches][heads][queries]. Of varying lengths: [queries][heads][D], [keys][key_heads][D], [heads][queries]. In the
// layout of tokens: [batches][queries][heads][D], [batches][keys][key_heads][D]. Of fp8 v is what transpose_values()
// leaves; q_scale: [heads]; k_scale, v_scale: [key_heads].
__global__ void __launch_bounds__(THREADS)
    attention_mma(const scalar_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                  const float* __restrict__ slopes, const float* __restrict__ sinks,
                  const result_t* __restrict__ residual, const int* __restrict__ q_offsets,
                  const int* __restrict__ k_offsets, const float* __restrict__ q_scale,
                  const float* __restrict__ k_scale, const float* __restrict__ v_scale, result_t* __restrict__ o,
                  float* __restrict__ lse, int batches, int heads, int key_heads, int all_queries, int all_keys) {
  extern __shared__ __align__(128) unsigned char memory[];
  const u32 shared = ak::shared_address(memory);
  const int lane = threadIdx.x % 32, warp_line = threadIdx.x / 32 * BLOCKS_M * 16;
  const Shape shape{batches, heads, key_heads, all_queries, all_keys};
  const Place at = VARYING ? place_of_sequence(shape, q_offsets, k_offsets) : place_of_batch(shape);
  if (!at.exists) return;
  const Seen& seen = at.seen;
  const int first_query = at.first_query, query = first_query + warp_line + lane / 4;
  constexpr bool BY_TOKENS = VARYING || TOKENS;
  const int q_pitch = BY_TOKENS ? at.q_pitch : D, k_pitch = BY_TOKENS ? at.k_pitch : D;  // D is known when compiled
  const Walk walk{k + at.k, v + (FP8 ? at.values : at.k), shared + BM * RESULT_LINE,
                  seen.tiles<BN>(first_query, first_query + BM - 1), seen.keys, k_pitch};

  fetch<BM, LINE>(shared, q + at.q, q_pitch, seen.queries - first_query);
  for (int turn = 0; turn < STAGES - 1; ++turn) walk.start(turn);
  Queries queries;
  queries.address = shared + place<LINE>(warp_line + lane % 16, lane / 16);
  if constexpr (Q_REGISTERS) {
    ak::wait_copies<STAGES - 2>();
    __syncthreads();
    queries.keep();
  }

  const float factor = FP8 ? q_scale[at.head] * k_scale[at.key_head] : 1.0f, scale = exponent_scale(factor);
  const Exponents exponents(slopes, at.head, factor);
  const float shift = SINKS ? sinks[at.head] * ak::kLog2E - RANGE : ak::minus_infinity();
  Results results = {};
  PerLine shifts, sums;
#pragma unroll
  for (int m = 0; m < BLOCKS_M; ++m) {
    shifts[m][0] = shifts[m][1] = shift;
    sums[m][0] = sums[m][1] = SINKS && lane % 4 == 0 ? exp2f(RANGE) : 0.0f;  // of the four lanes of a line
  }
  for (int step = 0; step < walk.count(); ++step) {
    const int first = walk.first_key(step);
    Scores scores;
    multiply_keys(queries, walk.next(2 * step), scores);
    if constexpr (!Exponents::kScaled) to_exponents(scores, exponents, query, first, seen);
    if (seen.masked(first_query, first_query + BM - 1, first, BN)) mask(scores, query, first, seen);
    raise_shifts(scores, scale, shifts, sums, results);
    exponentiate(scores, scale, shifts, sums);
    multiply_values(scores, walk.next(2 * step + 1), results);
  }

  ak::wait_copies<0>();  // without any key the queries may still be on their way
  __syncthreads();
  const long long first = at.q + static_cast<long long>(warp_line) * q_pitch;
  write_results(memory + warp_line * RESULT_LINE, results, shifts, sums, FP8 ? v_scale[at.key_head] : 1.0f,
                residual + first, o + first, q_pitch, lse + at.lse + warp_line, seen.queries - first_query - warp_line);
}
