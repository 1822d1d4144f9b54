/* alphakernel
{
  "tunables": {
    "QUERIES": {"values": [64, 96, 112, 128], "default": 64},
    "DOUT_STAGES": {"values": [1, 2], "default": 2},
    "HEADS": {"values": [1, 2, 4, 8, 16, 32, 64], "default": 32},
    "EARLY_DQ": {"values": [0, 1], "default": 0},
    "LAG": {"values": [0, 1], "default": 0},
    "TOGETHER": {"values": [1, 4, 8, 16, 32], "default": 1}
  },
  "starts": [{"HEADS": 4}, {"HEADS": 8, "TOGETHER": 16}, {"QUERIES": 112}, {"QUERIES": 112, "HEADS": 8}, {"TOGETHER": 4},
             {"QUERIES": 112, "HEADS": 8, "TOGETHER": 16}, {"HEADS": 16, "TOGETHER": 8}, {"HEADS": 4, "TOGETHER": 32},
             {"HEADS": 8}, {"QUERIES": 112, "EARLY_DQ": 1}, {"LAG": 1}, {"QUERIES": 112, "EARLY_DQ": 1, "LAG": 1}],
  "constraints": [
    "ARCH == 90",
    "D <= 128",
    "QUERIES <= (64 if D == 128 else 128)",
    "EARLY_DQ == 0 or D == 64",
    "TOGETHER == 1 or causal and not any_order and HEADS * TOGETHER == 128",
    "not any_order or T <= 128 * 65535",
    "SHARED <= 232448"
  ],
  "let": {
    "TILES": "ceil_div(S, QUERIES)",
    "SHARED": "512 * D + QUERIES * (2 * D * (2 + DOUT_STAGES) + 512 + 4 * D + 16 + (2 * D if causal else 0)) + 1152"
  },
  "workspace": [
    {"name": "rows", "dtype": "float32", "count": "B * H * TILES * QUERIES * 2"},
    {"name": "sums", "dtype": "float32", "count": "B * H * TILES * QUERIES * D"},
    {"name": "turns", "dtype": "int32", "count": "B * H * TILES"}
  ],
  "tensor_maps": [
    {"name": "map_q", "tensor": "q", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, "QUERIES", 1]},
    {"name": "map_dout", "tensor": "dout", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, "QUERIES", 1]},
    {"name": "map_k", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 128, 1]},
    {"name": "map_v", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 128, 1]},
    {"name": "map_dk", "tensor": "dk", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 64, 1]},
    {"name": "map_dv", "tensor": "dv", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 64, 1]}
  ],
  "launches": [
    {"kernel": "sum_rows", "grid": ["ceil_div(B * H * TILES * QUERIES * D, 1024)"], "block": [128],
     "args": ["o", "dout", "lse", "rows", "turns", {"i32": "S"}, {"i32": "TILES"}, {"i32": "B * H"}]},
    {"kernel": "backward", "grid": ["ceil_div(T, 128) * B * G"], "block": [384], "shared_bytes": "SHARED",
     "args": ["map_q", "map_k", "map_v", "map_dout", "map_dk", "map_dv", "rows", "sums", "turns", "dq",
              {"i32": "H // G"}, {"i32": "S"}, {"i32": "T"}]},
    {"kernel": "round_sums", "grid": ["TILES", "B * H"], "block": [256], "when": "not causal",
     "args": ["sums", "dq", {"i32": "S"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention on Hopper's matrix units in one pass, five products: a block has 128 keys and walks the queries
// that see them; its shares of dq are added to those of the other blocks in global memory.
//
//   p = exp(q k / sqrt(D) - lse)   delta = sum(o dout)   ds = p (dout v - delta)
//   a group, 64 keys:  p^T, ds^T in registers  ->  dv += p^T dout, dk += ds^T q
//   both groups:       ds in shared memory     ->  dq^T = k^T ds^T, half of it each  ->  sums (fp32)
//
//   shared memory:  k | v | 2 steps of q | DOUT_STAGES steps of dout | 2 of ds | dq | rows of 2 steps | sums to round
//
// Of a step, products follow each other as
//   dout v   p^T dout   k^T ds^T of the step before   ds^T q   q k of the next step
// with the exponentials during the first, ds during the second (EARLY_DQ: and the third), and dq on its way out during
// the last two. As dq is a step late, groups need not wait for each other's ds, and may be half a step apart (LAG): one
// multiplies while the other computes. A step's dq lies in the order of the warps' registers, in shared memory and in
// `sums`, and is one bulk addition, of the first keys a store. Blocks add in the order of their keys, which a word in
// memory for each tile lets through, so that the bytes are always the same; or, where the problem permits it, in any order,
// behind the one that comes first and stores. Two warps add, every other step each: one waits until its addition can be
// seen, about a microsecond, while the other waits for the turn of the next.
//
// Blocks of a head read the same queries and add to the same sums. HEADS heads are at work at a time: where L2 has room
// for all that is theirs, as for four heads of 8,192 queries, blocks may be anywhere in it. In the order of keys they may
// not: with a causal mask a block begins some tiles behind the one before, and would wait until that one is there. More
// heads have fewer blocks each at work, which wait less but bring everything anew, so that these have to keep in step.
// TOGETHER wants neither: so many blocks of a head take the tiles that all of them have first and then what is their own,
// each ending earlier than the one before; those that follow, one after the other, take their own first, and then they
// are together again and end at the same time. HEADS * TOGETHER is 128, for the 132 SMs of an H200.
//
// The sums of a tile are brought into rows and rounded when its last keys have been added: with a causal mask these are
// of another block for every tile or two, and a warp of it does that meanwhile; without one they would all be of the
// last block of a head, and one more launch does it.
// Follows Dao, FlashAttention-2, arXiv:2307.08691, and Shah et al., FlashAttention-3, arXiv:2407.08608.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/attention.cuh>
#include <ak/barriers.cuh>
#include <ak/elements.cuh>
#include <ak/fragments.cuh>
#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>

#ifndef ALPHAKERNEL
constexpr int QUERIES = 64;
constexpr int DOUT_STAGES = 2;
constexpr int HEADS = 32;
constexpr int EARLY_DQ = 0;
constexpr int LAG = 0;
constexpr int TOGETHER = 1;
constexpr int D = 128;
constexpr bool CAUSAL = false;
constexpr bool ANY_ORDER = false;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Seen = ak::SeenKeys<CAUSAL, 0>;

constexpr int GROUPS = 2, KEYS = GROUPS * 64, WARPS = GROUPS * 4;
constexpr int PANELS = D / 64;  // of 64 elements: 128 bytes, one line of the 128-byte swizzle
constexpr int OWN_PANEL = KEYS * 128, OWN_BYTES = PANELS * OWN_PANEL;
constexpr int STEP_PANEL = QUERIES * 128, STEP_BYTES = PANELS * STEP_PANEL;
constexpr int Q_STAGES = 2, DS_STAGES = 2;
constexpr int ADDERS = 2;                   // warps that add dq to the sums, in turns
constexpr int ROWS_BYTES = QUERIES * 8;     // a step's binary logarithms, and then its deltas
constexpr int SHARE = QUERIES * D / WARPS;  // elements of dq that a warp has
constexpr int DQ_COLUMNS =
    QUERIES * D / 128;  // queries of dq that a group has; of a head of 128, half of the columns
constexpr int ROUND_BYTES = QUERIES * D * 2;  // of sums that are rounded at a time: those of a group

// ---- shared memory: one address, and where things are from there

constexpr u32 K_AT = 0, V_AT = K_AT + OWN_BYTES, Q_AT = V_AT + OWN_BYTES,
              DOUT_AT = Q_AT + Q_STAGES * STEP_BYTES, DS_AT = DOUT_AT + DOUT_STAGES * STEP_BYTES,
              DQ_AT = DS_AT + DS_STAGES * GROUPS * STEP_PANEL, ROWS_AT = DQ_AT + WARPS * SHARE * 4,
              ROUND_AT = ROWS_AT + Q_STAGES * ROWS_BYTES, OWN_FULL = ROUND_AT + (CAUSAL ? ROUND_BYTES : 0),
              Q_FULL = OWN_FULL + 8,
              Q_EMPTY = Q_FULL + Q_STAGES * 8, DOUT_FULL = Q_EMPTY + Q_STAGES * 8,
              DOUT_EMPTY = DOUT_FULL + DOUT_STAGES * 8, DQ_FULL = DOUT_EMPTY + DOUT_STAGES * 8,
              DQ_EMPTY = DQ_FULL + ADDERS * 8, DS_FULL = DQ_EMPTY + 8, ROUND_FULL = DS_FULL + 8;

__device__ void init_barriers(u32 shared) {
  ak::barrier_init(shared + OWN_FULL, 1);
  for (int stage = 0; stage < Q_STAGES; ++stage) {
    ak::barrier_init(shared + Q_FULL + stage * 8, 1);
    ak::barrier_init(shared + Q_EMPTY + stage * 8, WARPS * 32);
  }
  for (int stage = 0; stage < DOUT_STAGES; ++stage) {
    ak::barrier_init(shared + DOUT_FULL + stage * 8, 1);
    ak::barrier_init(shared + DOUT_EMPTY + stage * 8, WARPS);
  }
  for (int adder = 0; adder < ADDERS; ++adder) ak::barrier_init(shared + DQ_FULL + adder * 8, WARPS * 32);
  ak::barrier_init(shared + DQ_EMPTY, 1);
  ak::barrier_init(shared + DS_FULL, WARPS * 32);
  ak::barrier_init(shared + ROUND_FULL, 1);
  ak::publish_barriers();
}

// ---- what a block has: keys of a head, and the tiles of queries that see some of them, of all heads that share it

struct Walk {
  Seen seen;
  int share, head, rank, first, tiles, blocks;  // rank: among the `blocks` blocks of a head, by their keys
  int first_tile, common_tile;                  // common: from here on with those that it goes together with
  bool own_last;

  __device__ Walk(int share_, int queries, int keys)
      : seen{queries, keys}, share(share_), tiles((queries + QUERIES - 1) / QUERIES), blocks((keys + KEYS - 1) / KEYS) {
    const int heads = gridDim.x / blocks, index = blockIdx.x;
    const int first_head = index / (HEADS * blocks) * HEADS, together = min(HEADS, heads - first_head);
    head = first_head + (index - first_head * blocks) % together;
    rank = (index - first_head * blocks) / together;  // the first keys, which most queries see, begin
    first = rank * KEYS;
    first_tile = tile_of(rank);
    common_tile = min(tile_of(last_together(rank)), tiles);
    own_last = rank / TOGETHER % 2 == 0;
  }
  // The first tile of queries that see keys of a rank.
  __device__ __forceinline__ int tile_of(int of) const {
    return (CAUSAL ? max(of * KEYS - seen.position(0), 0) : 0) / QUERIES;
  }
  __device__ __forceinline__ int last_together(int of) const {
    return min(of / TOGETHER * TOGETHER + TOGETHER, blocks) - 1;
  }
  __device__ int steps() const { return (tiles - first_tile) * share; }
  // Whether no keys after those of a rank are seen by queries of a tile.
  __device__ __forceinline__ bool ends(int tile, int of) const {
    return (seen.end(min(tile * QUERIES + QUERIES, seen.queries) - 1) - 1) / KEYS == of;
  }
};

// Where in the walk a step is, and its stages of shared memory.
struct Step {
  int number = 0, tile, share = 0, index;  // share: of the heads; index: of the tile among those of all heads
  bool own;                                // tiles before those that are walked together, backwards
  __device__ explicit Step(const Walk& walk)
      : own(TOGETHER > 1 && walk.common_tile > walk.first_tile &&
            (!walk.own_last || walk.common_tile == walk.tiles)) {
    tile = walk.common_tile - own;
    index = walk.head * walk.share * walk.tiles + tile;
  }
  __device__ __forceinline__ void advance(const Walk& walk) {
    ++number;
    if (own) {
      if (++share == walk.share) {
        share = 0;
        own = --tile >= walk.first_tile;
        if (!own) tile = walk.common_tile;
      }
    } else if (++tile == walk.tiles) {
      own = ++share == walk.share && TOGETHER > 1;
      tile = walk.common_tile - own;
      if (own) share = 0;
    }
    index = (walk.head * walk.share + share) * walk.tiles + tile;
  }
  __device__ __forceinline__ u32 q() const { return number % Q_STAGES; }
  __device__ __forceinline__ u32 q_parity() const { return number / Q_STAGES % 2; }
  __device__ __forceinline__ u32 dout() const { return number % DOUT_STAGES; }
  __device__ __forceinline__ u32 dout_parity() const { return number / DOUT_STAGES % 2; }
};

// ---- the thread that fetches

__device__ __forceinline__ void fetch_step(u32 to, const CUtensorMap* map, int query, int head, u32 full) {
#pragma unroll
  for (int panel = 0; panel < PANELS; ++panel) {
    ak::tma_load(to + panel * STEP_PANEL, map, full, panel * 64, query, head);
  }
}

__device__ __forceinline__ void fetch(const Walk& walk, u32 shared, const CUtensorMap* map_q,
                                      const CUtensorMap* map_k, const CUtensorMap* map_v,
                                      const CUtensorMap* map_dout, const float* rows) {
  ak::barrier_expect(shared + OWN_FULL, 2 * OWN_BYTES);
#pragma unroll
  for (int panel = 0; panel < PANELS; ++panel) {
    const u32 to = shared + panel * OWN_PANEL;
    ak::tma_load(to + K_AT, map_k, shared + OWN_FULL, panel * 64, walk.first, walk.head);
    ak::tma_load(to + V_AT, map_v, shared + OWN_FULL, panel * 64, walk.first, walk.head);
  }
  Step step(walk);
#pragma unroll 1  // 24 registers
  for (int left = walk.steps(); left > 0; --left, step.advance(walk)) {
    const int query = step.tile * QUERIES, head = step.index / walk.tiles;
    const u32 q_full = shared + Q_FULL + step.q() * 8, dout_full = shared + DOUT_FULL + step.dout() * 8;
    ak::barrier_wait(shared + Q_EMPTY + step.q() * 8, step.q_parity() ^ 1);
    ak::barrier_expect(q_full, STEP_BYTES + ROWS_BYTES);
    fetch_step(shared + Q_AT + step.q() * STEP_BYTES, map_q, query, head, q_full);
    ak::bulk_load(shared + ROWS_AT + step.q() * ROWS_BYTES,
                  rows + static_cast<long long>(step.index) * (2 * QUERIES), ROWS_BYTES, q_full);
    ak::barrier_wait(shared + DOUT_EMPTY + step.dout() * 8, step.dout_parity() ^ 1);
    ak::barrier_expect(dout_full, STEP_BYTES);
    fetch_step(shared + DOUT_AT + step.dout() * STEP_BYTES, map_dout, query, head, dout_full);
  }
}

// ---- products of a warp group. A thread has sums of two rows, 8 apart.

// A group's 64 keys times a step's queries, along D.
__device__ __forceinline__ void multiply(u32 own, u32 step, float (&sums)[QUERIES / 2]) {
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    ak::Wgmma<element, QUERIES>::multiply(sums, ak::wgmma_operand(own + d / 4 * OWN_PANEL + d % 4 * 32),
                                          ak::wgmma_operand(step + d / 4 * STEP_PANEL + d % 4 * 32),
                                          d == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

// Adds factors times a step's lines, which lie across the sum.
__device__ __forceinline__ void accumulate(const u32 (&factors)[QUERIES / 4], u32 step, float (&sums)[D / 2],
                                           bool keep) {
#pragma unroll
  for (int i = 0; i < QUERIES / 16; ++i) {
    ak::Wgmma<element, D, false, true>::multiply(
        sums, &factors[i * 4], ak::wgmma_operand(step + i * 16 * 128, STEP_PANEL), i > 0 || keep);
  }
  ak::wgmma_commit();
}

// A group's half of dq^T, from all keys: of a head of 128, its columns; of one of 64, its queries.
__device__ __forceinline__ void multiply_keys(u32 k, u32 ds, int group, float (&sums)[DQ_COLUMNS / 2]) {
  const u32 columns = k + (D == 128 ? group * OWN_PANEL : 0),
            queries = ds + (D == 128 ? 0 : group * DQ_COLUMNS * 128);
#pragma unroll
  for (int i = 0; i < KEYS / 16; ++i) {
    ak::Wgmma<element, DQ_COLUMNS, true, false>::multiply(
        sums, ak::wgmma_operand(columns + i * 16 * 128, OWN_PANEL),
        ak::wgmma_operand(queries + i / 4 * STEP_PANEL + i % 4 * 32), i == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

__device__ __forceinline__ void round(const float (&sums)[QUERIES / 2], u32 (&factors)[QUERIES / 4]) {
#pragma unroll
  for (int i = 0; i < QUERIES / 4; ++i) factors[i] = ak::pack_pair<element>(sums[i * 2], sums[i * 2 + 1]);
}

// ---- p and ds of a thread, by the numbers of its queries in shared memory

__device__ __forceinline__ float2 load_two(u32 address) {
  float2 two;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(two.x), "=f"(two.y) : "r"(address) : "memory");
  return two;
}

__device__ __forceinline__ void weigh(const Walk& walk, int query, int key, u32 exponents,
                                      float (&p)[QUERIES / 2]) {
#pragma unroll
  for (int i = 0; i < QUERIES / 8; ++i) {
    const float2 two = load_two(exponents + i * 32);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      p[i * 4 + j] = ak::fast_exp2(
          fmaf(p[i * 4 + j], ak::ScoreExponents<D, 0, false>::scale(), j % 2 == 0 ? -two.x : -two.y));
    }
  }
  const int first_key = key / 64 * 64, first_query = query / QUERIES * QUERIES;
  if (!walk.seen.masked(first_query, first_query, first_key, 64)) return;
#pragma unroll
  for (int i = 0; i < QUERIES / 2; ++i) {
    if (key + i / 2 % 2 * 8 >= walk.seen.end(query + i / 4 * 8 + i % 2)) p[i] = 0.0f;
  }
}

// ds from p, rounded, which takes half of the registers, and dout v.
__device__ __forceinline__ void differentiate(const u32 (&p)[QUERIES / 4], u32 deltas,
                                              float (&products)[QUERIES / 2]) {
#pragma unroll
  for (int i = 0; i < QUERIES / 8; ++i) {
    const float2 two = load_two(deltas + i * 32);
#pragma unroll
    for (int j = 0; j < 4; j += 2) {
      const float2 weights = ak::unpack_pair<element>(p[i * 2 + j / 2]);
      products[i * 4 + j] = weights.x * (products[i * 4 + j] - two.x);
      products[i * 4 + j + 1] = weights.y * (products[i * 4 + j + 1] - two.y);
    }
  }
}

// Lines of queries, 64 keys of a group each.
__device__ __forceinline__ void store_transposed(u32 panel, const u32 (&factors)[QUERIES / 4]) {
  const int lane = threadIdx.x % 32, chunk = threadIdx.x % 128 / 32 * 2 + lane / 8 % 2;
  const u32 to = panel + ak::swizzled(lane / 16 * 8 + lane % 8, chunk);
#pragma unroll
  for (int i = 0; i < QUERIES / 16; ++i) {
    ak::store_matrices_transposed(to + i * 16 * 128, factors[i * 4], factors[i * 4 + 1], factors[i * 4 + 2],
                                  factors[i * 4 + 3]);
  }
}

__device__ __forceinline__ void release(u32 barrier) {
  if (threadIdx.x % 32 == 0)
    ak::barrier_arrive(barrier);  // each warp for itself: another may still be reading
}

// ---- the threads that add dq to the sums

// A tile's word counts the blocks whose addition has ended, from this unit on; and below it, where any may be first, those
// that have begun: 65,535 of 128 keys at most.
constexpr u32 ENDED = ANY_ORDER ? 1 << 16 : 1;

// Whether this block stores, as none has before. Others wait for it.
__device__ __forceinline__ bool begin_turn(u32* turn, int rank) {
  return ANY_ORDER ? atomicAdd(turn, 1u) == 0 : rank == 0;
}
__device__ __forceinline__ void end_turn(u32* turn) {
  ak::wait_stores<0>();
  __threadfence();
  atomicAdd(turn, ENDED);
}
__device__ __forceinline__ void wait_turn(const u32* turn, u32 ended) {
  while (*static_cast<const volatile u32*>(turn) / ENDED < ended) {
  }
  __threadfence();
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

__device__ __forceinline__ void bulk_store(float* to, u32 from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void bulk_add(float* to, u32 from, u32 bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
               "r"(from), "r"(bytes)
               : "memory");
}

// Every step whose number over ADDERS leaves `adder`.
__device__ __forceinline__ void add_steps(const Walk& walk, u32 shared, u32 adder, float* sums, u32* turns) {
  Step step(walk);
#pragma unroll 1
  for (int left = walk.steps(); left > 0; --left, step.advance(walk)) {
    if (step.number % ADDERS != adder) continue;
    ak::barrier_wait(shared + DQ_FULL + adder * 8, step.number / ADDERS % 2);
    float* to = sums + static_cast<long long>(step.index) * (QUERIES * D);
    if (begin_turn(turns + step.index, walk.rank)) {
      bulk_store(to, shared + DQ_AT, QUERIES * D * 4);
    } else {
      wait_turn(turns + step.index, ANY_ORDER ? 1 : walk.rank);
      bulk_add(to, shared + DQ_AT, QUERIES * D * 4);
    }
    ak::commit_stores();
    ak::wait_stores_read<0>();
    ak::barrier_arrive(shared + DQ_EMPTY);
    end_turn(turns + step.index);
  }
}

// ---- the warp that rounds dq

// From rows that are held a pair of 16 bits a thread, four threads a row, to columns held so.
__device__ __forceinline__ u32 transpose(u32 pair) {
  u32 result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(result) : "r"(pair));
  return result;
}

// A group's sums, in shared memory in the order of registers, to rows of dq. left: queries of the tile from the group's
// first on, where there are more than those.
__device__ __forceinline__ void round_group(u32 shared, int group, scalar_t* to, int left) {
  constexpr int EACH = DQ_COLUMNS / 8;  // matrices of 8 queries that a warp left
  const float scale = rsqrtf(static_cast<float>(D));
  const int lane = threadIdx.x % 32;
  to += (D == 128 ? group * 64 : 0) + lane / 4 * D + lane % 4 * 2;
  left -= lane / 4;
  u32 from = shared + ROUND_AT + lane * 16;
#pragma unroll 1  // 24 registers
  for (int i = 0; i < 4 * EACH; ++i, from += 512) {
    float x, y, z, w;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "r"(from) : "memory");
    const u32 low = transpose(ak::pack_pair<element>(x * scale, y * scale));
    const u32 high = transpose(ak::pack_pair<element>(z * scale, w * scale));
    if (i % EACH * 8 < left) {
      scalar_t* row = to + i % EACH * (8 * D) + i / EACH * 16;
      *reinterpret_cast<u32*>(row) = low;
      *reinterpret_cast<u32*>(row + 8) = high;
    }
  }
}

// Zeros for queries that come before all keys, of a head: no block has added.
__device__ __forceinline__ void clear_unseen(scalar_t* to, int queries) {
  for (int at = threadIdx.x % 32; at < queries * (D / 8); at += 32) {
    reinterpret_cast<uint4*>(to)[at] = make_uint4(0, 0, 0, 0);
  }
}

// Tiles whose last keys are of a rank, of one head. All lanes.
__device__ __forceinline__ void round_tiles_of(const Walk& walk, int rank, int head, u32 shared, const float* sums,
                                               const u32* turns, scalar_t* lines) {
  const int queries = walk.seen.queries;
#pragma unroll 1
  for (int tile = walk.tile_of(rank); tile < walk.tiles && walk.ends(tile, rank); ++tile) {
    if (threadIdx.x % 32 == 0) wait_turn(turns + head * walk.tiles + tile, rank + 1);
#pragma unroll 1
    for (u32 group = 0; group < GROUPS; ++group) {
      __syncwarp();  // the sums before were read
      if (threadIdx.x % 32 == 0) {
        ak::barrier_expect(shared + ROUND_FULL, ROUND_BYTES);
        const long long from = static_cast<long long>(head * walk.tiles + tile) * GROUPS + group;
        ak::bulk_load(shared + ROUND_AT, sums + from * (ROUND_BYTES / 4), ROUND_BYTES, shared + ROUND_FULL);
      }
      ak::barrier_wait(shared + ROUND_FULL, group);  // a tile is two phases
      const int query = tile * QUERIES + (D == 128 ? 0 : group * DQ_COLUMNS);
      round_group(shared, group, lines + query * D, queries - query);
    }
  }
}

// Those whose last keys are the block's. Where its walk ends with them, the block that follows it in its place does so.
__device__ __forceinline__ void round_tiles(const Walk& walk, u32 shared, const float* sums, const u32* turns,
                                            scalar_t* dq) {
  const auto later = [&](int rank) {
    return rank / TOGETHER % 2 == 0 && rank != walk.last_together(rank) && rank + TOGETHER < walk.blocks;
  };
#pragma unroll 1
  for (int i = 0; i < walk.share; ++i) {
    const int head = walk.head * walk.share + i;
    scalar_t* lines = dq + static_cast<long long>(head) * walk.seen.queries * D;
    if (walk.rank == 0) clear_unseen(lines, walk.first_tile * QUERIES);
    if (walk.rank >= TOGETHER && later(walk.rank - TOGETHER))
      round_tiles_of(walk, walk.rank - TOGETHER, head, shared, sums, turns, lines);
    if (!later(walk.rank)) round_tiles_of(walk, walk.rank, head, shared, sums, turns, lines);
  }
}

// ---- dk and dv

// 64 rows of a group to `to`, whose lines lie as those of k and v, and from there out.
__device__ __forceinline__ void write(u32 to, const float (&sums)[D / 2], float scale) {
  const int lane = threadIdx.x % 32, line = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i < D / 16; ++i) {
    u32 pairs[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      pairs[j] = ak::pack_pair<element>(sums[i * 8 + j * 2] * scale, sums[i * 8 + j * 2 + 1] * scale);
    }
    ak::store_matrices(to + i / 4 * OWN_PANEL + ak::swizzled(line, i % 4 * 2 + lane / 16), pairs[0], pairs[1],
                       pairs[2], pairs[3]);
  }
}

__device__ __forceinline__ void write_results(const Walk& walk, u32 shared, int group,
                                              const float (&dk_sums)[D / 2], const float (&dv_sums)[D / 2],
                                              const CUtensorMap* map_dk, const CUtensorMap* map_dv) {
  const u32 k = shared + K_AT + group * 64 * 128, v = shared + V_AT + group * 64 * 128;
  write(v, dv_sums, 1.0f);             // nobody else reads these lines
  ak::named_barrier<GROUPS * 128>(1);  // for dq, all lines of k were read
  write(k, dk_sums, rsqrtf(static_cast<float>(D)));
  ak::fence_shared_writes();
  ak::named_barrier<128>(2 + group);
  if (threadIdx.x % 128 != 0) return;
#pragma unroll
  for (int panel = 0; panel < PANELS; ++panel) {
    ak::tma_store(map_dk, k + panel * OWN_PANEL, panel * 64, walk.first + group * 64, walk.head);
    ak::tma_store(map_dv, v + panel * OWN_PANEL, panel * 64, walk.first + group * 64, walk.head);
  }
  ak::commit_stores();
  ak::wait_stores_read<0>();  // a block that ends gives its shared memory away
}

// ---- the groups that multiply

struct Consumer {
  const Walk& walk;
  u32 shared;
  Step step;
  int group, key;  // key: this thread's first
  float dk[D / 2], dv[D / 2], scores[QUERIES / 2];

  __device__ Consumer(const Walk& walk_, u32 shared_, int group_)
      : walk(walk_),
        shared(shared_),
        step(walk_),
        group(group_),
        key(walk_.first + group_ * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4) {}
  __device__ __forceinline__ u32 q_lines() const { return shared + Q_AT + step.q() * STEP_BYTES; }
  __device__ __forceinline__ u32 dout_lines() const { return shared + DOUT_AT + step.dout() * STEP_BYTES; }
  __device__ __forceinline__ u32 ds_lines(int number) const {
    return shared + DS_AT + number % DS_STAGES * (GROUPS * STEP_PANEL);
  }

  __device__ __forceinline__ void multiply_queries(const Step& of) {
    float fresh[QUERIES / 2];  // the last step's would be kept until here
    multiply(shared + K_AT + group * (64 * 128), shared + Q_AT + of.q() * STEP_BYTES, fresh);
#pragma unroll
    for (int i = 0; i < QUERIES / 2; ++i) scores[i] = fresh[i];
  }
  __device__ __forceinline__ void wait_queries(const Step& of) {
    ak::barrier_wait(shared + Q_FULL + of.q() * 8, of.q_parity());
  }

  // Both groups have ds of so many steps in shared memory, and no longer read those two steps before.
  __device__ __forceinline__ void wait_ds(int steps) { ak::barrier_wait(shared + DS_FULL, steps % 2 ^ 1); }
  __device__ __forceinline__ void multiply_last_ds(float (&dq)[DQ_COLUMNS / 2]) {
    ak::wgmma_fence();
    multiply_keys(shared + K_AT, ds_lines(step.number + 1), group, dq);
  }

  // Of a step whose scores are under way: dv, dk and ds, and the dq of the step before. Leaves dk and the scores of the
  // step after under way; behind the last one these are its own again, for nobody, as a branch here would make the
  // products wait for each other. The first one's dq of the step before is of zeros, for nobody, too.
  __device__ __forceinline__ void take_step(const Step& next) {
    float products[QUERIES / 2], dq[DQ_COLUMNS / 2];
    u32 p[QUERIES / 4];  // of p, then of ds
    const bool keep = step.number > 0;
    const u32 numbers = shared + ROWS_AT + step.q() * ROWS_BYTES + threadIdx.x % 4 * 8;
    ak::wgmma_wait<0>();
    ak::keep_behind(scores);
    // dk of the step before has it. Threads read the rows' numbers, and racecheck counts an arrival for the thread that
    // makes it, also behind a __syncwarp.
    if (keep) ak::barrier_arrive(shared + Q_EMPTY + (step.q() ^ 1) * 8);
    ak::barrier_wait(shared + DOUT_FULL + step.dout() * 8, step.dout_parity());
    ak::wgmma_fence();
    multiply(shared + V_AT + group * (64 * 128), dout_lines(), products);
    weigh(walk, step.tile * QUERIES + threadIdx.x % 4 * 2, key, numbers, scores);
    round(scores, p);
    ak::wgmma_fence();
    accumulate(p, dout_lines(), dv, keep);
    if (LAG && group == 0 && !keep) ak::named_barrier_arrive<GROUPS * 128>(2 + GROUPS);
    if constexpr (EARLY_DQ) {
      wait_ds(step.number);
      multiply_last_ds(dq);
    }
    ak::wgmma_wait<1 + EARLY_DQ>();
    ak::keep_behind(products);
    differentiate(p, numbers + QUERIES * 4, products);
    ak::wgmma_wait<EARLY_DQ>();  // dv has p
    round(products, p);
    if constexpr (!EARLY_DQ) wait_ds(step.number);
    store_transposed(ds_lines(step.number) + group * STEP_PANEL, p);
    ak::fence_shared_writes();
    wait_queries(next);
    if constexpr (!EARLY_DQ) multiply_last_ds(dq);
    ak::wgmma_fence();
    accumulate(p, q_lines(), dk, keep);
    multiply_queries(next);
    ak::wgmma_wait<2>();
    ak::keep_behind(dq);
    ak::barrier_arrive(shared + DS_FULL);
    release(shared + DOUT_EMPTY + step.dout() * 8);
    if (keep) hand_over(dq, step.number - 1);
  }

  // A warp's share of a step's dq, for the threads that add: 16 bytes of each lane beside each other.
  __device__ __forceinline__ void hand_over(const float (&dq)[DQ_COLUMNS / 2], int number) {
    const u32 to = shared + DQ_AT + threadIdx.x / 32 * (SHARE * 4) + threadIdx.x % 32 * 16;
    ak::barrier_wait(shared + DQ_EMPTY, number % 2 ^ 1);
#pragma unroll
    for (int i = 0; i < DQ_COLUMNS / 2; i += 4) {
      asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to + i / 4 * 512), "f"(dq[i]),
                   "f"(dq[i + 1]), "f"(dq[i + 2]), "f"(dq[i + 3])
                   : "memory");
    }
    ak::fence_shared_writes();
    ak::barrier_arrive(shared + DQ_FULL + number % ADDERS * 8);
  }

  // Zeros for the ds of the step before the first.
  __device__ __forceinline__ void clear_ds() {
    const u32 to = ds_lines(1) + group * STEP_PANEL;
    for (int at = threadIdx.x % 128 * 16; at < STEP_PANEL; at += 128 * 16) {
      asm volatile("st.shared.v4.b32 [%0], {%1, %1, %1, %1};" ::"r"(to + at), "r"(0) : "memory");
    }
    ak::fence_shared_writes();
    ak::named_barrier<GROUPS * 128>(1);
  }

  __device__ __forceinline__ void run() {
    clear_ds();
    if (LAG && group > 0) ak::named_barrier<GROUPS * 128>(2 + GROUPS);
    ak::barrier_wait(shared + OWN_FULL, 0);
    wait_queries(step);
    ak::wgmma_fence();
    multiply_queries(step);
#pragma unroll 1
    for (int left = walk.steps(); left > 0; --left) {
      Step next = step;
      if (left > 1) next.advance(walk);
      take_step(next);
      if (left > 1) step = next;
    }
    float dq[DQ_COLUMNS / 2];
    wait_ds(step.number + 1);
    ak::wgmma_fence();
    multiply_keys(shared + K_AT, ds_lines(step.number), group, dq);
    ak::wgmma_wait<0>();
    ak::keep_behind(dq);
    ak::keep_behind(dk);
    ak::keep_behind(dv);
    hand_over(dq, step.number);
  }
};

__global__ void __launch_bounds__(384, 1)
    backward(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
             const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_dout,
             const __grid_constant__ CUtensorMap map_dk, const __grid_constant__ CUtensorMap map_dv,
             const float* __restrict__ rows, float* __restrict__ sums, int* __restrict__ turns,
             scalar_t* __restrict__ dq, int share, int queries, int keys) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = (ak::shared_address(memory) + 1023) / 1024 * 1024;
  const Walk walk(share, queries, keys);
  if (threadIdx.x == 0) init_barriers(shared);
  __syncthreads();
  const int group = ak::warp_group();
  if (group == GROUPS) {
    ak::give_registers<24>();
    const int role = static_cast<int>(threadIdx.x) % 128 / 32;
    if (CAUSAL && role > ADDERS) round_tiles(walk, shared, sums, reinterpret_cast<const u32*>(turns), dq);
    if (role > ADDERS || threadIdx.x % 32 != 0) return;
    if (role == 0) {
      fetch(walk, shared, &map_q, &map_k, &map_v, &map_dout, rows);
    } else {
      add_steps(walk, shared, role - 1, sums, reinterpret_cast<u32*>(turns));
    }
  } else {
    ak::take_registers<240, 2, 24>();
    Consumer consumer(walk, shared, group);
    consumer.run();
    write_results(walk, shared, group, consumer.dk, consumer.dv, &map_dk, &map_dv);
  }
}

// ---- before and after

// Binary logarithm and delta of every query, zeros behind the last of a head: [heads][tiles][2][QUERIES]; turns of all
// tiles begin. A row: D / 8 lanes.
__global__ void __launch_bounds__(128)
    sum_rows(const scalar_t* __restrict__ o, const scalar_t* __restrict__ dout, const float* __restrict__ lse,
             float* __restrict__ rows, int* __restrict__ turns, int queries, int tiles, int heads) {
  constexpr int LANES = D / 8;
  const long long row = static_cast<long long>(blockIdx.x) * (128 / LANES) + threadIdx.x / LANES;
  const long long tile = row / QUERIES;
  const int query = static_cast<int>(tile % tiles) * QUERIES + static_cast<int>(row % QUERIES);
  const bool inside = tile / tiles < heads && query < queries;
  const long long line = tile / tiles * queries + query;
  float sum = 0.0f;
  if (inside) {
    const long long at = line * D + threadIdx.x % LANES * 8;
    const uint4 a = *reinterpret_cast<const uint4*>(o + at), b = *reinterpret_cast<const uint4*>(dout + at);
    const u32 of_o[4] = {a.x, a.y, a.z, a.w}, of_dout[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 x = ak::unpack_pair<element>(of_o[i]), y = ak::unpack_pair<element>(of_dout[i]);
      sum = fmaf(x.x, y.x, fmaf(x.y, y.y, sum));
    }
  }
  sum = ak::reduce_lanes<LANES>(sum, ak::Sum());
  if (threadIdx.x % LANES != 0 || tile / tiles >= heads) return;
  float* to = rows + tile * (2 * QUERIES) + row % QUERIES;
  to[0] = inside ? lse[line] * ak::kLog2E : 0.0f;
  to[QUERIES] = sum;
  if (row % QUERIES == 0) turns[tile] = 0;
}

// A tile of dq: from the order of registers to rows.
__global__ void __launch_bounds__(256)
    round_sums(const float* __restrict__ sums, scalar_t* __restrict__ dq, int queries) {
  constexpr int PITCH = D + 4;  // words of a row: four lanes' queries, 2 apart, meet different banks
  __shared__ __align__(16) float lines[QUERIES * PITCH];
  const long long tile = static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x;
  const float4* from = reinterpret_cast<const float4*>(sums + tile * (QUERIES * D));
  for (int at = threadIdx.x; at < QUERIES * D / 4; at += 256) {
    const float4 four = from[at];
    const int warp = at / (SHARE / 4), lane = at % 32, i = at % (SHARE / 4) / 32, group = warp / 4;
    const int column = (D == 128 ? group * 64 : 0) + warp % 4 * 16 + lane / 4;
    const int query = (D == 128 ? 0 : group * DQ_COLUMNS) + i * 8 + lane % 4 * 2;
    lines[query * PITCH + column] = four.x;
    lines[(query + 1) * PITCH + column] = four.y;
    lines[query * PITCH + column + 8] = four.z;
    lines[(query + 1) * PITCH + column + 8] = four.w;
  }
  __syncthreads();
  const float scale = rsqrtf(static_cast<float>(D));
  const int first = blockIdx.x * QUERIES;
  for (int at = threadIdx.x; at < QUERIES * D / 8; at += 256) {
    const int line = at / (D / 8), column = at % (D / 8) * 8;
    if (first + line >= queries) break;
    const float4 a = *reinterpret_cast<const float4*>(lines + line * PITCH + column);
    const float4 b = *reinterpret_cast<const float4*>(lines + line * PITCH + column + 4);
    const long long to = (static_cast<long long>(blockIdx.y) * queries + first + line) * D + column;
    *reinterpret_cast<uint4*>(dq + to) = make_uint4(
        ak::pack_pair<element>(a.x * scale, a.y * scale), ak::pack_pair<element>(a.z * scale, a.w * scale),
        ak::pack_pair<element>(b.x * scale, b.y * scale), ak::pack_pair<element>(b.z * scale, b.w * scale));
  }
}
