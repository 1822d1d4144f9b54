/* alphakernel
{
  "tunables": {
    "KEY_GROUPS": {"values": [1, 2, 3], "default": 1},
    "COLUMNS": {"values": [64, 128], "default": 128},
    "STEP_QUERIES": {"values": [32, 64, 96], "default": 32},
    "QUERY_GROUPS": {"values": [1, 2, 3], "default": 1},
    "STEP_KEYS": {"values": [32, 64, 96], "default": 32},
    "STAGES": {"values": [2, 3], "default": 2}
  },
  "starts": [
    {"KEY_GROUPS": 3, "QUERY_GROUPS": 2, "STAGES": 3, "STEP_KEYS": 96},
    {"KEY_GROUPS": 2, "QUERY_GROUPS": 2, "STEP_KEYS": 96},
    {"KEY_GROUPS": 2, "QUERY_GROUPS": 2, "STAGES": 3, "STEP_KEYS": 96}
  ],
  "constraints": [
    "ARCH == 90",
    "COLUMNS == 128 or D > 64",
    "KEY_GROUPS * PARTS <= 3",
    "D // PARTS + STEP_QUERIES * 3 // 2 <= (112 if KEY_GROUPS * PARTS == 3 else 176)",
    "D // 2 + STEP_KEYS * 5 // 4 <= (112 if QUERY_GROUPS == 3 else 184 if QUERY_GROUPS == 2 else 208)",
    "SHARED_KEYS <= 232448",
    "SHARED_QUERIES <= 232448"
  ],
  "let": {
    "PARTS": "ceil_div(D, COLUMNS)",
    "LINES": "round_up(S, STEP_QUERIES)",
    "SHARED_KEYS": "4 * (KEY_GROUPS * 64 + STAGES * STEP_QUERIES) * D + STAGES * STEP_QUERIES * 8 + 1280",
    "SHARED_QUERIES": "4 * (QUERY_GROUPS * 64 + STAGES * STEP_KEYS) * D + 1280"
  },
  "workspace": [{"name": "rows", "dtype": "float32", "count": "B * H * LINES * 2"}],
  "tensor_maps": [
    {"name": "map_q", "tensor": "q", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, 32, 1]},
    {"name": "map_dout", "tensor": "dout", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "S", "B * H"],
     "strides_bytes": ["2 * D", "2 * D * S"], "box": [64, 32, 1]},
    {"name": "map_k", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 32, 1]},
    {"name": "map_v", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "dims": ["D", "T", "B * G"],
     "strides_bytes": ["2 * D", "2 * D * T"], "box": [64, 32, 1]}
  ],
  "launches": [
    {"kernel": "sum_rows", "grid": ["ceil_div(B * H * LINES, 4)"], "block": [128],
     "args": ["o", "dout", "lse", "rows", {"i32": "S"}, {"i32": "LINES"}, {"i32": "B * H"}]},
    {"kernel": "backward_of_keys", "grid": ["ceil_div(T, KEY_GROUPS * 64) * B * G"],
     "block": ["(KEY_GROUPS * PARTS + 1) * 128"], "shared_bytes": "SHARED_KEYS",
     "args": ["map_q", "map_k", "map_v", "map_dout", "rows", "dk", "dv", {"i32": "H // G"}, {"i32": "S"},
              {"i32": "LINES"}, {"i32": "T"}]},
    {"kernel": "backward_of_queries", "grid": ["ceil_div(S, QUERY_GROUPS * 64) * B * H"],
     "block": ["(QUERY_GROUPS + 1) * 128"], "shared_bytes": "SHARED_QUERIES",
     "args": ["map_q", "map_k", "map_v", "map_dout", "rows", "dq", {"i32": "H // G"}, {"i32": "S"}, {"i32": "LINES"},
              {"i32": "T"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of attention on Hopper's matrix units, the same bytes every time: a launch has keys in its blocks and walks
// the queries for dk and dv, another has queries and walks the keys for dq. Both compute the scores.
//
//   p = exp(q k / sqrt(D) - lse)   delta = sum(o dout)   ds = p (dout v - delta)
//   of keys:     p^T, ds^T in registers  ->  dv += p^T dout, dk += ds^T q     over all heads that share the keys
//   of queries:  ds in registers         ->  dq += ds k
//
//   shared memory:  lines of the block, of two tensors | lines of a step, of two tensors | ... STAGES of these | rows
//
// One thread moves data through the tensor memory accelerator, which also fills up with zeros what lies beyond S and T.
// A warp group has 64 lines of the block; its products with a step's lines are, rounded, the first operand of the
// products that follow, from registers. While dout v runs, weights are computed. Of head sizes beyond COLUMNS, PARTS
// groups have the same keys and a part of the columns of dk and dv each. A first launch leaves lse, as a binary
// logarithm, and delta next to each other, for lines that are whole steps.
// Follows Dao, FlashAttention-2, arXiv:2307.08691, and Shah et al., FlashAttention-3, arXiv:2407.08608.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/attention.cuh>
#include <ak/barriers.cuh>
#include <ak/elements.cuh>
#include <ak/functions.cuh>
#include <ak/reduce.cuh>
#include <ak/threads.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>

#ifndef ALPHAKERNEL
constexpr int KEY_GROUPS = 2;
constexpr int COLUMNS = 128;
constexpr int STEP_QUERIES = 32;
constexpr int QUERY_GROUPS = 2;
constexpr int STEP_KEYS = 64;
constexpr int STAGES = 2;
constexpr int D = 128;
constexpr bool CAUSAL = false;
using scalar_t = __nv_bfloat16;
#endif

using ak::u32;
using element = ak::Element<scalar_t>;
using Seen = ak::SeenKeys<CAUSAL, 0>;

constexpr int PANELS = D / 64;  // of 64 elements: 128 bytes, one line of the 128-byte swizzle
constexpr int PARTS = (D + COLUMNS - 1) / COLUMNS;
constexpr int WIDTH = D / PARTS;  // columns of dk and dv that a group has

// ---- shared memory of a block with OWN lines that walks STEP lines at a time

// Addresses. `full` and `empty` barriers for each stage; numbers: two for each line of a step.
template <int OWN, int STEP>
struct Shared {
  static constexpr int OWN_PANEL = OWN * 128, OWN_BYTES = PANELS * OWN_PANEL;
  static constexpr int STEP_PANEL = STEP * 128, STEP_BYTES = PANELS * STEP_PANEL;
  u32 lines, steps, numbers, own_full, full, empty;

  __device__ explicit Shared(u32 start, bool with_numbers) {
    lines = (start + 1023) / 1024 * 1024;
    steps = lines + 2 * OWN_BYTES;
    numbers = steps + STAGES * 2 * STEP_BYTES;
    own_full = numbers + (with_numbers ? STAGES * STEP * 8 : 0);
    full = own_full + 8;
    empty = full + STAGES * 8;
  }
  __device__ void init(int consumers) const {
    ak::barrier_init(own_full, 1);
    for (int stage = 0; stage < STAGES; ++stage) {
      ak::barrier_init(full + stage * 8, 1);
      ak::barrier_init(empty + stage * 8, consumers * 128);
    }
    ak::publish_barriers();
  }
  __device__ u32 own(int which) const { return lines + which * OWN_BYTES; }
  __device__ u32 step(int stage, int which) const { return steps + (stage * 2 + which) * STEP_BYTES; }
};

template <int LINES>
__device__ __forceinline__ void fetch(u32 to, const CUtensorMap* map, int row, int plane, u32 full) {
#pragma unroll 1
  for (int panel = 0; panel < PANELS; ++panel) {
#pragma unroll 1
    for (int line = 0; line < LINES; line += 32) {
      ak::tma_load(to + (panel * LINES + line) * 128, map, full, panel * 64, row + line, plane);
    }
  }
}

// ---- products of a warp group. A thread has sums of two rows, 8 apart.

// A group's 64 lines times those of a step, along D.
template <class Memory, int STEP>
__device__ __forceinline__ void multiply(u32 own, u32 step, float (&sums)[STEP / 2]) {
#pragma unroll
  for (int d = 0; d < D / 16; ++d) {
    ak::Wgmma<element, STEP>::multiply(sums, ak::wgmma_operand(own + d / 4 * Memory::OWN_PANEL + d % 4 * 32),
                                       ak::wgmma_operand(step + d / 4 * Memory::STEP_PANEL + d % 4 * 32),
                                       d == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
}

// Adds factors times the lines of a step, which lie across the sum; step: at the first of the columns.
template <class Memory, int STEP, int COUNT>
__device__ __forceinline__ void accumulate(const u32 (&factors)[STEP / 4], u32 step, float (&sums)[COUNT / 2]) {
#pragma unroll
  for (int i = 0; i < STEP / 16; ++i) {
    ak::Wgmma<element, COUNT, false, true>::multiply(sums, &factors[i * 4],
                                                     ak::wgmma_operand(step + i * 16 * 128, Memory::STEP_PANEL));
  }
  ak::wgmma_commit();
}

template <int STEP>
__device__ __forceinline__ void round(const float (&sums)[STEP / 2], u32 (&factors)[STEP / 4]) {
#pragma unroll
  for (int i = 0; i < STEP / 4; ++i) factors[i] = ak::pack_pair<element>(sums[i * 2], sums[i * 2 + 1]);
}

// The weight of a product q k; exponent: the binary logarithm of the sum of weights.
__device__ __forceinline__ float weight(float product, float exponent, bool seen) {
  return seen ? ak::fast_exp2(fmaf(product, ak::ScoreExponents<D, 0, false>::scale(), -exponent)) : 0.0f;
}

// Writes sums times `scale` to lines, of which there are `count` from this thread's first on.
template <int COUNT>
__device__ __forceinline__ void write(scalar_t* to, const float (&sums)[COUNT / 2], float scale, int count) {
#pragma unroll
  for (int i = 0; i < COUNT / 2; i += 2) {
    const int line = i / 2 % 2 * 8;
    if (line >= count) continue;
    *reinterpret_cast<u32*>(to + line * D + i / 4 * 8 + threadIdx.x % 4 * 2) =
        ak::pack_pair<element>(sums[i] * scale, sums[i + 1] * scale);
  }
}

// One consumer has enough without.
template <int CONSUMERS>
__device__ __forceinline__ void take_registers() {
  if constexpr (CONSUMERS == 2) ak::take_registers<216, 2, 72>();
  if constexpr (CONSUMERS == 3) ak::take_registers<144, 3, 80>();
}
template <int CONSUMERS>
__device__ __forceinline__ void give_registers() {
  if constexpr (CONSUMERS > 1) ak::give_registers<CONSUMERS == 2 ? 72 : 80>();
}

// ---- rows: the binary logarithm and delta of every query, zeros behind the last of a head. A warp a line.

__global__ void __launch_bounds__(128)
    sum_rows(const scalar_t* __restrict__ o, const scalar_t* __restrict__ dout, const float* __restrict__ lse,
             float* __restrict__ rows, int queries, int lines, int heads) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  if (row >= lines * heads) return;
  const long long line = static_cast<long long>(row / lines) * queries + row % lines;
  const bool inside = row % lines < queries;
  float sum = 0.0f;
#pragma unroll
  for (int i = threadIdx.x % 32 * 2; i < D; i += 64) {
    if (!inside) break;
    const float2 a = ak::unpack_pair<element>(*reinterpret_cast<const u32*>(o + line * D + i));
    const float2 b = ak::unpack_pair<element>(*reinterpret_cast<const u32*>(dout + line * D + i));
    sum = fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
  }
  sum = ak::reduce_lanes(sum, ak::Sum());
  const float exponent = inside ? lse[line] * ak::kLog2E : 0.0f;
  if (threadIdx.x % 32 == 0) *reinterpret_cast<float2*>(rows + row * 2ll) = make_float2(exponent, sum);
}

// ---- dk and dv: [key heads][keys][D]

struct KeyBlock {
  static constexpr int OWN = KEY_GROUPS * 64, CONSUMERS = KEY_GROUPS * PARTS;
  using Memory = Shared<OWN, STEP_QUERIES>;
  Seen seen;
  int share, lines, head, first, first_tile, tiles;  // lines: of the rows of a head

  __device__ KeyBlock(int share_, int queries, int lines_, int keys)
      : seen{queries, keys}, share(share_), lines(lines_) {
    const int heads = gridDim.x / ((keys + OWN - 1) / OWN);
    head = blockIdx.x % heads;
    first = blockIdx.x / heads * OWN;  // the first keys, which most queries see, begin
    first_tile = (CAUSAL ? max(first - seen.position(0), 0) : 0) / STEP_QUERIES;
    tiles = max((queries + STEP_QUERIES - 1) / STEP_QUERIES - first_tile, 0);
  }
  __device__ int steps() const { return tiles * share; }
  __device__ int query(int step) const { return (first_tile + step % tiles) * STEP_QUERIES; }
  __device__ int query_head(int step) const { return head * share + step / tiles; }
};

__device__ __forceinline__ void fetch_queries(const KeyBlock& block, const KeyBlock::Memory& shared,
                                              const CUtensorMap* map_q, const CUtensorMap* map_k,
                                              const CUtensorMap* map_v, const CUtensorMap* map_dout,
                                              const float* rows) {
  using Memory = KeyBlock::Memory;
  ak::barrier_expect(shared.own_full, 2 * Memory::OWN_BYTES);
  fetch<KeyBlock::OWN>(shared.own(0), map_k, block.first, block.head, shared.own_full);
  fetch<KeyBlock::OWN>(shared.own(1), map_v, block.first, block.head, shared.own_full);
  ak::Ring<STAGES> ring;
  for (int step = 0; step < block.steps(); ++step, ring.advance()) {
    const int query = block.query(step), head = block.query_head(step);
    const u32 full = ring.of(shared.full);
    ak::barrier_wait(ring.of(shared.empty), ring.parity ^ 1);
    ak::barrier_expect(full, 2 * Memory::STEP_BYTES + STEP_QUERIES * 8);
    fetch<STEP_QUERIES>(shared.step(ring.stage, 0), map_q, query, head, full);
    fetch<STEP_QUERIES>(shared.step(ring.stage, 1), map_dout, query, head, full);
    ak::bulk_load(shared.numbers + ring.stage * STEP_QUERIES * 8,
                  rows + (static_cast<long long>(head) * block.lines + query) * 2, STEP_QUERIES * 8, full);
  }
}

__device__ __forceinline__ void add_queries(const KeyBlock& block, const KeyBlock::Memory& shared, int group,
                                            const unsigned char* numbers, scalar_t* dk, scalar_t* dv) {
  using Memory = KeyBlock::Memory;
  const int own = group / PARTS * 64, column = group % PARTS * WIDTH;
  const int key = own + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;  // this thread's first, of the block
  float dk_sums[WIDTH / 2], dv_sums[WIDTH / 2];
#pragma unroll
  for (int i = 0; i < WIDTH / 2; ++i) dk_sums[i] = dv_sums[i] = 0.0f;
  ak::barrier_wait(shared.own_full, 0);
  ak::Ring<STAGES> ring;
  for (int step = 0; step < block.steps(); ++step, ring.advance()) {
    const int query = block.query(step);
    const bool masked = block.seen.masked(query, query, block.first, KeyBlock::OWN);
    const u32 q = shared.step(ring.stage, 0), dout = shared.step(ring.stage, 1);
    float weights[STEP_QUERIES / 2], gradients[STEP_QUERIES / 2];
    u32 factors[STEP_QUERIES / 4], gradient_factors[STEP_QUERIES / 4];
    ak::barrier_wait(ring.of(shared.full), ring.parity);
    ak::wgmma_fence();
    multiply<Memory, STEP_QUERIES>(shared.own(0) + own * 128, q, weights);
    multiply<Memory, STEP_QUERIES>(shared.own(1) + own * 128, dout, gradients);
    ak::wgmma_wait<1>();
    const float4* of_two = reinterpret_cast<const float4*>(numbers + ring.stage * STEP_QUERIES * 8) + threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < STEP_QUERIES / 2; ++i) {
      const float4 two = of_two[i / 4 * 4];  // exponent and delta of a query and the next one
      const int at = query + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
      const bool seen = !masked || block.first + key + i / 2 % 2 * 8 < block.seen.end(at);
      weights[i] = weight(weights[i], i % 2 == 0 ? two.x : two.z, seen);
    }
    round<STEP_QUERIES>(weights, factors);
    ak::wgmma_wait<0>();
    ak::wgmma_fence();
    accumulate<Memory, STEP_QUERIES, WIDTH>(factors, dout + column / 64 * Memory::STEP_PANEL, dv_sums);
#pragma unroll
    for (int i = 0; i < STEP_QUERIES / 2; ++i) {
      const float4 two = of_two[i / 4 * 4];
      gradients[i] = weights[i] * (gradients[i] - (i % 2 == 0 ? two.y : two.w));
    }
    round<STEP_QUERIES>(gradients, gradient_factors);
    ak::wgmma_fence();
    accumulate<Memory, STEP_QUERIES, WIDTH>(gradient_factors, q + column / 64 * Memory::STEP_PANEL, dk_sums);
    ak::wgmma_wait<0>();
    ak::barrier_arrive(ring.of(shared.empty));  // by each thread: racecheck does not count what a __syncwarp put before
  }
  const long long line = static_cast<long long>(block.head) * block.seen.keys + block.first + key;
  const int count = block.seen.keys - block.first - key;
  write<WIDTH>(dk + line * D + column, dk_sums, rsqrtf(static_cast<float>(D)), count);
  write<WIDTH>(dv + line * D + column, dv_sums, 1.0f, count);
}

__global__ void __launch_bounds__((KEY_GROUPS * PARTS + 1) * 128, 1)
    backward_of_keys(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                     const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_dout,
                     const float* __restrict__ rows, scalar_t* __restrict__ dk, scalar_t* __restrict__ dv, int share,
                     int queries, int lines, int keys) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 start = ak::shared_address(memory);
  const KeyBlock::Memory shared(start, true);
  const KeyBlock block(share, queries, lines, keys);
  if (threadIdx.x == 0) shared.init(KeyBlock::CONSUMERS);
  __syncthreads();
  const int group = ak::warp_group();
  if (group == KeyBlock::CONSUMERS) {
    give_registers<KeyBlock::CONSUMERS>();
    if (threadIdx.x % 128 == 0) fetch_queries(block, shared, &map_q, &map_k, &map_v, &map_dout, rows);
  } else {
    take_registers<KeyBlock::CONSUMERS>();
    add_queries(block, shared, group, memory + (shared.numbers - start), dk, dv);
  }
}

// ---- dq: [heads][queries][D]

struct QueryBlock {
  static constexpr int OWN = QUERY_GROUPS * 64;
  using Memory = Shared<OWN, STEP_KEYS>;
  Seen seen;
  int share, head, first, steps;

  __device__ QueryBlock(int share_, int queries, int keys) : seen{queries, keys}, share(share_) {
    const int tiles = (queries + OWN - 1) / OWN, heads = gridDim.x / tiles;
    head = blockIdx.x % heads;
    first = (tiles - 1 - blockIdx.x / heads) * OWN;  // the last queries, which see the most keys, begin
    steps = seen.tiles<STEP_KEYS>(first, first + OWN - 1).end;
  }
};

__device__ __forceinline__ void fetch_keys(const QueryBlock& block, const QueryBlock::Memory& shared,
                                           const CUtensorMap* map_q, const CUtensorMap* map_k,
                                           const CUtensorMap* map_v, const CUtensorMap* map_dout) {
  using Memory = QueryBlock::Memory;
  ak::barrier_expect(shared.own_full, 2 * Memory::OWN_BYTES);
  fetch<QueryBlock::OWN>(shared.own(0), map_q, block.first, block.head, shared.own_full);
  fetch<QueryBlock::OWN>(shared.own(1), map_dout, block.first, block.head, shared.own_full);
  ak::Ring<STAGES> ring;
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    const u32 full = ring.of(shared.full);
    ak::barrier_wait(ring.of(shared.empty), ring.parity ^ 1);
    ak::barrier_expect(full, 2 * Memory::STEP_BYTES);
    fetch<STEP_KEYS>(shared.step(ring.stage, 0), map_k, step * STEP_KEYS, block.head / block.share, full);
    fetch<STEP_KEYS>(shared.step(ring.stage, 1), map_v, step * STEP_KEYS, block.head / block.share, full);
  }
}

__device__ __forceinline__ void add_keys(const QueryBlock& block, const QueryBlock::Memory& shared, int group,
                                         const float* rows, int lines, scalar_t* dq) {
  using Memory = QueryBlock::Memory;
  const int own = group * 64, query = block.first + own + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  float2 numbers[2];  // exponent and delta
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const long long row = static_cast<long long>(block.head) * lines + query + half * 8;
    const bool inside = query + half * 8 < block.seen.queries;
    numbers[half] = inside ? *reinterpret_cast<const float2*>(rows + row * 2) : make_float2(0.0f, 0.0f);
  }
  float sums[D / 2];
#pragma unroll
  for (float& sum : sums) sum = 0.0f;
  ak::barrier_wait(shared.own_full, 0);
  ak::Ring<STAGES> ring;
  for (int step = 0; step < block.steps; ++step, ring.advance()) {
    const int first_key = step * STEP_KEYS, first_query = block.first + own;
    const bool masked = block.seen.masked(first_query, first_query, first_key, STEP_KEYS);
    const u32 k = shared.step(ring.stage, 0), v = shared.step(ring.stage, 1);
    float products[STEP_KEYS / 2], gradients[STEP_KEYS / 2];
    u32 factors[STEP_KEYS / 4];
    ak::barrier_wait(ring.of(shared.full), ring.parity);
    ak::wgmma_fence();
    multiply<Memory, STEP_KEYS>(shared.own(0) + own * 128, k, products);
    multiply<Memory, STEP_KEYS>(shared.own(1) + own * 128, v, gradients);
    ak::wgmma_wait<1>();
    const int column = first_key + threadIdx.x % 4 * 2;
    const int end[2] = {block.seen.end(query) - column, block.seen.end(query + 8) - column};
#pragma unroll
    for (int i = 0; i < STEP_KEYS / 2; ++i) {
      const int half = i / 2 % 2;
      products[i] = weight(products[i], numbers[half].x, !masked || i / 4 * 8 + i % 2 < end[half]);
    }
    ak::wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < STEP_KEYS / 2; ++i) gradients[i] = products[i] * (gradients[i] - numbers[i / 2 % 2].y);
    round<STEP_KEYS>(gradients, factors);
    ak::wgmma_fence();
    accumulate<Memory, STEP_KEYS, D>(factors, k, sums);
    ak::wgmma_wait<0>();
    ak::barrier_arrive(ring.of(shared.empty));
  }
  const long long line = static_cast<long long>(block.head) * block.seen.queries + query;
  write<D>(dq + line * D, sums, rsqrtf(static_cast<float>(D)), block.seen.queries - query);
}

__global__ void __launch_bounds__((QUERY_GROUPS + 1) * 128, 1)
    backward_of_queries(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
                        const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_dout,
                        const float* __restrict__ rows, scalar_t* __restrict__ dq, int share, int queries, int lines,
                        int keys) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const QueryBlock::Memory shared(ak::shared_address(memory), false);
  const QueryBlock block(share, queries, keys);
  if (threadIdx.x == 0) shared.init(QUERY_GROUPS);
  __syncthreads();
  const int group = ak::warp_group();
  if (group == QUERY_GROUPS) {
    give_registers<QUERY_GROUPS>();
    if (threadIdx.x % 128 == 0) fetch_keys(block, shared, &map_q, &map_k, &map_v, &map_dout);
  } else {
    take_registers<QUERY_GROUPS>();
    add_keys(block, shared, group, rows, lines, dq);
  }
}
