/* alphakernel
{
  "tunables": {
    "KEYS": {"values": [64, 128], "default": 64},
    "CONSUMERS": {"values": [1, 2, 3], "default": 1},
    "STAGES": {"values": [1, 2, 3, 4], "default": 2},
    "BLOCKS_PER_SM": {"values": [1, 2, 4, 8], "default": 2},
    "LAST_BLOCK": {"values": [0, 1], "default": 0}
  },
  "starts": [
    {"BLOCKS_PER_SM": 1, "CONSUMERS": 2},
    {"BLOCKS_PER_SM": 1, "LAST_BLOCK": 1, "STAGES": 3},
    {"BLOCKS_PER_SM": 1, "KEYS": 128}
  ],
  "constraints": [
    "ARCH == 90",
    "dtype != 'float8_e4m3fn'",
    "D % 64 == 0 and D <= 192",
    "D // 2 + KEYS // 2 + KEYS // 4 <= (160 if CONSUMERS < 3 else 112)",
    "D * 128 + CONSUMERS * max(STAGES * 4 * KEYS * D, 256 * (D + 10)) + 2048 <= 232448"
  ],
  "let": {
    "ROW_TILES": "ceil_div(Q * (HQ // HKV), 64)",
    "WANTED": "max(1, BLOCKS_PER_SM * SM_COUNT // (B * HKV * ROW_TILES))",
    "SHARE": "KEYS * CONSUMERS * ceil_div(ceil_div(S, KEYS * CONSUMERS), WANTED)",
    "SPLITS": "ceil_div(S, SHARE)"
  },
  "workspace": [
    {"name": "part", "dtype": "float32", "count": "B * Q * HQ * SPLITS * D if SPLITS > 1 else 0"},
    {"name": "part_lse", "dtype": "float32", "count": "B * Q * HQ * SPLITS if SPLITS > 1 else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "B * HKV * ROW_TILES if SPLITS > 1 and LAST_BLOCK else 0", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "map_k", "tensor": "k", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "HKV", "page_size if paged else S", "B * ceil_div(S, page_size) if paged else B"],
     "strides_bytes": ["2 * D", "2 * D * HKV", "2 * D * HKV * (page_size if paged else S)"],
     "box": [64, 1, "min(KEYS, page_size) if paged else KEYS", 1]},
    {"name": "map_v", "tensor": "v", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "HKV", "page_size if paged else S", "B * ceil_div(S, page_size) if paged else B"],
     "strides_bytes": ["2 * D", "2 * D * HKV", "2 * D * HKV * (page_size if paged else S)"],
     "box": [64, 1, "min(KEYS, page_size) if paged else KEYS", 1]}
  ],
  "launches": [
    {"kernel": "decode_wgmma", "grid": ["SPLITS", "HKV * ROW_TILES", "B"], "block": ["CONSUMERS * 128 + 32"],
     "shared_bytes": "D * 128 + CONSUMERS * max(STAGES * 4 * KEYS * D, 256 * (D + 10)) + 2048",
     "args": ["q", "map_k", "map_v", "lengths", {"optional": "block_table"}, "o", {"optional": "lse"}, "part", "part_lse",
              "arrived", {"i32": "Q"}, {"i32": "HQ"}, {"i32": "HKV"}, {"i32": "S"}, {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * HQ * (D // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK", "pdl": true,
     "args": ["lengths", "part", "part_lse", "o", {"optional": "lse"}, {"i32": "B * Q * HQ"}, {"i32": "Q * HQ"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// The same as decode_split.cu on Hopper's matrix units, for many rows a key head (several queries, or large groups): a
// warp group multiplies 64 rows at once, so that each tile of keys and values is read from shared memory once.
//
//   block:  SHARE keys of one sequence and key head, 64 rows
//     a warp fills the ring: boxes of keys and values, a page or a tile long, by the tensor memory accelerator
//     CONSUMERS warp groups take the tiles in turn, each with sums and softmax of its own, which meet in shared memory
//
//   shared memory:  queries │ [keys, values] x CONSUMERS * STAGES │ barriers
//
// Lines past a sequence's end are zeroed before they are multiplied: they may be no numbers, or were never copied.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/barriers.cuh>
#include <ak/decode.cuh>
#include <ak/elements.cuh>
#include <ak/functions.cuh>
#include <ak/handover.cuh>
#include <ak/reduce.cuh>
#include <ak/swizzle.cuh>
#include <ak/threads.cuh>
#include <ak/tma.cuh>
#include <ak/wgmma.cuh>

#ifndef ALPHAKERNEL
constexpr int KEYS = 64;
constexpr int CONSUMERS = 1;
constexpr int STAGES = 2;
constexpr bool LAST_BLOCK = false;
constexpr int D = 128;
constexpr bool PAGED = false;
constexpr int PAGE_SIZE = 16;
using scalar_t = __nv_bfloat16;
#endif

constexpr int ROWS = 64;
constexpr int THREADS = CONSUMERS * 128 + 32;
constexpr int SLOTS = CONSUMERS * STAGES;
constexpr int PANELS = D / 64;  // of 64 elements: 128 bytes, one line of the 128-byte swizzle
constexpr int QUERY_PANEL = ROWS * 128;
constexpr int PANEL = KEYS * 128;
constexpr int TILE = PANELS * PANEL;
constexpr int BOX_KEYS = PAGED && PAGE_SIZE < KEYS ? PAGE_SIZE : KEYS;
constexpr int PAGES = KEYS / BOX_KEYS;  // of a tile
constexpr int PITCH = D + 8;  // of results in shared memory: the warp's 8 rows at a time are in different banks
constexpr int MEETING = ROWS * (PITCH + 2) * 4;  // bytes that a consumer leaves
constexpr float LOG2_E = 1.4426950408889634f;

using ak::u32;
using element = ak::Element<scalar_t>;

// Keys of one block.
struct Keys {
  int sequence, key_head, length, begin, tiles;
  __device__ __forceinline__ int position(int tile) const { return begin + tile * KEYS; }
};

struct Shared {
  u32 queries, slots, full, empty;
  __device__ __forceinline__ explicit Shared(u32 start) {
    queries = (start + 1023) / 1024 * 1024;
    slots = queries + PANELS * QUERY_PANEL;
    full = slots + CONSUMERS * max(STAGES * 2 * TILE, MEETING);
    empty = full + SLOTS * 8;
  }
  __device__ __forceinline__ void init() const {
    for (int slot = 0; slot < SLOTS; ++slot) {
      ak::barrier_init(full + slot * 8, 1);
      ak::barrier_init(empty + slot * 8, 4);  // the warps of a consumer
    }
    ak::publish_barriers();
  }
};

// ---- the warp that fetches

// Lanes share the boxes of a tile; each knows the page of its own, and asks for the next tile's ahead.
__device__ __forceinline__ void fetch_all(const CUtensorMap* map_k, const CUtensorMap* map_v, const int* pages,
                                          const Shared& shared, const Keys& keys) {
  const int lane = threadIdx.x % 32, last = max(keys.length - 1, 0) / PAGE_SIZE;
  const auto page_of = [&](int tile) {
    const int position = keys.position(tile) + lane % PAGES * BOX_KEYS;
    return PAGED ? __ldg(pages + min(position / PAGE_SIZE, last)) : keys.sequence;
  };
  int page = page_of(0);
  ak::Ring<SLOTS> ring;
  for (int tile = 0; tile < keys.tiles; ++tile, ring.advance()) {
    const int line = PAGED ? keys.position(tile) % PAGE_SIZE : keys.position(tile);  // of a tile's only page
    const int boxes = min((keys.length - keys.position(tile) + BOX_KEYS - 1) / BOX_KEYS, PAGES);  // with keys
    const u32 full = ring.of(shared.full), to = shared.slots + ring.stage * 2 * TILE;
    ak::barrier_wait(ring.of(shared.empty), ring.parity ^ 1);
    if (lane == 0) ak::barrier_expect(full, boxes * 2 * PANELS * BOX_KEYS * 128);
    __syncwarp();
    if (lane % PAGES < boxes) {
#pragma unroll
      for (int i = lane / PAGES; i < 2 * PANELS; i += 32 / PAGES) {
        ak::tma_load(to + i * PANEL + lane % PAGES * (BOX_KEYS * 128), i < PANELS ? map_k : map_v, full,
                     i % PANELS * 64, keys.key_head, PAGES == 1 ? line : 0, page);
      }
    }
    page = page_of(tile + 1);
  }
}

// ---- consumers

// The rows, from `first_row` on, as panels; rows past the end are zero.
__device__ __forceinline__ void stage_queries(u32 panels, const scalar_t* q, const ak::DecodeRows& rows, int sequence,
                                              int key_head, int first_row) {
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += CONSUMERS * 128) {
    const int line = i / (D / 8), chunk = i % (D / 8), row = first_row + line;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows.count()) {
      const long long from = static_cast<long long>(rows.line(sequence, key_head, row)) * D + chunk * 8;
      bytes = *reinterpret_cast<const uint4*>(q + from);
    }
    const u32 to = panels + chunk / 8 * QUERY_PANEL + ak::swizzled(line, chunk % 8);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(bytes.x), "r"(bytes.y), "r"(bytes.z),
                 "r"(bytes.w) : "memory");
  }
  ak::fence_shared_writes();
  ak::named_barrier<CONSUMERS * 128>(1);
}

// Zeros for the keys and values of a slot from `line` on. All threads of the group.
__device__ __forceinline__ void clear_lines(u32 slot, int line, int group) {
  for (int i = line * 8 + threadIdx.x % 128; i < KEYS * 8; i += 128) {
#pragma unroll
    for (int panel = 0; panel < 2 * PANELS; ++panel) {
      asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(slot + panel * PANEL + i * 16), "r"(0) : "memory");
    }
  }
  ak::fence_shared_writes();
  ak::named_barrier<128>(2 + group);
}

__device__ __forceinline__ void multiply_keys(u32 queries, u32 keys, float (&scores)[KEYS / 2]) {
  ak::wgmma_fence();
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    ak::Wgmma<element, KEYS>::multiply(scores, ak::wgmma_operand(queries + step / 4 * QUERY_PANEL + step % 4 * 32),
                                       ak::wgmma_operand(keys + step / 4 * PANEL + step % 4 * 32), step == 0 ? 0 : 1);
  }
  ak::wgmma_commit();
  ak::wgmma_wait<0>();
}

__device__ __forceinline__ void multiply_values(u32 values, const u32 (&weights)[KEYS / 4], float (&sums)[D / 2]) {
  ak::wgmma_fence();
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    // Values lie across the sum over keys: PANEL bytes from 64 of their elements to the next 64.
    ak::Wgmma<element, D, false, true>::multiply(sums, &weights[step * 4],
                                                 ak::wgmma_operand(values + step * 16 * 128, PANEL));
  }
  ak::wgmma_commit();
  ak::wgmma_wait<0>();
}

// Of a thread's two rows, 8 apart.
struct Softmax {
  float scale;  // scores times this are exponents of two
  int seen[2];  // keys that the row sees
  float top[2], sum[2];

  __device__ __forceinline__ void mask(float (&scores)[KEYS / 2], int position) const {
    const int column = position + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) {
      if (column + i / 4 * 8 + i % 2 >= seen[i / 2 % 2]) scores[i] = ak::minus_infinity();
    }
  }

  // Scores become weights, relative to 2^top; sums so far are rescaled to it.
  __device__ __forceinline__ void add(const float (&scores)[KEYS / 2], u32 (&weights)[KEYS / 4], float (&sums)[D / 2]) {
    float shift[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float above = ak::minus_infinity();
#pragma unroll
      for (int i = 0; i < KEYS / 8; ++i)
        above = fmaxf(above, fmaxf(scores[i * 4 + half * 2], scores[i * 4 + half * 2 + 1]));
      above = fmaxf(top[half], ak::reduce_quad(above, ak::Maximum()) * scale);
      shift[half] = above == ak::minus_infinity() ? 0.0f : above;  // no key seen yet: weights stay zero
      const float factor = ak::fast_exp2(top[half] - shift[half]);
      top[half] = above;
      sum[half] *= factor;
#pragma unroll
      for (int i = 0; i < D / 8; ++i) sums[i * 4 + half * 2] *= factor, sums[i * 4 + half * 2 + 1] *= factor;
    }
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i) {
      const float low = ak::fast_exp2(fmaf(scores[i * 2], scale, -shift[i % 2]));
      const float high = ak::fast_exp2(fmaf(scores[i * 2 + 1], scale, -shift[i % 2]));
      sum[i % 2] += low + high;
      weights[i] = ak::pack_pair<element>(low, high);
    }
  }
};

// What consumers leave for each other in the memory of the ring.
struct Meeting {
  float *results, *tops, *sums;  // [CONSUMERS][ROWS][PITCH], [CONSUMERS][ROWS] twice

  __device__ __forceinline__ explicit Meeting(unsigned char* memory)
      : results(reinterpret_cast<float*>(memory)),
        tops(results + CONSUMERS * ROWS * PITCH),
        sums(tops + CONSUMERS * ROWS) {}

  __device__ __forceinline__ void leave(const float (&from)[D / 2], const Softmax& softmax) const {
    const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16 + lane / 4;  // consumers' rows one after another
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + half * 8;
      const float sum = ak::reduce_quad(softmax.sum[half], ak::Sum());
      if (lane % 4 == 0) tops[row] = softmax.top[half], sums[row] = sum;
      float* to = results + row * PITCH + lane % 4 * 2;
#pragma unroll
      for (int n = 0; n < D / 8; ++n)
        *reinterpret_cast<float2*>(to + n * 8) = make_float2(from[n * 4 + half * 2], from[n * 4 + half * 2 + 1]);
    }
  }
};

__device__ __forceinline__ void consume(const scalar_t* q, const ak::DecodeRows& rows, const Shared& shared,
                                        const Keys& keys, int first_row, int group, float (&sums)[D / 2],
                                        Softmax& softmax) {
  stage_queries(shared.queries, q, rows, keys.sequence, keys.key_head, first_row);
  softmax.scale = LOG2_E / sqrtf(static_cast<float>(D));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + half * 8;
    softmax.seen[half] = rows.seen(first_row + row, keys.length);
    softmax.top[half] = ak::minus_infinity();
    softmax.sum[half] = 0.0f;
  }
#pragma unroll
  for (float& sum : sums) sum = 0.0f;

  ak::Ring<SLOTS> ring;
  ring.skip(group);
  for (int tile = group; tile < keys.tiles; tile += CONSUMERS, ring.skip(CONSUMERS)) {
    const int position = keys.position(tile);
    const u32 slot = shared.slots + ring.stage * 2 * TILE;
    float scores[KEYS / 2];
    u32 weights[KEYS / 4];
    ak::barrier_wait(ring.of(shared.full), ring.parity);
    if (position + KEYS > keys.length) clear_lines(slot, keys.length - position, group);
    multiply_keys(shared.queries, slot, scores);
    if (position + KEYS > rows.seen_by_all(keys.length)) softmax.mask(scores, position);
    softmax.add(scores, weights, sums);
    multiply_values(slot + TILE, weights, sums);
    if (threadIdx.x % 32 == 0) ak::barrier_arrive(ring.of(shared.empty));
  }
}

__global__ void __launch_bounds__(128)
    combine_splits(const int* __restrict__ lengths, const float* __restrict__ part, const float* __restrict__ part_lse,
                   scalar_t* __restrict__ o, float* __restrict__ lse, int lines, int lines_of_sequence, int splits,
                   int share) {
  const int i = blockIdx.x * 128 + threadIdx.x, line = i / (D / 4);
  if (line >= lines) return;
  const int used = (lengths[line / lines_of_sequence] + share - 1) / share;
  ak::wait_for_parts();
  ak::combine_decoded<D>(part, part_lse, o, lse, line, i % (D / 4) * 4, splits, used);
}

// q, o: [b][queries][hq][D]; part: [b][queries][hq][splits][D].
__global__ void __launch_bounds__(THREADS)
    decode_wgmma(const scalar_t* __restrict__ q, const __grid_constant__ CUtensorMap map_k,
                 const __grid_constant__ CUtensorMap map_v, const int* __restrict__ lengths,
                 const int* __restrict__ block_table, scalar_t* __restrict__ o, float* __restrict__ lse, float* part,
                 float* part_lse, unsigned int* arrived, int queries, int hq, int hkv, int room, int share) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const Shared shared(ak::shared_address(memory));
  ak::let_combination_begin();
  const ak::DecodeRows rows{queries, hq, hkv};
  const int split = blockIdx.x, first_row = blockIdx.y / hkv * ROWS;
  Keys keys;
  keys.sequence = blockIdx.z;
  keys.key_head = blockIdx.y % hkv;
  keys.length = lengths[keys.sequence];
  keys.begin = split * share;
  keys.tiles = (max(min(keys.begin + share, keys.length) - keys.begin, 0) + KEYS - 1) / KEYS;

  if (keys.tiles > 0 || split == 0) {
    if (threadIdx.x == 0) shared.init();
    __syncthreads();
    const int group = ak::warp_group();
    const Meeting meeting(memory + (shared.slots - ak::shared_address(memory)));
    float sums[D / 2];
    Softmax softmax;
    if (group == CONSUMERS) {
      const int pages = (room + PAGE_SIZE - 1) / PAGE_SIZE;
      fetch_all(&map_k, &map_v, block_table + static_cast<long long>(keys.sequence) * pages, shared, keys);
    } else {
      consume(q, rows, shared, keys, first_row, group, sums, softmax);
    }
    __syncthreads();  // all have read the last tiles
    if (group < CONSUMERS) meeting.leave(sums, softmax);
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * (D / 4); i += THREADS) {
      const int row = i / (D / 4), column = i % (D / 4) * 4;
      if (first_row + row >= rows.count()) break;
      float top = ak::minus_infinity();
#pragma unroll
      for (int other = 0; other < CONSUMERS; ++other) top = fmaxf(top, meeting.tops[other * ROWS + row]);
      ak::SoftmaxParts all(top);
#pragma unroll
      for (int other = 0; other < CONSUMERS; ++other) {
        const int at = other * ROWS + row;
        const float4 result = *reinterpret_cast<const float4*>(meeting.results + at * PITCH + column);
        all.add(meeting.tops[at], meeting.sums[at], result);
      }
      const long long line = rows.line(keys.sequence, keys.key_head, first_row + row);
      if (gridDim.x == 1) {
        ak::write_decoded<D>(o, lse, line, column, all);
      } else {
        *reinterpret_cast<float4*>(part + (line * gridDim.x + split) * D + column) = all.mean();
        if (column == 0) part_lse[line * gridDim.x + split] = all.log2_sum();
      }
    }
  }

  if constexpr (LAST_BLOCK) {
    if (gridDim.x == 1) return;
    __syncthreads();
    if (!ak::is_last_block(arrived + keys.sequence * gridDim.y + blockIdx.y)) return;
    for (int i = threadIdx.x; i < ROWS * (D / 4); i += THREADS) {
      const int row = first_row + i / (D / 4);
      if (row >= rows.count()) break;
      ak::combine_decoded<D>(part, part_lse, o, lse, rows.line(keys.sequence, keys.key_head, row), i % (D / 4) * 4,
                             gridDim.x, (keys.length + share - 1) / share);
    }
  }
}
