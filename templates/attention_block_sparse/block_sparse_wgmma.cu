/* alphakernel
{
  "tunables": {
    "CONSUMERS": {"values": [1, 2], "default": 1},
    "BN": {"values": [64, 128], "default": 64},
    "STAGES": {"values": [2, 3, 4], "default": 2},
    "GROUP": {"values": [1, 8, 65536], "default": 8},
    "PERSISTENT": {"values": [0, 1], "default": 1},
    "PINGPONG": {"values": [0, 1], "default": 0},
    "BUFFERS": {"values": [1, 2], "default": 1}
  },
  "constraints": [
    "ARCH == 90",
    "CONSUMERS * 64 <= block and BN <= block",
    "PINGPONG == 0 or CONSUMERS > 1",
    "BUFFERS == 1 or PERSISTENT",
    "SHARED <= 232448"
  ],
  "let": {
    "BM": "CONSUMERS * 64",
    "TILES": "ceil_div(S, BM) * B * H",
    "SHARED": "(BUFFERS * BM + 2 * STAGES * BN) * D * 2 + 2048"
  },
  "tensor_maps": [
    {"name": "map_q", "tensor": "q", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, 64, 1]},
    {"name": "map_k", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "B * G"], "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, "BN", 1]},
    {"name": "map_v", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "T", "B * G"], "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, "BN", 1]},
    {"name": "map_o", "tensor": "o", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, 64, 1]}
  ],
  "launches": [
    {"kernel": "block_sparse_wgmma", "grid": ["min(TILES, SM_COUNT) if PERSISTENT else TILES"],
     "block": ["(CONSUMERS + 1) * 128"], "shared_bytes": "SHARED",
     "args": ["map_q", "map_k", "map_v", "map_o", "partial_count", "full_count", "columns", "lse", {"i32": "B"},
              {"i32": "H"}, {"i32": "G"}, {"i32": "S"}, {"i32": "T"}, {"i32": "R"}, {"i32": "C"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Attention to the blocks of keys that lists name, on Hopper's matrix units. One warp group moves data through the
// tensor memory accelerator: a warp fills two rings of STAGES tiles, of BN keys and BN values, in the order of the list,
// another writes results back.
// CONSUMERS warp groups own 64 queries each, all with the same list. They keep the sums of o and a tile of scores in
// registers, and weights go from registers straight into the product with the values, which runs while the next tile's
// exponentials are taken. With PINGPONG the groups issue their products in turn, so that one group's softmax falls into
// the other's products.
//
//   shared memory:  [q, later o] x BUFFERS   [BN keys] x STAGES   [BN values] x STAGES   barriers
//
// Partial blocks come first and are masked; of full ones only the last keys of all are. A list without a block is
// walked as one tile of which nothing is seen. Blocks take queries of GROUP heads, whose keys and values stay in L2.
// Follows Shah et al., FlashAttention-3, arXiv:2407.08608; Milakov and Gimelshein, Online normalizer calculation for
// softmax, arXiv:1805.02867.
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
constexpr int D = 128;
constexpr int CONSUMERS = 2;
constexpr int BN = 128;
constexpr int STAGES = 2;
constexpr int GROUP = 8;
constexpr int PINGPONG = 1;
constexpr int BUFFERS = 1;
constexpr int BLOCK = 128;
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

constexpr int BM = CONSUMERS * 64;
constexpr int PANELS = D / 64;      // of 64 elements of a head: 128 bytes, one line of the 128-byte swizzle
constexpr int TILES = BLOCK / BN;  // of a block of keys
constexpr int Q_PANEL = BM * 128;      // bytes
constexpr int KV_PANEL = BN * 128;
constexpr int Q_BYTES = PANELS * Q_PANEL;
constexpr int KV_BYTES = PANELS * KV_PANEL;

using ak::u32;
using element = ak::Element<scalar_t>;

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
  int batches, query_heads, key_heads;
  int queries, keys;
  const int *partial_count, *full_count, *columns;
  int rows, width;  // of the lists: blocks of queries, of keys
  __device__ int heads() const { return batches * query_heads; }  // of all batches
  __device__ int tiles_per_head() const { return (queries + BM - 1) / BM; }
  __device__ int tiles() const { return tiles_per_head() * heads(); }
  __device__ int rounds() const { return (tiles() + gridDim.x - 1) / gridDim.x; }
};

// The tile of this block in a round; rounds go back and forth.
struct Tile {
  bool exists;
  int row = 0, head = 0;         // first query, its head
  const int* columns = nullptr;  // its list
  int partial = 0, steps = 0;    // tiles of partial blocks; of all, one also where there is none
  bool empty = false;
  __device__ Tile(const Shape& shape, int round) {
    const int place = round % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x, index = round * gridDim.x + place;
    exists = index < shape.tiles();
    if (!exists) return;
    const int heads = shape.heads(), per_head = shape.tiles_per_head(), group = min(GROUP, heads);
    const int section = index / (group * per_head), within = index - section * group * per_head;
    const int width = min(group, heads - section * group);
    row = within / width * BM;
    head = section * group + within % width;
    const int list = head % shape.query_heads * shape.rows + row / BLOCK;
    columns = shape.columns + static_cast<long long>(list) * shape.width;
    partial = shape.partial_count[list] * TILES;
    const int count = partial + shape.full_count[list] * TILES;
    empty = count == 0;
    steps = max(count, 1);
  }
  __device__ int first_key(int step) const { return empty ? 0 : columns[step / TILES] * BLOCK + step % TILES * BN; }
};

// Addresses. A barrier for each stage of a ring says that it is filled, another that it may be filled again; o_full
// says that results are where the queries were.
struct Shared {
  u32 q, keys, values, q_full, q_empty, o_full, keys_full, keys_empty, values_full, values_empty;
  __device__ explicit Shared(u32 start) {
    q = (start + 1023) / 1024 * 1024;
    keys = q + BUFFERS * Q_BYTES;
    values = keys + STAGES * KV_BYTES;
    q_full = values + STAGES * KV_BYTES;
    q_empty = q_full + BUFFERS * 8;
    o_full = q_empty + BUFFERS * 8;
    keys_full = o_full + BUFFERS * 8;
    keys_empty = keys_full + STAGES * 8;
    values_full = keys_empty + STAGES * 8;
    values_empty = values_full + STAGES * 8;
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

__device__ __forceinline__ void fetch_tile(u32 to, const CUtensorMap* map, int row, int head, u32 full) {
  ak::barrier_expect(full, KV_BYTES);
#pragma unroll 1  // the movers have 40 registers
  for (int panel = 0; panel < PANELS; ++panel) ak::tma_load(to + panel * KV_PANEL, map, full, panel * 64, row, head);
}

// Calls f(address in shared memory, column, row) for the blocks of 64 x 64 of a buffer of queries or results.
template <class F>
__device__ __forceinline__ void for_blocks(u32 buffer, const Tile& tile, F f) {
#pragma unroll 1
  for (int panel = 0; panel < PANELS; ++panel) {
#pragma unroll 1
    for (int group = 0; group < CONSUMERS; ++group) {
      f(buffer + panel * Q_PANEL + group * 8192, panel * 64, tile.row + group * 64);
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
    const int head = tile.head / (shape.query_heads / shape.key_heads);
    for (int step = 0; step < tile.steps; ++step) {
      const int first = tile.first_key(step);
      ak::barrier_wait(shared.keys_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.keys + ring.stage * KV_BYTES, map_k, first, head, shared.keys_full + ring.stage * 8);
      if (step == 0) {  // after the first keys: the results of a tile before may still be leaving
        const u32 full = shared.q_full + queries.stage * 8;
        ak::barrier_wait(shared.q_empty + queries.stage * 8, queries.parity ^ 1);
        ak::barrier_expect(full, Q_BYTES);
        for_blocks(shared.q + queries.stage * Q_BYTES, tile,
                   [&](u32 to, int column, int row) { ak::tma_load(to, map_q, full, column, row, tile.head); });
        queries.advance();
      }
      ak::barrier_wait(shared.values_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.values + ring.stage * KV_BYTES, map_v, first, head, shared.values_full + ring.stage * 8);
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
    for_blocks(shared.q + results.stage * Q_BYTES, tile,
               [&](u32 from, int column, int row) { ak::tma_store(map_o, from, column, row, tile.head); });
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
  for (int step = 0; step < D / 16; ++step) {
    ak::Wgmma<element, BN>::multiply(scores, ak::wgmma_operand(q + step / 4 * Q_PANEL + step % 4 * 32),
                                     ak::wgmma_operand(keys + step / 4 * KV_PANEL + step % 4 * 32), step == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

__device__ __forceinline__ void multiply_values(u32 values, const u32 (&weights)[BN / 4], float (&sums)[D / 2]) {
#pragma unroll
  for (int step = 0; step < BN / 16; ++step) {
    // Values lie across the sum over keys: KV_PANEL bytes from 64 of their elements to the next 64.
    ak::Wgmma<element, D, false, true>::multiply(sums, &weights[step * 4],
                                                 ak::wgmma_operand(values + step * 16 * 128, KV_PANEL));
  }
  ak::wgmma_commit();
}

// Takes away the scores of keys, counted from first, that the queries row and row + 8 do not see: those from `end` on.
__device__ __forceinline__ void mask(float (&scores)[BN / 2], int end, int next_end, int first) {
  const int column = first + threadIdx.x % 4 * 2, ends[2] = {end - column, next_end - column};
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    if (i / 4 * 8 + i % 2 >= ends[i / 2 % 2]) scores[i] = ak::minus_infinity();
  }
}

// Row maxima so far, of scores times scale, and sums of the weights: powers of 2 of the scores' distance to them.
struct Softmax {
  float scale, maximum[2], sum[2];

  // Scores become weights; factor: what the sums so far are to be multiplied by.
  __device__ __forceinline__ void step(float (&scores)[BN / 2], float (&factor)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = scores[half * 2];
#pragma unroll
      for (int i = 0; i < BN / 8; ++i) {
        largest = fmaxf(largest, fmaxf(scores[i * 4 + half * 2], scores[i * 4 + half * 2 + 1]));
      }
      // Rounded by itself, so that a maximum that stays gives a factor of exactly 1.
      largest = fmaxf(maximum[half], __fmul_rn(ak::reduce_quad(largest, ak::Maximum()), scale));
      // A row without a key yet keeps weights of zero.
      const float base = largest == ak::minus_infinity() ? 0.0f : largest;
      factor[half] = ak::fast_exp2(maximum[half] - base);
      maximum[half] = largest;
      float added = 0.0f;
#pragma unroll
      for (int i = 0; i < BN / 8; ++i) {
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          float& score = scores[i * 4 + half * 2 + odd];
          score = ak::fast_exp2(score * scale - base);
          added += score;
        }
      }
      sum[half] = sum[half] * factor[half] + added;
    }
  }
};

__device__ __forceinline__ void to_weights(const float (&scores)[BN / 2], u32 (&weights)[BN / 4]) {
#pragma unroll
  for (int i = 0; i < BN / 4; ++i) weights[i] = ak::pack_pair<element>(scores[i * 2], scores[i * 2 + 1]);
}

__device__ __forceinline__ void rescale(float (&sums)[D / 2], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < D / 2; ++i) sums[i] *= factor[i / 2 % 2];
}

// 64 x D results into the place of this group's queries, which nobody else reads.
__device__ __forceinline__ void put_results(u32 q, const float (&sums)[D / 2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  const int row = warp * 16 + lane / 8 % 2 * 8 + lane % 8;
#pragma unroll
  for (int pair = 0; pair < D / 16; ++pair) {
    const float* d = &sums[pair * 8];
    const int chunk = pair % 4 * 2 + lane / 16;
    ak::store_matrices(q + pair / 4 * Q_PANEL + ak::swizzled(row, chunk), ak::pack_pair<element>(d[0], d[1]),
                       ak::pack_pair<element>(d[2], d[3]), ak::pack_pair<element>(d[4], d[5]),
                       ak::pack_pair<element>(d[6], d[7]));
  }
  ak::fence_shared_writes();
}

struct Consumer {
  const Shared& shared;
  const Shape& shape;
  const int group;
  ak::Ring<STAGES> keys, values;
  ak::Ring<BUFFERS> queries;

  __device__ u32 keys_now() const { return shared.keys + keys.stage * KV_BYTES; }
  __device__ u32 values_now() const { return shared.values + values.stage * KV_BYTES; }
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

  // row: this thread's first query.
  __device__ __forceinline__ void hide(float (&scores)[BN / 2], const Tile& tile, int row, int step) {
    const ak::SeenKeys<true, 0> before{shape.queries, shape.keys};
    const int first = tile.first_key(step), all = tile.empty ? 0 : shape.keys;
    const bool partial = step < tile.partial;
    if (!partial && first + BN <= all) return;
    mask(scores, partial ? before.end(row) : all, partial ? before.end(row + 8) : all, first);
  }

  // Leaves weights times values in `sums`, not yet divided by the sums of the weights.
  __device__ __forceinline__ void run(const Tile& tile, int row, float (&sums)[D / 2], Softmax& softmax) {
    float scores[BN / 2], factor[2];
    u32 weights[BN / 4];
    wait_keys();
    ak::wgmma_fence();
    multiply_keys(queries_now(), keys_now(), scores);
    ak::wgmma_wait<0>();
    release_keys();
    hide(scores, tile, row, 0);
    softmax.step(scores, factor);
    to_weights(scores, weights);
    for (int step = 1; step < tile.steps; ++step) {
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
      hide(scores, tile, row, step);
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
  }

  __device__ __forceinline__ void finish(const Tile& tile, int row, float (&sums)[D / 2], const Softmax& softmax,
                                         float* lse) {
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = ak::reduce_quad(softmax.sum[half], ak::Sum());
      factor[half] = sum == 0.0f ? 0.0f : 1.0f / sum;
      if (threadIdx.x % 4 == 0 && row + half * 8 < shape.queries) {
        const long long at = static_cast<long long>(tile.head) * shape.queries + row + half * 8;
        lse[at] = sum == 0.0f ? ak::minus_infinity() : (softmax.maximum[half] + log2f(sum)) * ak::kLn2;
      }
    }
    rescale(sums, factor);
    put_results(queries_now(), sums);
    ak::barrier_arrive(shared.o_full + queries.stage * 8);
  }

  __device__ __forceinline__ void consume(float* lse) {
    const int lane_row = group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    for (int round = 0; round < shape.rounds(); ++round) {
      const Tile tile(shape, round);
      if (!tile.exists) continue;
      const float none = ak::minus_infinity();
      Softmax softmax{ak::ScoreExponents<D, 0, false>::scale(), {none, none}, {0.0f, 0.0f}};
      float sums[D / 2];
#pragma unroll
      for (float& sum : sums) sum = 0.0f;
      ak::barrier_wait(shared.q_full + queries.stage * 8, queries.parity);
      run(tile, tile.row + lane_row, sums, softmax);
      finish(tile, tile.row + lane_row, sums, softmax, lse);
      queries.advance();
    }
  }
};

// q, o: batches x query_heads x queries x D; k, v: batches x key_heads x keys x D; counts: query_heads x rows; columns:
// query_heads x rows x width; lse: batches x query_heads x queries.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    block_sparse_wgmma(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                       const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o,
                       const int* __restrict__ partial_count, const int* __restrict__ full_count,
                       const int* __restrict__ columns, float* __restrict__ lse, int batches, int query_heads,
                       int key_heads, int queries, int keys, int rows, int width) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared(ak::shared_address(memory));
  const Shape shape{batches, query_heads, key_heads, queries, keys, partial_count, full_count, columns, rows, width};
  if (threadIdx.x == 0) shared.init();
  __syncthreads();
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if (threadIdx.x % 128 == 0) fetch_all(&map_q, &map_k, &map_v, shared, shape);
    if (threadIdx.x % 128 == 32) write_all(&map_o, shared, shape);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232, 2, 40>();
    if (group == CONSUMERS - 1) pass_turn(group);
    Consumer consumer{shared, shape, group};
    consumer.consume(lse);
  }
}
