/* alphakernel
{
  "tunables": {
    "CONSUMERS": {"values": [1, 2, 3], "default": 2},
    "BN": {"values": [64, 80, 96, 112, 128, 144, 160, 176, 192, 224], "default": 64},
    "STAGES": {"values": [2, 3], "default": 2},
    "GROUP": {"values": [1, 8, 65536], "default": 8},
    "PERSISTENT": {"values": [0, 1], "default": 1},
    "PINGPONG": {"values": [0, 1], "default": 1},
    "BUFFERS": {"values": [1, 2], "default": 1},
    "FMA_EXP": {"values": [0, 1, 2], "default": 0}
  },
  "starts": [
    {"BN": 128, "BUFFERS": 2, "PINGPONG": 0, "STAGES": 3},
    {"BN": 160, "BUFFERS": 2, "PINGPONG": 0},
    {"BUFFERS": 2, "CONSUMERS": 3},
    {"BN": 128, "BUFFERS": 2, "CONSUMERS": 3, "STAGES": 3},
    {"BN": 96},
    {"BN": 80, "BUFFERS": 2, "CONSUMERS": 3},
    {"BN": 224, "BUFFERS": 2, "PINGPONG": 0},
    {"BN": 224, "BUFFERS": 2, "FMA_EXP": 1, "PINGPONG": 0},
    {"BN": 192, "BUFFERS": 2, "PINGPONG": 0},
    {"BN": 224},
    {"BUFFERS": 2, "CONSUMERS": 3, "FMA_EXP": 1},
    {"BN": 128, "BUFFERS": 2, "CONSUMERS": 3, "FMA_EXP": 1, "STAGES": 3}
  ],
  "constraints": [
    "ARCH == 90",
    "PINGPONG == 0 or CONSUMERS > 1",
    "BUFFERS == 1 or PERSISTENT",
    "SHARED <= 232448",
    "SHARED + TABLE <= 232448",
    "GROUP == 8 or lengths == 'same'",
    "BN % 32 == 0 if FP8 else BN <= 192",
    "FMA_EXP == 0 or FP8",
    "D // 2 + BN // 2 + BN * sizeof_k // 8 <= (128 if CONSUMERS == 3 else 200) + (4 if FP8 else 0)"
  ],
  "let": {
    "FP8": "dtype == 'float8_e4m3fn'",
    "SAME": "lengths == 'same'",
    "TOKENS": "layout == 'tokens'",
    "BM": "CONSUMERS * 64",
    "TILES": "(ceil_div(S, BM) * B if SAME else S // BM + B) * H",
    "KEYS": "BN * round_up(D * sizeof_k, 128)",
    "VALUES": "round_up(BN, 128) * D if FP8 else KEYS",
    "SHARED": "BUFFERS * BM * round_up(D, 64) * 2 + STAGES * (KEYS + VALUES) + 2048",
    "TABLE": "0 if SAME else 4 * B + 4"
  },
  "workspace": [{"name": "values", "dtype": "dtype", "count": "B * G * D * round_up(T, 128) if FP8 else 0"}],
  "tensor_maps": [
    {"name": "map_q", "tensor": "q", "dtype": "dtype", "swizzle": "128B",
     "dims": ["D", "S", "B * H if SAME else H"],
     "strides_bytes": ["sizeof_q * D * (1 if SAME else H)", "sizeof_q * D * (S if SAME else 1)"],
     "box": ["128 // sizeof_q", 64, 1]},
    {"name": "map_k", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "B * G if SAME else G"],
     "strides_bytes": ["sizeof_k * D * (1 if SAME else G)", "sizeof_k * D * (T if SAME else 1)"],
     "box": ["128 // sizeof_k", "BN", 1]},
    {"name": "map_v", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "B * G if SAME else G"],
     "strides_bytes": ["sizeof_v * D * (1 if SAME else G)", "sizeof_v * D * (T if SAME else 1)"],
     "box": [64, "BN", 1]},
    {"name": "map_values", "tensor": "values", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["round_up(T, 128)", "D", "B * G"], "strides_bytes": ["round_up(T, 128)", "round_up(T, 128) * D"],
     "box": [128, "D", 1]},
    {"name": "map_o", "tensor": "o", "dtype": "dtype", "swizzle": "128B",
     "dims": ["D", "S", "B * H if SAME else H"],
     "strides_bytes": ["sizeof_o * D * (1 if SAME else H)", "sizeof_o * D * (S if SAME else 1)"],
     "box": [64, 64, 1]},
    {"name": "map_o_of_fp8", "tensor": "o", "dtype": "bfloat16", "swizzle": "128B",
     "dims": ["D", "S", "B * H if SAME else H"],
     "strides_bytes": ["sizeof_o * D * (1 if SAME else H)", "sizeof_o * D * (S if SAME else 1)"],
     "box": [64, 64, 1]},
    {"name": "map_q_by_tokens", "tensor": "q", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "H", "B"],
     "strides_bytes": ["sizeof_q * D * H", "sizeof_q * D", "sizeof_q * D * H * S"], "box": ["128 // sizeof_q", 64, 1, 1]},
    {"name": "map_k_by_tokens", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "G", "B"], "strides_bytes": ["sizeof_k * D * G", "sizeof_k * D", "sizeof_k * D * G * T"],
     "box": ["128 // sizeof_k", "BN", 1, 1]},
    {"name": "map_v_by_tokens", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "G", "B"], "strides_bytes": ["sizeof_v * D * G", "sizeof_v * D", "sizeof_v * D * G * T"],
     "box": [64, "BN", 1, 1]},
    {"name": "map_o_by_tokens", "tensor": "o", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "H", "B"],
     "strides_bytes": ["sizeof_o * D * H", "sizeof_o * D", "sizeof_o * D * H * S"], "box": [64, 64, 1, 1]}
  ],
  "launches": [
    {"kernel": "transpose_values", "grid": ["ceil_div(T, 128)", "D // 32", "B * G"], "block": [256], "when": "FP8",
     "args": ["v", "values", {"i32": "T"}]},
    {"kernel": "attention_wgmma", "grid": ["min(TILES, SM_COUNT) if PERSISTENT else TILES"],
     "block": ["(CONSUMERS + 1) * 128"], "shared_bytes": "SHARED + TABLE", "when": "not FP8 and not TOKENS",
     "args": ["map_q", "map_k", "map_v", "map_o", {"optional": "slopes"}, {"optional": "sinks"},
              {"optional": "residual"}, {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"},
              {"optional": "k_scale"}, {"optional": "v_scale"}, "o", "lse", {"i32": "B"}, {"i32": "H"}, {"i32": "G"},
              {"i32": "S"}, {"i32": "T"}]},
    {"kernel": "attention_wgmma", "grid": ["min(TILES, SM_COUNT) if PERSISTENT else TILES"],
     "block": ["(CONSUMERS + 1) * 128"], "shared_bytes": "SHARED + TABLE", "when": "TOKENS",
     "args": ["map_q_by_tokens", "map_k_by_tokens", "map_v_by_tokens", "map_o_by_tokens", {"optional": "slopes"},
              {"optional": "sinks"}, {"optional": "residual"}, {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"},
              {"optional": "k_scale"}, {"optional": "v_scale"}, "o", "lse", {"i32": "B"}, {"i32": "H"}, {"i32": "G"},
              {"i32": "S"}, {"i32": "T"}]},
    {"kernel": "attention_wgmma", "grid": ["min(TILES, SM_COUNT) if PERSISTENT else TILES"],
     "block": ["(CONSUMERS + 1) * 128"], "shared_bytes": "SHARED + TABLE", "when": "FP8",
     "args": ["map_q", "map_k", "map_values", "map_o_of_fp8", {"optional": "slopes"}, {"optional": "sinks"},
              {"optional": "residual"}, {"optional": "q_offsets"}, {"optional": "k_offsets"}, {"optional": "q_scale"},
              {"optional": "k_scale"}, {"optional": "v_scale"}, "o", "lse", {"i32": "B"}, {"i32": "H"}, {"i32": "G"},
              {"i32": "S"}, {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// o = softmax(q k^T / sqrt(D)) v on Hopper's matrix units, with the logarithm of the softmax's sum. One warp group
// moves data through the tensor memory accelerator: a warp fills two rings of STAGES tiles, of BN keys and BN values,
// another writes results back.
// CONSUMERS warp groups own 64 queries each. They keep the sums of o and a tile of scores in registers, and weights go
// from registers straight into the product with the values, which runs while the next tile's exponentials are taken.
// With PINGPONG the groups issue their products in turn, so that one group's softmax falls into the other's products.
//
//   shared memory:  [q, later o] x BUFFERS   [BN keys] x STAGES   [BN values] x STAGES   barriers   table of tiles
//
// Keys are walked from the last to the first: tiles that need a mask come first. Blocks begin with the last queries,
// which see the most keys, of GROUP heads, whose keys and values stay in L2. A head's sink is a key with a score and no
// value: a row begins with it, as the maximum and a sum of 1. Lines of heads that are no multiple of 128 bytes are filled
// up with zeros by the accelerator, which also cuts off what lies beyond S and T. Of sequences of varying lengths a table
// says how many tiles precede each; in the last tile of one, values of the next are cleared, and results are written by
// threads, row by row, as the accelerator goes on into the next sequence.
//
// fp8: a launch before lays values along keys, as wgmma takes bytes, in the order of the weights in registers. Weights
// are up to 2^RANGE, so that small ones are not lost. Results are twice as wide as queries.
// Follows Shah et al., FlashAttention-3, arXiv:2407.08608; Milakov and Gimelshein, Online normalizer calculation for
// softmax, arXiv:1805.02867.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <ak/attention.cuh>
#include <ak/barriers.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/narrow.cuh>
#include <ak/panels.cuh>
#include <ak/reduce.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>
#include <ak/wgmma_fp8.cuh>

#ifndef ALPHAKERNEL
constexpr int D = 128;
constexpr int CONSUMERS = 2;
constexpr int BN = 128;
constexpr int STAGES = 2;
constexpr int GROUP = 8;
constexpr int PINGPONG = 1;
constexpr int BUFFERS = 1;
constexpr int FMA_EXP = 0;
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

// Panels have lines of 128 bytes, as the 128-byte swizzle has.
constexpr int BYTES = sizeof(scalar_t);
constexpr int BM = CONSUMERS * 64;
constexpr int PER_LINE = 128 / BYTES;            // elements
constexpr int PANELS = (D * BYTES + 127) / 128;  // of queries and keys
constexpr int RESULT_PANELS = (D + 63) / 64;     // 64 results of 16 bits
constexpr int VALUE_PANELS = FP8 ? (BN + 127) / 128 : PANELS;
constexpr int Q_PANEL = BM * 128;  // bytes
constexpr int K_PANEL = BN * 128;
constexpr int V_PANEL = FP8 ? D * 128 : K_PANEL;  // of fp8 a line is a column of values
constexpr int Q_BYTES = RESULT_PANELS * Q_PANEL;  // of queries, later results
constexpr int K_BYTES = PANELS * K_PANEL;
constexpr int V_BYTES = VALUE_PANELS * V_PANEL;
constexpr int WEIGHTS = BN * BYTES / 8;     // registers
constexpr float RANGE = FP8 ? 8.0f : 0.0f;  // 2^8 of e4m3's 448

using ak::u32;
using element = ak::Element<scalar_t>;
using result = ak::Element<result_t>;
using Seen = ak::SeenKeys<CAUSAL, WINDOW>;
using Exponents = ak::ScoreExponents<D, SOFTCAP, ALIBI>;

// Whose turn it is to issue products: the group before hands it on.
__device__ __forceinline__ void wait_turn(int group) {
  if constexpr (PINGPONG) ak::named_barrier<256>(group + 1);
}
__device__ __forceinline__ void pass_turn(int group) {
  const int next = group + 1 == CONSUMERS ? 0 : group + 1;
  if constexpr (PINGPONG) ak::named_barrier_arrive<256>(next + 1);
}

// ---- tiles of BM queries of one head

struct Shape {
  int batches, heads, key_heads;
  int queries, keys;  // of a batch; of all where lengths vary
  const int *q_offsets, *k_offsets;
  const int* tiles_before;  // of the tiles of a head, before each sequence
  __device__ int tiles_per_head() const { return VARYING ? tiles_before[batches] : (queries + BM - 1) / BM; }
  __device__ int tiles() const { return tiles_per_head() * heads * (VARYING ? 1 : batches); }
  __device__ int rounds() const { return (tiles() + gridDim.x - 1) / gridDim.x; }
};

// Fills the table; a warp does so.
__device__ __forceinline__ void count_tiles(int* tiles_before, const int* offsets, int sequences) {
  const int lane = ak::lane_index();
  int before = 0;
  for (int first = 0; first < sequences; first += 32) {
    const int at = first + lane, own = at < sequences ? (offsets[at + 1] - offsets[at] + BM - 1) / BM : 0;
    int with_own = own;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const int other = __shfl_up_sync(0xffffffffu, with_own, offset);
      if (lane >= offset) with_own += other;
    }
    if (at < sequences) tiles_before[at] = before + with_own - own;
    before += __shfl_sync(0xffffffffu, with_own, 31);
  }
  if (lane == 0) tiles_before[sequences] = before;
}

// The tile of this block in a round; rounds go back and forth, so that no block always has the longer rows.
struct Tile {
  bool exists;
  int row = 0, head = 0;  // first query of its batch; head of queries in that
  Seen seen = {0, 0};     // of its batch
  ak::KeyTiles keys = {0, 0};
  int q_line = 0, k_line = 0, q_plane = 0, k_plane = 0;  // coordinates of its batch and head in the tensors
  int batch = 0;  // in the layout of tokens another coordinate, else part of the planes

  __device__ Tile(const Shape& shape, int round) {
    const int place = round % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x, index = round * gridDim.x + place;
    exists = index < shape.tiles();
    if (!exists) return;
    const int share = shape.heads / shape.key_heads;
    if constexpr (VARYING) {
      find_in_sequence(shape, index / shape.heads);
      q_plane = head = index % shape.heads;
      k_plane = head / share;
    } else {
      const int heads = shape.heads * shape.batches, per_head = shape.tiles_per_head(), group = min(GROUP, heads);
      const int section = index / (group * per_head), within = index - section * group * per_head;
      const int width = min(group, heads - section * group);
      row = (per_head - 1 - within / width) * BM;
      q_plane = section * group + within % width;
      k_plane = q_plane / share;
      head = q_plane % shape.heads;
      if constexpr (TOKENS) batch = q_plane / shape.heads, q_plane = head, k_plane = head / share;
      seen = {shape.queries, shape.keys};
    }
    keys = seen.tiles<BN, 1>(row, row + BM - 1);
  }
  // Tile `index` of a head, by bisection.
  __device__ void find_in_sequence(const Shape& shape, int index) {
    int low = 0, high = shape.batches;  // tiles_before[low] <= index < tiles_before[high]
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (shape.tiles_before[middle] <= index ? low : high) = middle;
    }
    row = (shape.tiles_before[low + 1] - 1 - index) * BM;
    q_line = shape.q_offsets[low];
    k_line = shape.k_offsets[low];
    seen = {shape.q_offsets[low + 1] - q_line, shape.k_offsets[low + 1] - k_line};
  }
};

// Addresses. A barrier for each stage of a ring says that it is filled, another that it may be filled again; o_full
// says that results are where the queries were.
struct Shared {
  u32 q, keys, values, q_full, q_empty, o_full, keys_full, keys_empty, values_full, values_empty, end;
  __device__ explicit Shared(u32 start) {
    q = (start + 1023) / 1024 * 1024;
    keys = q + BUFFERS * Q_BYTES;
    values = keys + STAGES * K_BYTES;
    q_full = values + STAGES * V_BYTES;
    q_empty = q_full + BUFFERS * 8;
    o_full = q_empty + BUFFERS * 8;
    keys_full = o_full + BUFFERS * 8;
    keys_empty = keys_full + STAGES * 8;
    values_full = keys_empty + STAGES * 8;
    values_empty = values_full + STAGES * 8;
    end = values_empty + STAGES * 8;
  }
  __device__ void init() const {
    for (int buffer = 0; buffer < BUFFERS; ++buffer) {
      ak::barrier_init(q_full + buffer * 8, 1);
      ak::barrier_init(q_empty + buffer * 8, 1);
      ak::barrier_init(o_full + buffer * 8, CONSUMERS * 128);
    }
    for (int stage = 0; stage < STAGES; ++stage) {
      ak::barrier_init(keys_full + stage * 8, 1);
      ak::barrier_init(keys_empty + stage * 8, CONSUMERS * 4);  // 4 warps a group
      ak::barrier_init(values_full + stage * 8, 1);
      ak::barrier_init(values_empty + stage * 8, CONSUMERS * 4);
    }
    ak::publish_barriers();
  }
};

// ---- moving data

// A panel of lines of a tile's batch and head.
__device__ __forceinline__ void fetch(u32 to, const CUtensorMap* map, u32 full, int column, int line, int plane,
                                      int batch) {
  if constexpr (TOKENS) {
    ak::tma_load(to, map, full, column, line, plane, batch);
  } else {
    ak::tma_load(to, map, full, column, line, plane);
  }
}
__device__ __forceinline__ void fetch_keys(u32 to, const CUtensorMap* map, int row, int plane, int batch, u32 full) {
  ak::barrier_expect(full, K_BYTES);
#pragma unroll 1  // the movers have 32 or 40 registers
  for (int panel = 0; panel < PANELS; ++panel)
    fetch(to + panel * K_PANEL, map, full, panel * PER_LINE, row, plane, batch);
}
__device__ __forceinline__ void fetch_values(u32 to, const CUtensorMap* map, int row, int plane, int batch, u32 full) {
  ak::barrier_expect(full, V_BYTES);
#pragma unroll 1
  for (int panel = 0; panel < VALUE_PANELS; ++panel) {
    const int across = panel * PER_LINE;
    fetch(to + panel * V_PANEL, map, full, FP8 ? row + across : across, FP8 ? 0 : row, plane, batch);
  }
}

// Whether the accelerator writes the 64 results from this row of a batch on: of varying lengths, where all exist.
__device__ __forceinline__ bool written_whole(const Tile& tile, int row) {
  return !VARYING || row + 64 <= tile.seen.queries;
}

// Calls f(address in shared memory, column, row of the batch) for the blocks of 64 lines of a buffer of queries or
// results, in panels of so many columns.
template <int COUNT, int COLUMNS, class F>
__device__ __forceinline__ void for_blocks(u32 buffer, const Tile& tile, F f) {
#pragma unroll 1
  for (int panel = 0; panel < COUNT; ++panel) {
#pragma unroll 1
    for (int group = 0; group < CONSUMERS; ++group) {
      f(buffer + panel * Q_PANEL + group * 8192, panel * COLUMNS, tile.row + group * 64);
    }
  }
}

__device__ __forceinline__ void fetch_all(const CUtensorMap* map_q, const CUtensorMap* map_k, const CUtensorMap* map_v,
                                          const Shared& shared, const Shape& shape) {
  ak::Ring<STAGES> ring;
  ak::Ring<BUFFERS> queries;
  for (int round = 0; round < shape.rounds(); ++round) {
    const Tile tile(shape, round);
    if (!tile.exists) continue;
    for (int step = tile.keys.end - 1; step >= tile.keys.begin; --step) {
      ak::barrier_wait(shared.keys_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_keys(shared.keys + ring.stage * K_BYTES, map_k, tile.k_line + step * BN, tile.k_plane,
                 tile.batch, ring.of(shared.keys_full));
      if (step == tile.keys.end - 1) {  // after the first keys: the results of a tile before may still be leaving
        const u32 full = shared.q_full + queries.stage * 8;
        ak::barrier_wait(shared.q_empty + queries.stage * 8, queries.parity ^ 1);
        ak::barrier_expect(full, PANELS * Q_PANEL);
        for_blocks<PANELS, PER_LINE>(shared.q + queries.stage * Q_BYTES, tile, [&](u32 to, int column, int row) {
          fetch(to, map_q, full, column, tile.q_line + row, tile.q_plane, tile.batch);
        });
        queries.advance();
      }
      ak::barrier_wait(shared.values_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_values(shared.values + ring.stage * V_BYTES, map_v, tile.k_line + step * BN, tile.k_plane,
                   tile.batch, ring.of(shared.values_full));
      ring.advance();
    }
  }
}

__device__ __forceinline__ void write_all(const CUtensorMap* map_o, const Shared& shared, const Shape& shape) {
  ak::Ring<BUFFERS> results;
  for (int round = 0; round < shape.rounds(); ++round) {
    const Tile tile(shape, round);
    if (!tile.exists) continue;
    ak::barrier_wait(shared.o_full + results.stage * 8, results.parity);
    for_blocks<RESULT_PANELS, 64>(shared.q + results.stage * Q_BYTES, tile, [&](u32 from, int column, int row) {
      if constexpr (TOKENS) {
        ak::tma_store(map_o, from, column, row, tile.q_plane, tile.batch);
      } else if (written_whole(tile, row)) {
        ak::tma_store(map_o, from, column, tile.q_line + row, tile.q_plane);
      }
    });
    ak::commit_stores();
    ak::wait_stores_read<0>();
    ak::barrier_arrive(shared.q_empty + results.stage * 8);
    results.advance();
  }
  ak::wait_stores<0>();
}

// ---- products and softmax of one warp group. A thread holds elements of two rows, 8 apart.

__device__ __forceinline__ void release(u32 barrier) {
  if (threadIdx.x % 32 == 0) ak::barrier_arrive(barrier);  // each warp for itself: another may still be reading
}

__device__ __forceinline__ void multiply_keys(u32 q, u32 keys, float (&scores)[BN / 2]) {
#pragma unroll
  for (int step = 0; step < D * BYTES / 32; ++step) {
    ak::Wgmma<element, BN>::multiply(scores, ak::wgmma_operand(q + step / 4 * Q_PANEL + step % 4 * 32),
                                     ak::wgmma_operand(keys + step / 4 * K_PANEL + step % 4 * 32), step == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

__device__ __forceinline__ void multiply_values(u32 values, const u32 (&weights)[WEIGHTS], float (&sums)[D / 2]) {
#pragma unroll
  for (int step = 0; step < BN * BYTES / 32; ++step) {
    // But for fp8 they lie across the sum over keys: V_PANEL bytes from 64 of their elements to the next 64.
    const u32 address = values + (FP8 ? step / 4 * V_PANEL + step % 4 * 32 : step * 16 * 128);
    ak::Wgmma<element, D, false, !FP8>::multiply(sums, &weights[step * 4], ak::wgmma_operand(address, V_PANEL));
  }
  ak::wgmma_commit();
}

// Products with keys, counted from first, become what the exponents say, for the queries row and row + 8.
__device__ __forceinline__ void to_exponents(float (&scores)[BN / 2], const Exponents& exponents, const Seen& seen,
                                             int row, int first) {
  const float distance = seen.position(row) - first - static_cast<int>(threadIdx.x % 4 * 2);
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    scores[i] = exponents(scores[i], distance + i / 2 % 2 * 8 - (i / 4 * 8 + i % 2));
  }
}

// Takes away the scores of keys, counted from first, that the queries row and row + 8 do not see.
__device__ __forceinline__ void mask(float (&scores)[BN / 2], const Seen& seen, int row, int first) {
  const int column = first + threadIdx.x % 4 * 2;
  const int begin[2] = {seen.begin(row) - column, seen.begin(row + 8) - column};
  const int end[2] = {seen.end(row) - column, seen.end(row + 8) - column};
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    const int key = i / 4 * 8 + i % 2, half = i / 2 % 2;
    if (key >= end[half] || (WINDOW > 0 && key < begin[half])) scores[i] = ak::minus_infinity();
  }
}

// Row maxima so far, of scores times scale, and sums of the weights: powers of 2 of the scores' distance to them, times
// 2^RANGE.
struct Softmax {
  float scale, maximum[2], sum[2];

  // FMA_EXP of four weights leave the special function units alone, which fp8 keeps busy for as long as the products.
  static __device__ __forceinline__ float weigh(float exponent, int place) {
    return place < FMA_EXP ? ak::exp2_by_fma(exponent) : ak::fast_exp2(exponent);
  }
  // Such a weight would lose a NaN: the maximum has it then, so that the other weights of the row are NaN.
  static __device__ __forceinline__ float larger(float x, float y) {
    return FMA_EXP > 0 ? ak::maximum_or_nan(x, y) : fmaxf(x, y);
  }
  struct Larger {
    __device__ __forceinline__ float operator()(float x, float y) const { return larger(x, y); }
  };

  // Scores become weights; factor: what the sums so far are to be multiplied by.
  __device__ __forceinline__ void step(float (&scores)[BN / 2], float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = scores[half * 2];
#pragma unroll
      for (int i = 0; i < BN / 8; ++i) {
        largest = larger(largest, larger(scores[i * 4 + half * 2], scores[i * 4 + half * 2 + 1]));
      }
      // Rounded by itself, so that a maximum that stays gives a factor of exactly 1.
      largest = larger(maximum[half], __fmul_rn(ak::reduce_quad(largest, Larger()), scale));
      const float base = largest == ak::minus_infinity() ? 0.0f : largest;  // a row without a key yet keeps weights of zero
      factor[half] = ak::fast_exp2(maximum[half] - base);
      maximum[half] = largest;
      float added = 0.0f;
#pragma unroll
      for (int i = 0; i < BN / 8; ++i) {
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          float& score = scores[i * 4 + half * 2 + odd];
          score = weigh(score * scale - (base - RANGE), (i * 2 + odd) % 4);
          added += score;
        }
      }
      sum[half] = sum[half] * factor[half] + added;
    }
  }
};

__device__ __forceinline__ void to_weights(const float (&scores)[BN / 2], u32 (&weights)[WEIGHTS]) {
#pragma unroll
  for (int i = 0; i < WEIGHTS; ++i) {
    if constexpr (FP8) {
      const float* two = &scores[i / 2 * 8 + i % 2 * 2];  // and two of the next 8 keys
      weights[i] = ak::pack_fp8<element>(two[0], two[1], two[4], two[5]);
    } else {
      weights[i] = ak::pack_pair<element>(scores[i * 2], scores[i * 2 + 1]);
    }
  }
}

__device__ __forceinline__ void rescale(float (&sums)[D / 2], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < D / 2; ++i) sums[i] *= factor[i / 2 % 2];
}

// residual: of this thread's first row, of the `count` that are left.
__device__ __forceinline__ void add_residual(float (&sums)[D / 2], const result_t* residual, int pitch, int count) {
  residual += threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < D / 2; i += 2) {
    const int row = i / 2 % 2 * 8;
    if (row >= count) continue;
    const u32 pair = *reinterpret_cast<const u32*>(residual + row * pitch + i / 4 * 8);
    const float2 added = ak::unpack_pair<result>(pair);
    sums[i] += added.x, sums[i + 1] += added.y;
  }
}

// 64 x D results into the place of this group's queries, which nobody else reads. Of fp8, columns beyond D, which queries
// have not filled up, are zero.
__device__ __forceinline__ void put_results(u32 q, const float (&sums)[D / 2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  const int row = warp * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
  for (int pair = 0; pair < (FP8 ? RESULT_PANELS * 4 : D / 16); ++pair) {
    u32 words[4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (pair < D / 16) words[i] = ak::pack_pair<result>(sums[pair * 8 + i * 2], sums[pair * 8 + i * 2 + 1]);
    }
    const int chunk = pair % 4 * 2 + lane / 16;
    ak::store_matrices(q + pair / 4 * Q_PANEL + ak::swizzled(row, chunk), words[0], words[1], words[2], words[3]);
  }
  ak::fence_shared_writes();
}

struct Consumer {
  const Shared& shared;
  const Shape& shape;
  const int group;
  result_t* const o;
  float* const lse;
  const result_t* const residual;
  ak::Ring<STAGES> keys, values;
  ak::Ring<BUFFERS> queries;

  __device__ u32 keys_now() const { return shared.keys + keys.stage * K_BYTES; }
  __device__ u32 values_now() const { return shared.values + values.stage * V_BYTES; }
  __device__ u32 queries_now() const { return shared.q + queries.stage * Q_BYTES + group * 8192; }
  __device__ __forceinline__ void wait_keys() { ak::barrier_wait(shared.keys_full + keys.stage * 8, keys.parity); }
  __device__ __forceinline__ void wait_values() { ak::barrier_wait(shared.values_full + values.stage * 8, values.parity); }
  __device__ __forceinline__ void release_keys() {
    release(shared.keys_empty + keys.stage * 8);
    keys.advance();
  }
  __device__ __forceinline__ void release_values() {
    release(shared.values_empty + values.stage * 8);
    values.advance();
  }

  // Keys that only other groups see.
  __device__ __forceinline__ void skip() {
    wait_keys();
    release_keys();
    wait_values();
    release_values();
    wait_turn(group);
    pass_turn(group);
  }

  // Zeros for the values of the next sequence in the tile that is walked first: they may be no numbers, which a weight of
  // zero does not take away. All groups share the lines, and none has a turn yet.
  __device__ __forceinline__ void clear_neighbours(const Tile& tile) {
    const int own = max(tile.seen.keys - (tile.keys.end - 1) * BN, 0);  // lines
    if (own >= BN) return;
    wait_values();
    for (int i = own * 8 + threadIdx.x; i < BN * 8; i += CONSUMERS * 128) {
#pragma unroll
      for (int panel = 0; panel < VALUE_PANELS; ++panel) {
        const u32 to = values_now() + panel * V_PANEL + i * 16;
        asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(to), "r"(0) : "memory");
      }
    }
    ak::fence_shared_writes();
    ak::named_barrier<CONSUMERS * 128>(2 * CONSUMERS + 1);
  }

  // Scores of a tile of keys, as exponents where the softmax does not just scale them. row: this thread's first.
  __device__ __forceinline__ void prepare(float (&scores)[BN / 2], const Exponents& exponents, const Tile& tile,
                                          int row, int step) {
    const int first = tile.row + group * 64;
    if constexpr (!Exponents::kScaled) to_exponents(scores, exponents, tile.seen, row, step * BN);
    if (tile.seen.masked(first, first + 63, step * BN, BN)) mask(scores, tile.seen, row, step * BN);
  }

  // Leaves weights times values in `sums`, not yet divided by the sums of the weights.
  __device__ __forceinline__ void run(const Tile& tile, int row, const Exponents& exponents, float (&sums)[D / 2],
                                      Softmax& softmax) {
    const ak::KeyTiles own = tile.seen.tiles<BN, 1>(tile.row + group * 64, tile.row + group * 64 + 63);
    float scores[BN / 2], factor[2];
    u32 weights[WEIGHTS];
    int step = tile.keys.end - 1;
    if constexpr (VARYING) clear_neighbours(tile);
    for (; step >= own.end; --step) skip();
    wait_keys();
    ak::wgmma_fence();
    multiply_keys(queries_now(), keys_now(), scores);
    ak::wgmma_wait<0>();
    release_keys();
    prepare(scores, exponents, tile, row, step);
    softmax.step(scores, factor);
    to_weights(scores, weights);
    for (--step; step >= own.begin; --step) {
      wait_keys();
      wait_turn(group);
      ak::wgmma_fence();
      multiply_keys(queries_now(), keys_now(), scores);
      wait_values();
      ak::wgmma_fence();
      multiply_values(values_now(), weights, sums);
      pass_turn(group);
      ak::wgmma_wait<1>();
      release_keys();
      prepare(scores, exponents, tile, row, step);
      softmax.step(scores, factor);
      ak::wgmma_wait<0>();
      release_values();
      rescale(sums, factor);
      to_weights(scores, weights);
    }
    wait_values();
    ak::wgmma_fence();
    multiply_values(values_now(), weights, sums);
    ak::wgmma_wait<0>();
    release_values();
    for (; WINDOW > 0 && step >= tile.keys.begin; --step) skip();
  }

  // Where a row of this tile's batch and head begins in o and residual. Heads lie within a token where lengths vary and
  // in the layout of tokens, else tokens within a head.
  __device__ __forceinline__ int pitch() const { return VARYING || TOKENS ? shape.heads * D : D; }
  __device__ __forceinline__ long long element(const Tile& tile, int row) const {
    const long long line = tile.q_line + row;
    if constexpr (TOKENS) return (static_cast<long long>(tile.batch) * shape.queries + line) * pitch() + tile.head * D;
    return VARYING ? line * pitch() + tile.head * D : (static_cast<long long>(tile.q_plane) * shape.queries + line) * D;
  }

  // Rows of a sequence's last tile, behind the barrier of this group.
  __device__ __forceinline__ void write_rows(const Tile& tile) {
    const int row = tile.row + group * 64;
    ak::named_barrier<128>(CONSUMERS + 1 + group);
#pragma unroll
    for (int panel = 0; panel < RESULT_PANELS; ++panel) {
      ak::copy_panel(o + element(tile, row) + panel * 64, pitch(), queries_now() + panel * Q_PANEL,
                     tile.seen.queries - row, D - panel * 64);
    }
  }

  // value_scale: of fp8.
  __device__ __forceinline__ void finish(const Tile& tile, int row, float (&sums)[D / 2], const Softmax& softmax,
                                         float value_scale) {
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = ak::reduce_quad(softmax.sum[half], ak::Sum());
      factor[half] = sum == 0.0f ? 0.0f : value_scale / sum;
      if (threadIdx.x % 4 == 0 && row + half * 8 < tile.seen.queries) {
        const int plane = TOKENS ? tile.batch * shape.heads + tile.head : tile.q_plane;
        const long long at = static_cast<long long>(plane) * shape.queries + tile.q_line + row + half * 8;
        lse[at] = sum == 0.0f ? ak::minus_infinity() : (softmax.maximum[half] - RANGE + log2f(sum)) * ak::kLn2;
      }
    }
    rescale(sums, factor);
    if constexpr (RESIDUAL) add_residual(sums, residual + element(tile, row), pitch(), tile.seen.queries - row);
    put_results(queries_now(), sums);
    if (!written_whole(tile, tile.row + group * 64)) write_rows(tile);
    ak::barrier_arrive(shared.o_full + queries.stage * 8);
  }

  __device__ __forceinline__ void consume(const float* slopes, const float* sinks, const float* q_scale,
                                          const float* k_scale, const float* v_scale) {
    const int lane_row = group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    for (int round = 0; round < shape.rounds(); ++round) {
      const Tile tile(shape, round);
      if (!tile.exists) continue;
      const float first = SINKS ? sinks[tile.head] * ak::kLog2E : ak::minus_infinity();
      const float weight = SINKS && threadIdx.x % 4 == 0 ? exp2f(RANGE) : 0.0f;  // of the four threads of a row
      const int key_head = tile.head / (shape.heads / shape.key_heads);
      const Exponents exponents(slopes, tile.head, FP8 ? q_scale[tile.head] * k_scale[key_head] : 1.0f);
      const float scale = Exponents::kScaled ? Exponents::scale() * exponents.factor : 1.0f;
      Softmax softmax{scale, {first, first}, {weight, weight}};
      float sums[D / 2];
#pragma unroll
      for (float& sum : sums) sum = 0.0f;
      ak::barrier_wait(shared.q_full + queries.stage * 8, queries.parity);
      run(tile, tile.row + lane_row, exponents, sums, softmax);
      finish(tile, tile.row + lane_row, sums, softmax, FP8 ? v_scale[key_head] : 1.0f);
      queries.advance();
    }
  }
};

__global__ void __launch_bounds__(256) transpose_values(const scalar_t* v, scalar_t* values, int keys) {
  ak::transpose_values(v, values, keys, D);
}

// q, residual, o: batches x heads x queries x D; k, v: batches x key_heads x keys x D; slopes, sinks: heads; lse:
// batches x heads x queries. Of varying lengths: queries x heads x D, keys x key_heads x D, heads x queries. In the
// layout of tokens: batches x queries x heads x D, batches x keys x key_heads x D. Of fp8 map_v is of what
// transpose_values() leaves; q_scale: heads; k_scale, v_scale: key_heads.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    attention_wgmma(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                    const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o,
                    const float* __restrict__ slopes, const float* __restrict__ sinks,
                    const result_t* __restrict__ residual, const int* __restrict__ q_offsets,
                    const int* __restrict__ k_offsets, const float* __restrict__ q_scale,
                    const float* __restrict__ k_scale, const float* __restrict__ v_scale, result_t* __restrict__ o,
                    float* __restrict__ lse, int batches, int heads, int key_heads, int queries, int keys) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 start = ak::shared_address(memory);
  const Shared shared(start);
  int* tiles_before = reinterpret_cast<int*>(memory + (shared.end - start));
  const Shape shape{batches, heads, key_heads, queries, keys, q_offsets, k_offsets, tiles_before};
  if (threadIdx.x == 0) shared.init();
  if constexpr (VARYING) {
    if (threadIdx.x / 32 == 1) count_tiles(tiles_before, q_offsets, batches);
  }
  __syncthreads();
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if constexpr (CONSUMERS == 3) ak::give_registers<32>();
    if (threadIdx.x % 128 == 0) fetch_all(&map_q, &map_k, &map_v, shared, shape);
    if (threadIdx.x % 128 == 32) write_all(&map_o, shared, shape);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    if constexpr (CONSUMERS == 3) ak::take_registers<160, 3, 32>();
    if (group == CONSUMERS - 1) pass_turn(group);
    Consumer consumer{shared, shape, group, o, lse, residual};
    consumer.consume(slopes, sinks, q_scale, k_scale, v_scale);
  }
}
