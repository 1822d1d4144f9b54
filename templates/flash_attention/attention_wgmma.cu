/* alphakernel
{
  "tunables": {
    "CONSUMERS": {"values": [1, 2, 3], "default": 2},
    "BN": {"values": [64, 80, 96, 112, 128, 144, 160, 176, 192], "default": 80},
    "STAGES": {"values": [2, 3], "default": 2},
    "GROUP": {"values": [1, 8, 65536], "default": 8},
    "PERSISTENT": {"values": [0, 1], "default": 1},
    "PINGPONG": {"values": [0, 1], "default": 1},
    "BUFFERS": {"values": [1, 2], "default": 1}
  },
  "constraints": [
    "ARCH == 90",
    "PINGPONG == 0 or CONSUMERS > 1",
    "BUFFERS == 1 or PERSISTENT",
    "(BUFFERS * CONSUMERS * 64 + 2 * STAGES * BN) * round_up(D, 64) * 2 + 2048 <= 232448",
    "D // 2 + BN // 2 + BN // 4 <= (128 if CONSUMERS == 3 else 200)"
  ],
  "let": {
    "BM": "CONSUMERS * 64",
    "TILES": "ceil_div(S, BM) * B * H"
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
    {"kernel": "attention_wgmma", "grid": ["min(TILES, SM_COUNT) if PERSISTENT else TILES"],
     "block": ["(CONSUMERS + 1) * 128"],
     "shared_bytes": "(BUFFERS * CONSUMERS * 64 + 2 * STAGES * BN) * round_up(D, 64) * 2 + 2048",
     "args": ["map_q", "map_k", "map_v", "map_o", "lse",
              {"i32": "B * H"}, {"i32": "H // G"}, {"i32": "S"}, {"i32": "T"}]}
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
//   shared memory:  [q, later o] x BUFFERS   [BN keys] x STAGES   [BN values] x STAGES   barriers
//
// Keys are walked from the last to the first: tiles that need a mask come first. Blocks begin with the last queries,
// which see the most keys, of GROUP heads, whose keys and values stay in L2. Heads that are no multiple of 64 elements
// are filled up with zeros by the accelerator, which also cuts off what lies beyond S and T.
// Follows Shah et al., FlashAttention-3, arXiv:2407.08608; Milakov and Gimelshein, Online normalizer calculation for
// softmax, arXiv:1805.02867.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

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
#define AK_CAUSAL 0
using scalar_t = __nv_bfloat16;
#define AK_DTYPE_BFLOAT16 1
#endif

constexpr int BM = CONSUMERS * 64;
constexpr int PANELS = (D + 63) / 64;  // of 64 elements of a head: 128 bytes, one line of the 128-byte swizzle
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
  int heads, share;  // query heads of all batches; query heads that share one head of keys
  int queries, keys;
  __device__ int tiles_per_head() const { return (queries + BM - 1) / BM; }
  __device__ int tiles() const { return tiles_per_head() * heads; }
  __device__ int rounds() const { return (tiles() + gridDim.x - 1) / gridDim.x; }
  // Keys that query row sees: those before this one.
  __device__ int end(int row) const { return AK_CAUSAL ? min(keys, row + 1 + keys - queries) : keys; }
  // Tiles of keys that some query before row sees; one also where there is none.
  __device__ int steps(int row) const { return (max(1, end(min(row, queries) - 1)) + BN - 1) / BN; }
};

// The tile of this block in a round; rounds go back and forth, so that no block always has the longer rows.
struct Tile {
  bool exists;
  int row = 0, head = 0, steps = 0;  // first query, its head, tiles of keys
  __device__ Tile(const Shape& shape, int round) {
    const int place = round % 2 == 0 ? blockIdx.x : gridDim.x - 1 - blockIdx.x, index = round * gridDim.x + place;
    exists = index < shape.tiles();
    if (!exists) return;
    const int per_head = shape.tiles_per_head(), group = min(GROUP, shape.heads), section = index / (group * per_head);
    const int within = index - section * group * per_head, heads = min(group, shape.heads - section * group);
    row = (per_head - 1 - within / heads) * BM;
    head = section * group + within % heads;
    steps = shape.steps(row + BM);
  }
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
#pragma unroll 1  // the movers have 32 or 40 registers
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
    const int head = tile.head / shape.share;
    for (int step = tile.steps - 1; step >= 0; --step) {
      ak::barrier_wait(shared.keys_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.keys + ring.stage * KV_BYTES, map_k, step * BN, head, shared.keys_full + ring.stage * 8);
      if (step == tile.steps - 1) {  // after the first keys: the results of a tile before may still be leaving
        const u32 full = shared.q_full + queries.stage * 8;
        ak::barrier_wait(shared.q_empty + queries.stage * 8, queries.parity ^ 1);
        ak::barrier_expect(full, Q_BYTES);
        for_blocks(shared.q + queries.stage * Q_BYTES, tile,
                   [&](u32 to, int column, int row) { ak::tma_load(to, map_q, full, column, row, tile.head); });
        queries.advance();
      }
      ak::barrier_wait(shared.values_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.values + ring.stage * KV_BYTES, map_v, step * BN, head, shared.values_full + ring.stage * 8);
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

// Takes away the scores of keys, counted from first, that the queries row and row + 8 do not see.
__device__ __forceinline__ void mask(float (&scores)[BN / 2], const Shape& shape, int row, int first) {
  const int column = first + threadIdx.x % 4 * 2, end[2] = {shape.end(row) - column, shape.end(row + 8) - column};
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    if (i / 4 * 8 + i % 2 >= end[i / 2 % 2]) scores[i] = ak::minus_infinity();
  }
}

constexpr float LOG2_E = 1.4426950408889634f;

constexpr float LN_2 = 0.6931471805599453f;

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
      const float base = largest == ak::minus_infinity() ? 0.0f : largest;  // a row without a key yet keeps weights of zero
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

  // Keys that only later groups see.
  __device__ __forceinline__ void skip() {
    wait_keys();
    release_keys();
    wait_values();
    release_values();
    wait_turn(group);
    pass_turn(group);
  }

  // Leaves weights times values in `sums`, not yet divided by the sums of the weights. row: this thread's first.
  __device__ __forceinline__ void run(const Tile& tile, int row, float (&sums)[D / 2], Softmax& softmax) {
    const int whole = shape.end(tile.row + group * 64);  // keys that all queries of this group see
    float scores[BN / 2], factor[2];
    u32 weights[BN / 4];
    int step = tile.steps - 1;
    for (const int own = shape.steps(tile.row + group * 64 + 64); step >= own; --step) skip();
    wait_keys();
    ak::wgmma_fence();
    multiply_keys(queries_now(), keys_now(), scores);
    ak::wgmma_wait<0>();
    release_keys();
    if ((step + 1) * BN > whole) mask(scores, shape, row, step * BN);
    softmax.step(scores, factor);
    to_weights(scores, weights);
    for (--step; step >= 0; --step) {
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
      if ((step + 1) * BN > whole) mask(scores, shape, row, step * BN);
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
      factor[half] = sum > 0.0f ? 1.0f / sum : 0.0f;
      if (threadIdx.x % 4 == 0 && row + half * 8 < shape.queries) {
        const long long at = static_cast<long long>(tile.head) * shape.queries + row + half * 8;
        lse[at] = sum > 0.0f ? (softmax.maximum[half] + log2f(sum)) * LN_2 : ak::minus_infinity();
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
      Softmax softmax{rsqrtf(static_cast<float>(D)) * LOG2_E, {ak::minus_infinity(), ak::minus_infinity()}, {0.0f, 0.0f}};
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

// q, o: heads x queries x D; k, v: heads / share x keys x D; lse: heads x queries.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    attention_wgmma(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                    const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_o,
                    float* __restrict__ lse, int heads, int share, int queries, int keys) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared(ak::shared_address(memory));
  const Shape shape{heads, share, queries, keys};
  if (threadIdx.x == 0) shared.init();
  __syncthreads();
  const int group = ak::warp_group();
  if (group == CONSUMERS) {
    // Together what 64 K registers hold: 256 x 232 + 128 x 40, or 384 x 160 + 128 x 32.
    if constexpr (CONSUMERS == 2) ak::give_registers<40>();
    if constexpr (CONSUMERS == 3) ak::give_registers<32>();
    if (threadIdx.x % 128 == 0) fetch_all(&map_q, &map_k, &map_v, shared, shape);
    if (threadIdx.x % 128 == 32) write_all(&map_o, shared, shape);
  } else {
    if constexpr (CONSUMERS == 2) ak::take_registers<232>();
    if constexpr (CONSUMERS == 3) ak::take_registers<160>();
    if (group == CONSUMERS - 1) pass_turn(group);
    Consumer consumer{shared, shape, group};
    consumer.consume(lse);
  }
}
