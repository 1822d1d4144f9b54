/* alphakernel
{
  "tunables": {
    "KEYS": {"values": [16, 32, 64], "default": 16},
    "WARPS_M": {"values": [1, 2, 4], "default": 1},
    "WARPS_K": {"values": [1, 2, 4, 8], "default": 2},
    "STAGES": {"values": [2, 3, 4, 6], "default": 2},
    "BLOCKS_PER_SM": {"values": [1, 2, 4, 8], "default": 4},
    "LAST_BLOCK": {"values": [0, 1], "default": 0},
    "CLUSTER": {"values": [0, 8, 16], "default": 0}
  },
  "starts": [
    {"BLOCKS_PER_SM": 1, "CLUSTER": 8, "KEYS": 32, "STAGES": 3, "WARPS_K": 4},
    {"BLOCKS_PER_SM": 2, "CLUSTER": 16, "STAGES": 4, "WARPS_K": 4},
    {"BLOCKS_PER_SM": 1, "STAGES": 4, "WARPS_K": 4},
    {"BLOCKS_PER_SM": 2, "KEYS": 32, "WARPS_M": 2},
    {"BLOCKS_PER_SM": 1, "WARPS_K": 8},
    {"BLOCKS_PER_SM": 1, "KEYS": 32, "STAGES": 3, "WARPS_K": 4},
    {"BLOCKS_PER_SM": 1, "KEYS": 32, "WARPS_K": 4},
    {"BLOCKS_PER_SM": 1, "LAST_BLOCK": 1, "STAGES": 3, "WARPS_K": 4}
  ],
  "constraints": [
    "ARCH >= (89 if dtype == 'float8_e4m3fn' else 80)",
    "WARPS_M * WARPS_K <= 8",
    "CLUSTER == 0 or LAST_BLOCK == 0",
    "CLUSTER <= (16 if ARCH == 90 else 8 if ARCH > 90 else 0)",
    "D * sizeof_k // 16 % (2 * WARPS_M) == 0",
    "WARPS_M * 16 * (D * 2 + 4) + WARPS_K * max(STAGES * 2 * KEYS * D * sizeof_k, WARPS_M * 16 * (D + 10) * 4) <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "ROW_TILES": "ceil_div(Q * (HQ // HKV), WARPS_M * 16)",
    "AT_ONCE": "max(1, BLOCKS_PER_SM * SM_COUNT // (B * HKV * ROW_TILES))",
    "WANTED": "min(AT_ONCE, CLUSTER) if CLUSTER else AT_ONCE",
    "SHARE": "KEYS * WARPS_K * ceil_div(ceil_div(S, KEYS * WARPS_K), WANTED)",
    "SPLITS": "ceil_div(S, SHARE)",
    "SHARED": "WARPS_M * 16 * (D * 2 + 4) + WARPS_K * max(STAGES * 2 * KEYS * D * sizeof_k, WARPS_M * 16 * (D + 10) * 4)"
  },
  "workspace": [
    {"name": "part", "dtype": "float32", "count": "B * Q * HQ * SPLITS * D if SPLITS > 1 and not CLUSTER else 0"},
    {"name": "part_lse", "dtype": "float32", "count": "B * Q * HQ * SPLITS if SPLITS > 1 and not CLUSTER else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "B * HKV * ROW_TILES if SPLITS > 1 and LAST_BLOCK else 0", "init": "zero"}
  ],
  "launches": [
    {"kernel": "decode_split", "grid": ["SPLITS", "HKV * ROW_TILES", "B"], "block": ["WARPS_M * WARPS_K * 32"],
     "shared_bytes": "SHARED", "when": "CLUSTER == 0 or SPLITS == 1",
     "args": ["q", "k", "v", "lengths", {"optional": "block_table"}, {"optional": "k_scale"}, {"optional": "v_scale"}, "o",
              {"optional": "lse"}, "part", "part_lse", "arrived", {"i32": "Q"}, {"i32": "HQ"}, {"i32": "HKV"}, {"i32": "S"},
              {"i32": "SHARE"}]},
    {"kernel": "decode_split", "grid": ["SPLITS", "HKV * ROW_TILES", "B"], "block": ["WARPS_M * WARPS_K * 32"],
     "shared_bytes": "SHARED", "cluster": ["SPLITS"], "when": "CLUSTER > 0 and SPLITS > 1",
     "args": ["q", "k", "v", "lengths", {"optional": "block_table"}, {"optional": "k_scale"}, {"optional": "v_scale"}, "o",
              {"optional": "lse"}, "part", "part_lse", "arrived", {"i32": "Q"}, {"i32": "HQ"}, {"i32": "HKV"}, {"i32": "S"},
              {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * HQ * (D // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK and not CLUSTER and ARCH < 90",
     "args": ["lengths", "part", "part_lse", "o", {"optional": "lse"}, {"i32": "B * Q * HQ"}, {"i32": "Q * HQ"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * HQ * (D // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK and not CLUSTER and ARCH >= 90", "pdl": true,
     "args": ["lengths", "part", "part_lse", "o", {"optional": "lse"}, {"i32": "B * Q * HQ"}, {"i32": "Q * HQ"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Attention of a few queries a sequence to many keys. All queries that share a key head (Q * HQ / HKV of them) are the
// rows of one product, so that each key is read once for them; the keys of a sequence are split over blocks.
//
//   block:  SHARE keys of one sequence and key head, WARPS_M * 16 rows
//     team 0: tile 0 │ tile WARPS_K     │ ...   STAGES tiles of KEYS keys and values, filled by cp.async
//     team 1: tile 1 │ tile WARPS_K + 1 │ ...
//       a warp, for every tile of its team:  scores = q k^T  ->  p = 2^(scores * scale - top)  ->  results += p v
//     the teams' results, with their maxima and sums, meet in shared memory
//   splits: part (results) and part_lse (logarithms of their sums) ─► combined by a second launch, or by the last block;
//           with CLUSTER they are a cluster of up to so many blocks, whose shared memory has both, and no other launch waits
//
// A team of WARPS_M warps, each with 16 rows, has a ring of its own and waits for no other: with WARPS_M = 1 the loop
// has no barrier at all. Everything is added in a fixed order.
//
// e4m3: keys and values become f16 in registers, exactly, and so do queries, whose rows are first multiplied by powers
// of two that bring them into the range of f16. Bytes come from shared memory as pairs, so that elements of a product
// are in an order of their own, which the queries follow (keys) and the results (values).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/copies.cuh>
#include <ak/decode.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/handover.cuh>
#include <ak/mma.cuh>
#include <ak/narrow.cuh>
#include <ak/reduce.cuh>
#include <ak/threads.cuh>

#ifndef ALPHAKERNEL
constexpr int KEYS = 16;
constexpr int WARPS_M = 1;
constexpr int WARPS_K = 2;
constexpr int STAGES = 2;
constexpr bool LAST_BLOCK = false;
constexpr int CLUSTER = 0;
constexpr int D = 128;
constexpr bool PAGED = false;
constexpr int PAGE_SIZE = 16;
using scalar_t = __nv_bfloat16;
#endif

#ifdef AK_DTYPE_FLOAT8_E4M3FN
constexpr bool FP8 = true;
using query_t = __nv_bfloat16;
using element = ak::f16;
#else
constexpr bool FP8 = false;
using query_t = scalar_t;
using element = ak::Element<scalar_t>;
#endif

using ak::u16;
using ak::u32;

constexpr int TEAM = WARPS_M * 32;
constexpr int THREADS = WARPS_K * TEAM;
constexpr int ROWS = WARPS_M * 16;
constexpr int LINE = D * sizeof(scalar_t);  // bytes of a key
constexpr int QUERY_LINE = D * 2;
constexpr int TILE = KEYS * LINE;
constexpr int STAGE = 2 * TILE;  // keys and values
constexpr int PER_CHUNK = 16 / sizeof(scalar_t);
constexpr int PITCH = D + 8;  // of results in shared memory: the warp's 8 rows at a time are in different banks
constexpr float LOG2_E = 1.4426950408889634f;
constexpr u32 ALL_LANES = 0xffffffffu;

// ---- lines of 64 bytes and more in shared memory

// Chunks of 16 bytes are exchanged within groups of SPAN, so that any 8 neighbouring lines have the same chunk in
// different banks.
template <int BYTES>
constexpr int SPAN = BYTES % 128 == 0 ? 8 : 4;

// Where a chunk of a line lies; `across` leads from chunk 0 or 1 to the one an even number further on. Lines 8 further
// down are exchanged alike.
template <int BYTES>
__device__ __forceinline__ u32 place(int line, int chunk) {
  const int exchange = SPAN<BYTES> == 8 ? line % 8 : line / 2 % 4;
  return line * BYTES + chunk / SPAN<BYTES> * SPAN<BYTES> * 16 + (chunk % SPAN<BYTES> ^ exchange) * 16;
}
template <int BYTES>
__device__ __forceinline__ u32 across(u32 address, int chunks) {
  return (address ^ chunks % SPAN<BYTES> * 16) + chunks / SPAN<BYTES> * SPAN<BYTES> * 16;
}

// ---- keys and values of a team

__device__ __forceinline__ void wait_for_team(int team) {
  if constexpr (WARPS_M == 1) {
    __syncwarp();
  } else {
    ak::named_barrier<TEAM>(1 + team);
  }
}

struct Ring {
  static constexpr int CHUNKS = SPAN<LINE>;         // of a line that neighbouring threads copy
  static constexpr int STEP = TEAM / CHUNKS;        // lines that the team copies at a time
  static constexpr int PAGES = PAGED && PAGE_SIZE < KEYS ? KEYS / PAGE_SIZE : 1;  // of a tile
  static_assert(STEP <= 16, "the lines that are copied together lie in one page");

  const scalar_t *k, *v;  // of the key head, in the sequence or the pool of pages
  const int* table;       // pages of the sequence
  long long pitch;        // elements from a position to the next
  int length, first, tiles;
  int last_page;  // that the table has
  u32 slots;
  int pages[PAGES];  // of the tile that is copied next, asked for while the one before it is copied

  __device__ __forceinline__ int position(int tile) const { return first + tile * (WARPS_K * KEYS); }
  __device__ __forceinline__ u32 slot(int tile) const {
    return slots + static_cast<u32>(tile) % static_cast<u32>(STAGES) * STAGE;
  }
  __device__ __forceinline__ void look_up(int tile) {
    if constexpr (PAGED) {
#pragma unroll
      for (int p = 0; p < PAGES; ++p) {
        // Not by the length, which is on its way at first; lines past it are not copied, whatever their page.
        pages[p] = __ldg(table + min(position(tile) / PAGE_SIZE + p, last_page));
      }
    }
  }
  // Copies a tile, if there is one; lines past the sequence's end are zero.
  __device__ __forceinline__ void start(int tile) {
    if (tile < tiles) {
      const int thread = threadIdx.x % TEAM, line = thread / CHUNKS, chunk = thread % CHUNKS;
      const int begin = position(tile) + line;
      long long from;
#pragma unroll
      for (int i = 0; i < KEYS; i += STEP) {
        if (i % (KEYS / PAGES) == 0) {  // the first line here, or the first one in another page
          from = begin + i;
          if constexpr (PAGED) {
            const long long page = pages[i / (KEYS / PAGES)];
            from = page * PAGE_SIZE + static_cast<u32>(begin + i) % PAGE_SIZE;
          }
          from = from * pitch + chunk * PER_CHUNK;
        }
        const bool inside = begin + i < length;
        const long long source = inside ? from : 0;
        const u32 to = slot(tile) + place<LINE>(line + i, chunk);
#pragma unroll
        for (int c = 0; c < LINE / 16; c += CHUNKS) {
          ak::copy_async<16, CHUNKS * 16>(to + c * 16, k + source + c * PER_CHUNK, inside);
          ak::copy_async<16, CHUNKS * 16>(to + c * 16 + TILE, v + source + c * PER_CHUNK, inside);
        }
        from += STEP * pitch;
      }
      look_up(tile + 1);
    }
    ak::commit_copies();
  }
};

// ---- queries

// Multiplied by this, a row whose largest element is `top` is at most 2 in size.
__device__ __forceinline__ float into_range(float top) {
  const u32 exponent = __float_as_uint(top) & 0x7f800000u;  // the power of two at or below
  return exponent == 0 || exponent >= 0x7f000000u ? 1.0f : __uint_as_float(0x7f000000u - exponent);
}

// Eight elements of a query as f16. Of 16 the lower half of a product has elements 0, 1, 4, 5, ... and the upper half
// 2, 3, 6, 7, ..., as the bytes of keys come from shared memory: see multiply_keys.
__device__ __forceinline__ void put_as_f16(unsigned char* lines, int line, int chunk, const u32 (&pairs)[4],
                                           float factor) {
  u32 halves[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 two = ak::unpack_pair<ak::bf16>(pairs[i]);
    halves[i] = ak::pack_pair<ak::f16>(two.x * factor, two.y * factor);
  }
  lines += chunk % 2 * 8;
  const u32 lower = place<QUERY_LINE>(line, chunk / 2 * 2), upper = place<QUERY_LINE>(line, chunk / 2 * 2 + 1);
  *reinterpret_cast<uint2*>(lines + lower) = make_uint2(halves[0], halves[2]);
  *reinterpret_cast<uint2*>(lines + upper) = make_uint2(halves[1], halves[3]);
}

// The block's rows, from `first_row` on, to shared memory; rows past the end are zero. scales: what scores are to be
// multiplied by, a row.
__device__ __forceinline__ void stage_queries(unsigned char* lines, float* scales, const query_t* q,
                                              const ak::DecodeRows& rows, int sequence, int key_head, int first_row,
                                              float scale) {
  constexpr int CHUNKS = D / 8;
  for (int i = threadIdx.x; i < ROWS * CHUNKS; i += THREADS) {
    const int line = i / CHUNKS, chunk = i % CHUNKS, row = first_row + line;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows.count()) {
      const long long from = static_cast<long long>(rows.line(sequence, key_head, row)) * D + chunk * 8;
      bytes = *reinterpret_cast<const uint4*>(q + from);
    }
    float factor = 1.0f;
    if constexpr (FP8) {
      const u32 pairs[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
      float top = 0.0f;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 two = ak::unpack_pair<ak::bf16>(pairs[j]);
        top = fmaxf(top, fmaxf(fabsf(two.x), fabsf(two.y)));
      }
      factor = into_range(ak::reduce_lanes<CHUNKS>(top, ak::Maximum()));
      put_as_f16(lines, line, chunk, pairs, factor);
    } else {
      *reinterpret_cast<uint4*>(lines + place<QUERY_LINE>(line, chunk)) = bytes;
    }
    if (chunk == 0) scales[line] = scale / factor;
  }
}

// The A operands of a warp's 16 rows. Longer ones than 128 elements would take too many registers.
struct Queries {
  static constexpr bool KEPT = D <= 128;
  u32 address;
  u32 kept[KEPT ? D / 16 : 1][4];

  __device__ __forceinline__ explicit Queries(u32 lines) {
    const int lane = threadIdx.x % 32;
    address = lines + place<QUERY_LINE>(threadIdx.x % TEAM / 32 * 16 + lane % 16, lane / 16);
    if constexpr (KEPT) {
#pragma unroll
      for (int step = 0; step < D / 16; ++step) ak::load_matrices(kept[step], across<QUERY_LINE>(address, step * 2));
    }
  }
  __device__ __forceinline__ void get(u32 (&a)[4], int step) const {
    if constexpr (KEPT) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = kept[step][i];
    } else {
      ak::load_matrices(a, across<QUERY_LINE>(address, step * 2));
    }
  }
};

// ---- products
// Sums of the matrix units: [0], [1] are neighbouring columns of row lane / 4, [2], [3] those of row lane / 4 + 8.

using Scores = float[KEYS / 8][4];
using Results = float[D / 8][4];

// Two of four bytes of e4m3 as f16.
__device__ __forceinline__ u32 as_halves(u32 bytes, int half) {
  const __half2 two = ak::unpack_fp8<ak::e4m3>(static_cast<u16>(half == 0 ? bytes : bytes >> 16));
  return *reinterpret_cast<const u32*>(&two);
}

__device__ __forceinline__ void multiply_keys(const Queries& queries, u32 tile, Scores& scores) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < KEYS / 8; ++n) scores[n][0] = scores[n][1] = scores[n][2] = scores[n][3] = 0.0f;
  if constexpr (FP8) {
    // Matrices: keys 0 to 7 and 8 to 15 of 16 elements, then of the next 16. A lane has four elements of a key: the
    // first two are its pair of the lower half of a product's 16, the others that of the upper half.
    const u32 address = tile + place<LINE>(lane % 16, lane / 16);
#pragma unroll
    for (int step = 0; step < D / 16; step += 2) {
      u32 a[2][4];
      queries.get(a[0], step);
      queries.get(a[1], step + 1);
#pragma unroll
      for (int n = 0; n < KEYS / 16; ++n) {
        u32 b[4];
        ak::load_matrices(b, across<LINE>(address, step) + n * 16 * LINE);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          ak::mma<element>(scores[2 * n + i % 2], a[i / 2], as_halves(b[i], 0), as_halves(b[i], 1));
      }
    }
  } else {
    const u32 address = tile + place<LINE>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
    for (int step = 0; step < D / 16; ++step) {
      u32 a[4];
      queries.get(a, step);
#pragma unroll
      for (int n = 0; n < KEYS / 16; ++n) {
        u32 b[4];
        ak::load_matrices(b, across<LINE>(address, step * 2) + n * 16 * LINE);
        ak::mma<element>(scores[2 * n], a, b[0], b[1]);
        ak::mma<element>(scores[2 * n + 1], a, b[2], b[3]);
      }
    }
  }
}

__device__ __forceinline__ void multiply_values(const Scores& p, u32 tile, Results& results) {
  const int lane = threadIdx.x % 32;
  const u32 address = tile + place<LINE>(lane % 16, lane / 16);
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    u32 a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float* two = &p[2 * step + i / 2][i % 2 * 2];
      a[i] = ak::pack_pair<element>(two[0], two[1]);
    }
#pragma unroll
    for (int chunk = 0; chunk < LINE / 16; chunk += 2) {
      u32 b[4];  // of both chunks: keys 0 to 7, keys 8 to 15
      ak::load_matrices_transposed(b, across<LINE>(address, chunk) + step * 16 * LINE);
      if constexpr (FP8) {
        // A lane has elements d and d + 1 of two keys: even elements of a chunk are one product, odd ones another.
#pragma unroll
        for (int i = 0; i < 4; ++i) b[i] = __byte_perm(b[i], 0, 0x3120);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const u32 *two = &b[i / 2 * 2], lower = as_halves(two[0], i % 2), upper = as_halves(two[1], i % 2);
          ak::mma<element>(results[2 * chunk + i], a, lower, upper);
        }
      } else {
        ak::mma<element>(results[chunk], a, b[0], b[1]);
        ak::mma<element>(results[chunk + 1], a, b[2], b[3]);
      }
    }
  }
}

// ---- softmax, of the lane's rows lane / 4 and lane / 4 + 8

struct Softmax {
  float scale[2];  // scores times this are exponents of two
  int seen[2];     // keys that the row sees
  float top[2], sum[2];

  __device__ __forceinline__ void mask(Scores& scores, int position) const {
    const int column = position + threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (column + n * 8 + i % 2 >= seen[i / 2]) scores[n][i] = ak::minus_infinity();
      }
    }
  }

  // Scores become probabilities times 2^(their logarithm - top).
  __device__ __forceinline__ void add(Scores& scores, Results& results) {
    float above[2];
    bool raised = false;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      above[half] = ak::minus_infinity();
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n)
        above[half] = fmaxf(above[half], fmaxf(scores[n][half * 2], scores[n][half * 2 + 1]));
      above[half] = fmaxf(top[half], ak::reduce_quad(above[half], ak::Maximum()) * scale[half]);
      raised |= above[half] > top[half];
    }
    if (__any_sync(ALL_LANES, raised)) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float factor = above[half] == top[half] ? 1.0f : ak::fast_exp2(top[half] - above[half]);
        top[half] = above[half];
        sum[half] *= factor;
#pragma unroll
        for (int n = 0; n < D / 8; ++n) results[n][half * 2] *= factor, results[n][half * 2 + 1] *= factor;
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // Before the first key that the row sees all scores are minus infinity, and so must be their exponents.
      const float shift = top[half] == ak::minus_infinity() ? 0.0f : top[half];
#pragma unroll
      for (int n = 0; n < KEYS / 8; ++n) {
#pragma unroll
        for (int i = half * 2; i < half * 2 + 2; ++i) {
          scores[n][i] = ak::fast_exp2(fmaf(scores[n][i], scale[half], -shift));
          sum[half] += scores[n][i];
        }
      }
    }
  }
};

// ---- results

// What teams leave for each other in the memory of their rings.
struct Meeting {
  float *results, *tops, *sums;  // [WARPS_K][ROWS][PITCH], [WARPS_K][ROWS] twice

  __device__ __forceinline__ explicit Meeting(unsigned char* memory)
      : results(reinterpret_cast<float*>(memory)),
        tops(results + WARPS_K * ROWS * PITCH),
        sums(tops + WARPS_K * ROWS) {}

  __device__ __forceinline__ void leave(const Results& from, const Softmax& softmax) const {
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 + lane / 4;  // teams' rows one after another
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + half * 8;
      const float sum = ak::reduce_quad(softmax.sum[half], ak::Sum());
      if (lane % 4 == 0) tops[row] = softmax.top[half], sums[row] = sum;
      float* to = results + row * PITCH;
#pragma unroll
      for (int n = 0; n < D / 8; n += 2) {
        const float *low = &from[n][half * 2], *high = &from[n + 1][half * 2];
        if constexpr (FP8) {  // even elements, odd elements
          *reinterpret_cast<float4*>(to + n * 8 + lane % 4 * 4) = make_float4(low[0], high[0], low[1], high[1]);
        } else {
          *reinterpret_cast<float2*>(to + n * 8 + lane % 4 * 2) = make_float2(low[0], low[1]);
          *reinterpret_cast<float2*>(to + n * 8 + 8 + lane % 4 * 2) = make_float2(high[0], high[1]);
        }
      }
    }
  }
};

__global__ void __launch_bounds__(128)
    combine_splits(const int* __restrict__ lengths, const float* __restrict__ part, const float* __restrict__ part_lse,
                   query_t* __restrict__ o, float* __restrict__ lse, int lines, int lines_of_sequence, int splits,
                   int share) {
  const int i = blockIdx.x * 128 + threadIdx.x, line = i / (D / 4);
  if (line >= lines) return;
  const int used = (lengths[line / lines_of_sequence] + share - 1) / share;
  ak::wait_for_parts();
  ak::combine_decoded<D>(part, part_lse, o, lse, line, i % (D / 4) * 4, splits, used);
}

// q, o: [b][queries][hq][D]; k, v: [b][room][hkv][D], or [pages][PAGE_SIZE][hkv][D]; part: [b][queries][hq][splits][D].
__global__ void __launch_bounds__(THREADS)
    decode_split(const query_t* __restrict__ q, const scalar_t* __restrict__ k, const scalar_t* __restrict__ v,
                 const int* __restrict__ lengths, const int* __restrict__ block_table,
                 const float* __restrict__ k_scale, const float* __restrict__ v_scale, query_t* __restrict__ o,
                 float* __restrict__ lse, float* part, float* part_lse, unsigned int* arrived, int queries, int hq,
                 int hkv, int room, int share) {
  extern __shared__ __align__(128) unsigned char memory[];
  unsigned char* rings = memory + ROWS * QUERY_LINE;
  float* scales = reinterpret_cast<float*>(rings + WARPS_K * max(STAGES * STAGE, ROWS * (PITCH + 2) * 4));
  ak::let_combination_begin();
  const ak::DecodeRows rows{queries, hq, hkv};
  const int split = blockIdx.x, key_head = blockIdx.y % hkv, first_row = blockIdx.y / hkv * ROWS, sequence = blockIdx.z;
  const int length = lengths[sequence];
  const int begin = split * share, end = min(begin + share, length);
  const int team = threadIdx.x / TEAM;
  Ring ring;
  const long long first_line = PAGED ? 0 : static_cast<long long>(sequence) * room;
  ring.k = k + (first_line * hkv + key_head) * D;
  ring.v = v + (first_line * hkv + key_head) * D;
  const int pages = (room + PAGE_SIZE - 1) / PAGE_SIZE;
  ring.table = block_table + static_cast<long long>(sequence) * pages;
  ring.last_page = pages - 1;
  ring.pitch = static_cast<long long>(hkv) * D;
  ring.first = begin + team * KEYS;
  ring.slots = ak::shared_address(rings) + team * (STAGES * STAGE);
  ring.look_up(0);

  if (begin < length || split == 0) {
    ring.length = length;
    ring.tiles = max(end - ring.first + WARPS_K * KEYS - 1, 0) / (WARPS_K * KEYS);
    for (int tile = 0; tile < STAGES - 1; ++tile) ring.start(tile);

    const float scale = LOG2_E / sqrtf(static_cast<float>(D)) * (FP8 ? k_scale[key_head] : 1.0f);
    stage_queries(memory, scales, q, rows, sequence, key_head, first_row, scale);
    __syncthreads();
    const Queries operands(ak::shared_address(memory));
    Softmax softmax;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = threadIdx.x % TEAM / 32 * 16 + threadIdx.x % 32 / 4 + half * 8;
      softmax.scale[half] = scales[row];
      softmax.seen[half] = rows.seen(first_row + row, length);
      softmax.top[half] = ak::minus_infinity();
      softmax.sum[half] = 0.0f;
    }
    Results results = {};
    for (int tile = 0; tile < ring.tiles; ++tile) {
      ak::wait_copies<STAGES - 2>();
      wait_for_team(team);  // the tile is there for all, and the one before it was read by all
      ring.start(tile + STAGES - 1);
      Scores scores;
      multiply_keys(operands, ring.slot(tile), scores);
      if (ring.position(tile) + KEYS > rows.seen_by_all(length)) softmax.mask(scores, ring.position(tile));
      softmax.add(scores, results);
      multiply_values(scores, ring.slot(tile) + TILE, results);
    }

    ak::wait_copies<0>();
    __syncthreads();
    const Meeting meeting(rings);
    meeting.leave(results, softmax);
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * (D / 4); i += THREADS) {
      const int row = i / (D / 4), column = i % (D / 4) * 4;
      if (first_row + row >= rows.count()) break;
      float top = ak::minus_infinity();
#pragma unroll
      for (int other = 0; other < WARPS_K; ++other) top = fmaxf(top, meeting.tops[other * ROWS + row]);
      ak::SoftmaxParts all(top);
#pragma unroll
      for (int other = 0; other < WARPS_K; ++other) {
        const int at = other * ROWS + row;
        const float4 result = *reinterpret_cast<const float4*>(meeting.results + at * PITCH + column);
        all.add(meeting.tops[at], meeting.sums[at], result);
      }
      const float value_scale = FP8 ? v_scale[key_head] : 1.0f;
      const long long line = rows.line(sequence, key_head, first_row + row);
      if (gridDim.x == 1) {
        ak::write_decoded<D>(o, lse, line, column, all, value_scale);
      } else if constexpr (CLUSTER > 0) {  // in the place of the first team, which no other thread reads
        *reinterpret_cast<float4*>(meeting.results + row * PITCH + column) = all.mean(value_scale);
        if (column == 0) scales[row] = all.log2_sum();
      } else {
        *reinterpret_cast<float4*>(part + (line * gridDim.x + split) * D + column) = all.mean(value_scale);
        if (column == 0) part_lse[line * gridDim.x + split] = all.log2_sum();
      }
    }
  }

  if constexpr (CLUSTER > 0) {
    if (gridDim.x == 1) return;
    ak::cluster_sync();
    // Each block combines as many columns of the rows, which all blocks have parts of.
    const int all = min(ROWS, rows.count() - first_row) * (D / 4), each = (all + gridDim.x - 1) / gridDim.x;
    const Meeting meeting(rings);
    for (int i = split * each + threadIdx.x; i < min((split + 1) * each, all); i += THREADS) {
      const int row = i / (D / 4), column = i % (D / 4) * 4;
      ak::combine_cluster<D>(ak::shared_address(meeting.results + row * PITCH + column), ak::shared_address(scales + row), o,
                             lse, rows.line(sequence, key_head, first_row + row), column, (length + share - 1) / share);
    }
    ak::cluster_sync();  // no block ends while others read what it left
  }
  if constexpr (LAST_BLOCK) {
    if (gridDim.x == 1) return;
    __syncthreads();
    if (!ak::is_last_block(arrived + sequence * gridDim.y + blockIdx.y)) return;
    for (int i = threadIdx.x; i < ROWS * (D / 4); i += THREADS) {
      const int row = first_row + i / (D / 4);
      if (row >= rows.count()) break;
      ak::combine_decoded<D>(part, part_lse, o, lse, rows.line(sequence, key_head, row), i % (D / 4) * 4, gridDim.x,
                             (length + share - 1) / share);
    }
  }
}
