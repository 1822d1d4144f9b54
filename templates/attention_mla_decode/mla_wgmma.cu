/* alphakernel
{
  "tunables": {
    "KEYS": {"values": [32, 64], "default": 64},
    "STAGES": {"values": [2, 3, 4], "default": 2},
    "CLUSTER": {"values": [1, 2], "default": 1},
    "BLOCKS_PER_SM": {"values": [1, 2, 4], "default": 1},
    "LAST_BLOCK": {"values": [0, 1], "default": 0},
    "MERGE": {"values": [0, 1], "default": 0}
  },
  "constraints": [
    "ARCH == 90",
    "SHARED + 1024 <= 232448",
    "not MERGE or (CLUSTER == 1 and not LAST_BLOCK and SPLITS > 1)"
  ],
  "let": {
    "SHARED": "64 * (D * 2 + 128) + STAGES * (KEYS * D * 2 + 48) + 1024",
    "ROW_TILES": "CLUSTER * ceil_div(Q * H, 64 * CLUSTER)",
    "ROOM": "max(1, BLOCKS_PER_SM * SM_COUNT // (B * ROW_TILES))",
    "WANTED": "ROOM if not MERGE else 8 if ROOM >= 8 else 4 if ROOM >= 4 else 2 if ROOM >= 2 else 1",
    "SHARE": "KEYS * ceil_div(ceil_div(S, KEYS), WANTED)",
    "SPLITS": "WANTED if MERGE else ceil_div(S, SHARE)"
  },
  "workspace": [
    {"name": "part", "dtype": "float32", "count": "B * Q * H * SPLITS * DV if SPLITS > 1 and not MERGE else 0"},
    {"name": "part_lse", "dtype": "float32", "count": "B * Q * H * SPLITS if SPLITS > 1 and not MERGE else 0"},
    {"name": "arrived", "dtype": "uint32", "count": "B * ROW_TILES if SPLITS > 1 and LAST_BLOCK else 0", "init": "zero"}
  ],
  "tensor_maps": [
    {"name": "map_kv", "tensor": "kv", "dtype": "dtype", "swizzle": "128B", "l2_promotion": "128B",
     "dims": ["D", "page_size if paged else S", "B * ceil_div(S, page_size) if paged else B"],
     "strides_bytes": ["2 * D", "2 * D * (page_size if paged else S)"],
     "box": [64, "min(KEYS, page_size) if paged else KEYS", 1]}
  ],
  "launches": [
    {"kernel": "mla_wgmma", "grid": ["SPLITS", "ROW_TILES", "B"], "block": [384], "cluster": ["SPLITS if MERGE else 1", "CLUSTER"],
     "shared_bytes": "SHARED",
     "args": ["q", "map_kv", "lengths", {"optional": "block_table"}, "scale", "o", "lse", "part", "part_lse",
              "arrived", {"i32": "Q"}, {"i32": "H"}, {"i32": "S"}, {"i32": "SHARE"}]},
    {"kernel": "combine_splits", "grid": ["ceil_div(B * Q * H * (DV // 4), 128)"], "block": [128],
     "when": "SPLITS > 1 and not LAST_BLOCK and not MERGE", "pdl": true,
     "args": ["lengths", "part", "part_lse", "o", "lse", {"i32": "B * Q * H"}, {"i32": "Q * H"},
              {"i32": "SPLITS"}, {"i32": "SHARE"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Latent attention of a few queries a sequence on Hopper's matrix units. All heads share one key head, so that all
// heads of all queries are rows of one product, and a tile of keys is read from memory once for both products: its
// first 512 columns are the values.
//
//   block:  SHARE keys of one sequence, 64 rows
//     a warp fills the ring: boxes of keys, a page or a tile long, by the tensor memory accelerator
//     two warp groups, for every tile:
//       scores of half of its keys each  ->  the rows' maxima meet in shared memory  ->  weights of all keys there
//       ->  half of the columns of the results each, 64 x 256 in registers
//
//   shared memory:  queries │ weights │ keys x STAGES │ barriers
//
// The CLUSTER blocks of a cluster have the same keys and other rows; each loads a part of a tile for all of them. With
// MERGE a cluster is the 2, 4 or 8 splits of the same rows instead, each of which gets some columns from all of them. Lines
// past a sequence's end are zeroed before they are multiplied: they may be no numbers, or were never copied.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/barriers.cuh>
#include <ak/clusters.cuh>
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
constexpr int STAGES = 2;
constexpr int CLUSTER = 1;
constexpr bool LAST_BLOCK = false;
constexpr bool MERGE = false;
constexpr int D = 576;
constexpr int DV = 512;
constexpr bool PAGED = false;
constexpr int PAGE_SIZE = 64;
using scalar_t = __nv_bfloat16;
#endif

constexpr int ROWS = 64;
constexpr int GROUPS = 2;
constexpr int CONSUMERS = GROUPS * 128;  // threads
constexpr int THREADS = CONSUMERS + 128;  // and a group of which one warp fetches
constexpr int PANELS = D / 64;           // of 64 elements: 128 bytes, one line of the 128-byte swizzle
constexpr int QUERY_PANEL = ROWS * 128;
constexpr int PANEL = KEYS * 128;
constexpr int SLOT = PANELS * PANEL;
constexpr int BOX_KEYS = PAGED && PAGE_SIZE < KEYS ? PAGE_SIZE : KEYS;
constexpr int PAGES = KEYS / BOX_KEYS;  // of a tile
constexpr int OWN_KEYS = KEYS / GROUPS;  // of a tile, whose scores a group computes
constexpr int COLUMNS = DV / GROUPS;     // of the results, of a group
// A tile comes and goes in parts, each with its barriers, so that products begin when a part is there and copies of a tile
// to come when a part is no longer wanted: the rotary elements, then those of half of either group's columns.
constexpr int PARTS = 3;
constexpr int PART_COLUMNS = COLUMNS / 2;  // of the results, of a group
__host__ __device__ constexpr int panels_of(int part) { return part == 0 ? 1 : GROUPS * PART_COLUMNS / 64; }
__host__ __device__ constexpr int panel_of(int part, int i) {
  return part == 0 ? PANELS - 1
                   : i / (PART_COLUMNS / 64) * (COLUMNS / 64) + (part - 1) * (PART_COLUMNS / 64) + i % (PART_COLUMNS / 64);
}
static_assert(PANELS == 1 + panels_of(1) + panels_of(2), "the last panel is no value");
constexpr float LOG2_E = 1.4426950408889634f;

using ak::u32;
using element = ak::Element<scalar_t>;
using Place = ak::Ring<STAGES>;

// Keys of one block.
struct Keys {
  int sequence, length, begin, tiles;
  __device__ __forceinline__ int position(int tile) const { return begin + tile * KEYS; }
};

struct Shared {
  u32 queries, weights, slots, full, empty;
  __device__ __forceinline__ explicit Shared(u32 start) {
    queries = (start + 1023) / 1024 * 1024;
    weights = queries + PANELS * QUERY_PANEL;
    slots = weights + QUERY_PANEL;
    full = slots + STAGES * SLOT;
    empty = full + STAGES * PARTS * 8;
  }
  __device__ __forceinline__ void init() const {
    for (int slot = 0; slot < STAGES * PARTS; ++slot) {
      ak::barrier_init(full + slot * 8, 1);
      ak::barrier_init(empty + slot * 8, CONSUMERS / 32 * CLUSTER);
    }
    ak::publish_barriers();
  }
  __device__ __forceinline__ u32 slot(const Place& at) const { return slots + at.stage * SLOT; }
  static __device__ __forceinline__ u32 of(u32 barriers, const Place& at, int part) {
    return barriers + (at.stage * PARTS + part) * 8;
  }
};

__device__ __forceinline__ void cluster_or_block_sync() {
  if constexpr (CLUSTER > 1 || MERGE) {
    ak::cluster_sync();
  } else {
    __syncthreads();
  }
}

// ---- the warp that fetches

// Lanes share the boxes of a tile, blocks of a cluster its panels; a lane knows the page of its own box, and asks for
// the next tile's ahead.
__device__ __forceinline__ void fetch_all(const CUtensorMap* map_kv, const int* pages, const Shared& shared,
                                          const Keys& keys) {
  const int lane = threadIdx.x % 32, last = max(keys.length - 1, 0) / PAGE_SIZE;
  const int rank = CLUSTER > 1 ? ak::cluster_rank() : 0;
  const auto page_of = [&](int tile) {
    const int position = keys.position(tile) + lane % PAGES * BOX_KEYS;
    return PAGED ? __ldg(pages + min(position / PAGE_SIZE, last)) : keys.sequence;
  };
  int page = page_of(0);
  Place at;
  for (int tile = 0; tile < keys.tiles; ++tile, at.advance()) {
    const int position = keys.position(tile), line = PAGED ? position % PAGE_SIZE : position;  // of a tile's only page
    const int boxes = min((keys.length - position + BOX_KEYS - 1) / BOX_KEYS, PAGES);          // with keys
    const u32 to = shared.slot(at) + lane % PAGES * (BOX_KEYS * 128);
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      const u32 full = Shared::of(shared.full, at, part);
      ak::barrier_wait(Shared::of(shared.empty, at, part), at.parity ^ 1);
      if (lane == 0) ak::barrier_expect(full, boxes * panels_of(part) * BOX_KEYS * 128);
      __syncwarp();
      const int i = lane / PAGES;
      if (lane % PAGES < boxes && i < panels_of(part) && i % CLUSTER == rank) {
        const int panel = panel_of(part, i);
        ak::tma_load_for_all<CLUSTER>(to + panel * PANEL, map_kv, full, panel * 64, PAGES == 1 ? line : 0, page);
      }
    }
    page = page_of(tile + 1);
  }
}

// ---- consumers

// The rows, from `first_row` on, as panels; rows past the end are zero.
__device__ __forceinline__ void stage_queries(u32 panels, const scalar_t* q, const ak::DecodeRows& rows, int sequence,
                                              int first_row) {
  for (int i = threadIdx.x; i < ROWS * (D / 8); i += CONSUMERS) {
    const int line = i / (D / 8), chunk = i % (D / 8), row = first_row + line;
    uint4 bytes = make_uint4(0, 0, 0, 0);
    if (row < rows.count()) {
      const long long from = static_cast<long long>(rows.line(sequence, 0, row)) * D + chunk * 8;
      bytes = *reinterpret_cast<const uint4*>(q + from);
    }
    const u32 to = panels + chunk / 8 * QUERY_PANEL + ak::swizzled(line, chunk % 8);
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(bytes.x), "r"(bytes.y), "r"(bytes.z),
                 "r"(bytes.w) : "memory");
  }
  ak::fence_shared_writes();
  ak::named_barrier<CONSUMERS>(1);
}

// Zeros for the group's keys of a slot from `line` on. All threads of the group.
__device__ __forceinline__ void clear_lines(u32 slot, int line, int group) {
  const int begin = max(line, group * OWN_KEYS), end = (group + 1) * OWN_KEYS;
  for (int i = begin * 8 + threadIdx.x % 128; i < end * 8; i += 128) {
#pragma unroll
    for (int panel = 0; panel < PANELS; ++panel) {
      asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(slot + panel * PANEL + i * 16), "r"(0) : "memory");
    }
  }
  ak::fence_shared_writes();
  ak::named_barrier<128>(2 + group);
}

// Scores of a group's keys of a tile whose parts are on their way.
__device__ __forceinline__ void multiply_keys(const Shared& shared, const Place& at, int group,
                                              float (&scores)[OWN_KEYS / 2]) {
  const u32 keys = shared.slot(at) + group * (OWN_KEYS * 128);
#pragma unroll
  for (int part = 0; part < PARTS; ++part) {
    ak::barrier_wait(Shared::of(shared.full, at, part), at.parity);
    ak::wgmma_fence();
#pragma unroll
    for (int step = 0; step < panels_of(part) * 4; ++step) {
      const int panel = panel_of(part, step / 4);
      ak::Wgmma<element, OWN_KEYS>::multiply(scores,
                                             ak::wgmma_operand(shared.queries + panel * QUERY_PANEL + step % 4 * 32),
                                             ak::wgmma_operand(keys + panel * PANEL + step % 4 * 32),
                                             part == 0 && step == 0 ? 0 : 1);
    }
  }
  ak::wgmma_commit();
  ak::wgmma_wait<0>();
}

__device__ __forceinline__ void multiply_values(u32 weights, u32 values, float (&sums)[PART_COLUMNS / 2]) {
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    // Values lie across the sum over keys: PANEL bytes from 64 of their elements to the next 64.
    ak::Wgmma<element, PART_COLUMNS, false, true>::multiply(sums, ak::wgmma_operand(weights + step * 32),
                                                            ak::wgmma_operand(values + step * 16 * 128, PANEL), 1);
  }
  ak::wgmma_commit();
}

// All warps of the cluster that read a part say so: then it may be filled again.
__device__ __forceinline__ void release(const Shared& shared, const Place& at, int part) {
  const u32 empty = Shared::of(shared.empty, at, part), lane = threadIdx.x % 32;
  if constexpr (CLUSTER == 1) {
    if (lane == 0) ak::barrier_arrive(empty);
  } else {
    if (lane < CLUSTER) ak::barrier_arrive_at(empty, lane);
  }
}

// Of both groups: each has a value for every row, and gets what the operation makes of both. A barrier of all consumers
// comes before the next call.
template <class Operation>
__device__ __forceinline__ void meet(float (&values)[2], float (&meeting)[GROUPS][ROWS], int group,
                                     Operation operation) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    values[half] = ak::reduce_quad(values[half], operation);
    if (lane % 4 == 0) meeting[group][row + half * 8] = values[half];
  }
  ak::named_barrier<CONSUMERS>(1);
#pragma unroll
  for (int half = 0; half < 2; ++half) values[half] = operation(meeting[0][row + half * 8], meeting[1][row + half * 8]);
}

using Results = float[2][PART_COLUMNS / 2];  // of a thread

// Of a thread's two rows, 8 apart.
struct Softmax {
  float scale;  // scores times this are exponents of two
  int seen[2];  // keys that the row sees
  float top[2], sum[2];

  __device__ __forceinline__ void mask(float (&scores)[OWN_KEYS / 2], int position) const {
    const int column = position + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < OWN_KEYS / 2; ++i) {
      if (column + i / 4 * 8 + i % 2 >= seen[i / 2 % 2]) scores[i] = ak::minus_infinity();
    }
  }

  // The largest of the group's own scores, for either row.
  static __device__ __forceinline__ void own_maxima(const float (&scores)[OWN_KEYS / 2], float (&above)[2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      above[half] = ak::minus_infinity();
#pragma unroll
      for (int i = 0; i < OWN_KEYS / 8; ++i)
        above[half] = fmaxf(above[half], fmaxf(scores[i * 4 + half * 2], scores[i * 4 + half * 2 + 1]));
    }
  }

  // Takes the maxima of a tile's scores: sums so far are rescaled to what is now the largest.
  __device__ __forceinline__ void raise(const float (&above)[2], Results& results) {
    float factors[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float raised = fmaxf(top[half], above[half] * scale);
      factors[half] = raised == top[half] ? 1.0f : ak::fast_exp2(top[half] - raised);
      top[half] = raised;
      sum[half] *= factors[half];
    }
    if (!__any_sync(0xffffffffu, factors[0] != 1.0f || factors[1] != 1.0f)) return;  // as after the first few tiles
#pragma unroll
    for (int part = 0; part < 2; ++part) {
#pragma unroll
      for (int i = 0; i < PART_COLUMNS / 2; ++i) results[part][i] *= factors[i / 2 % 2];
    }
  }

  // The weights of the group's own scores, to its columns of the panel of weights. Before the first key that a row sees
  // all scores are minus infinity, and so must be their exponents.
  __device__ __forceinline__ void put_weights(const float (&scores)[OWN_KEYS / 2], u32 panel, int group) {
    const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < OWN_KEYS / 4; ++i) {
      const float shift = top[i % 2] == ak::minus_infinity() ? 0.0f : top[i % 2];
      const float low = ak::fast_exp2(fmaf(scores[i * 2], scale, -shift));
      const float high = ak::fast_exp2(fmaf(scores[i * 2 + 1], scale, -shift));
      sum[i % 2] += low + high;
      const u32 to = panel + ak::swizzled(row + i % 2 * 8, group * (OWN_KEYS / 8) + i / 2) + lane % 4 * 4;
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(ak::pack_pair<element>(low, high)) : "memory");
    }
  }
};

__device__ __forceinline__ void consume(const Shared& shared, const Keys& keys, int seen_by_all, int group,
                                        float (&meeting)[GROUPS][ROWS], Results& results, Softmax& softmax) {
  Place at;
  for (int tile = 0; tile < keys.tiles; ++tile, at.advance()) {
    const int position = keys.position(tile);
    const u32 slot = shared.slot(at), values = slot + group * (COLUMNS / 64) * PANEL;
    float scores[OWN_KEYS / 2], above[2];
    if (position + KEYS > keys.length) {
#pragma unroll
      for (int part = 0; part < PARTS; ++part) ak::barrier_wait(Shared::of(shared.full, at, part), at.parity);
      clear_lines(slot, keys.length - position, group);
    }
    multiply_keys(shared, at, group, scores);
    release(shared, at, 0);
    if (position + KEYS > seen_by_all) softmax.mask(scores, position + group * OWN_KEYS);
    Softmax::own_maxima(scores, above);
    meet(above, meeting, group, ak::Maximum());
    softmax.raise(above, results);
    softmax.put_weights(scores, shared.weights, group);
    ak::fence_shared_writes();
    ak::named_barrier<CONSUMERS>(1);  // weights of both groups are there
    ak::wgmma_fence();
    multiply_values(shared.weights, values, results[0]);
    multiply_values(shared.weights, values + PART_COLUMNS / 64 * PANEL, results[1]);
    ak::wgmma_wait<1>();
    release(shared, at, 1);
    ak::wgmma_wait<0>();
    release(shared, at, 2);
  }
}

// Where a block leaves rows: as results if it has all keys, else as part `split` of `splits`.
struct Rows {
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

// ---- splits that merge in the memory of their cluster, where queries, weights and tiles were: of 8 splits 148 KiB of at
// least 152 (STAGES * KEYS is 64 or more)

// Of each split: 64 rows of the columns of a block, and the exponents and sums of all its rows.
struct Merging {
  u32 lines;
  const unsigned char* memory;  // the same for reading
  int splits, rank, width;      // width: columns of a block

  __device__ __forceinline__ u32 pitch() const { return (width + 8) * 4; }  // four rows, 8 banks apart, at a time
  __device__ __forceinline__ u32 size() const { return ROWS * pitch() + ROWS * 8; }

  static __device__ __forceinline__ void store(u32 address, float low, float high) {
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(low), "f"(high) : "memory");
  }
  // One row of a thread: every fourth pair of the group's columns; all blocks get the numbers of the row.
  __device__ __forceinline__ void leave(const Results& results, int half, int group, float top, float sum) const {
    const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + half * 8;
    const u32 own = lines + rank * size();
#pragma unroll
    for (int i = 0; i < COLUMNS / 8; ++i) {
      const int column = group * COLUMNS + i * 8 + threadIdx.x % 4 * 2;
      const float* two = &results[i / (PART_COLUMNS / 8)][i % (PART_COLUMNS / 8) * 4 + half * 2];
      store(ak::remote_address(own + row * pitch() + column % width * 4, column / width), two[0], two[1]);
    }
    if (group != 0) return;
    for (int to = threadIdx.x % 4; to < splits; to += 4)
      store(ak::remote_address(own + ROWS * pitch() + row * 8, to), top, sum);
  }
  __device__ __forceinline__ void combine(const ak::DecodeRows& rows, int sequence, int first_row, scalar_t* o,
                                          float* lse) const {
    for (int i = threadIdx.x; i < ROWS * (width / 4); i += CONSUMERS) {
      const int row = i / (width / 4), column = i % (width / 4) * 4;
      if (first_row + row >= rows.count()) break;
      const auto numbers = [&](int split) {
        return *reinterpret_cast<const float2*>(memory + split * size() + ROWS * pitch() + row * 8);
      };
      float top = ak::minus_infinity();
      for (int split = 0; split < splits; ++split) top = fmaxf(top, numbers(split).x);
      ak::SoftmaxParts all(top);
      for (int split = 0; split < splits; ++split) {
        const float2 two = numbers(split);
        all.add(two.x, two.y, *reinterpret_cast<const float4*>(memory + split * size() + row * pitch() + column * 4));
      }
      ak::write_decoded<DV>(o, lse, rows.line(sequence, 0, first_row + row), rank * width + column, all);
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

// q: [b][queries][heads][D]; o: [b][queries][heads][DV]; part: [b][queries][heads][splits][DV].
__global__ void __launch_bounds__(THREADS, 1)
    mla_wgmma(const scalar_t* __restrict__ q, const __grid_constant__ CUtensorMap map_kv,
              const int* __restrict__ lengths, const int* __restrict__ block_table, float scale,
              scalar_t* __restrict__ o, float* __restrict__ lse, float* part, float* part_lse, unsigned int* arrived,
              int queries, int heads, int room, int share) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ float meeting[GROUPS][ROWS];
  const Shared shared(ak::shared_address(memory));
  ak::let_combination_begin();
  const ak::DecodeRows rows{queries, heads, 1};
  const int split = blockIdx.x, first_row = blockIdx.y * ROWS;
  Keys keys;
  keys.sequence = blockIdx.z;
  keys.length = lengths[keys.sequence];
  keys.begin = split * share;
  keys.tiles = (max(min(keys.begin + share, keys.length) - keys.begin, 0) + KEYS - 1) / KEYS;

  if (keys.tiles > 0 || split == 0 || MERGE) {
    if (threadIdx.x == 0) shared.init();
    cluster_or_block_sync();
    const int group = ak::warp_group();
    if (group == GROUPS) {
      ak::give_registers<40>();
      const int pages = (room + PAGE_SIZE - 1) / PAGE_SIZE;
      const int* table = block_table + static_cast<long long>(keys.sequence) * pages;
      if (threadIdx.x % 128 < 32) fetch_all(&map_kv, table, shared, keys);
      if constexpr (MERGE) {
        __syncwarp();
        ak::cluster_sync();
        ak::cluster_sync();
        return;
      }
      if constexpr (LAST_BLOCK) {  // as launched: all threads combine
        ak::named_barrier<128>(4);  // the group's warps meet between one change of registers and the next
        ak::take_registers<168, 3>();
      }
    } else {
      ak::take_registers<232, 2, 40>();
      stage_queries(shared.queries, q, rows, keys.sequence, first_row);
      const int row = first_row + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
      Softmax softmax;
      softmax.scale = LOG2_E * scale;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        softmax.seen[half] = rows.seen(row + half * 8, keys.length);
        softmax.top[half] = ak::minus_infinity();
        softmax.sum[half] = 0.0f;
      }
      Results results = {};
      consume(shared, keys, rows.seen_by_all(keys.length), group, meeting, results, softmax);
      meet(softmax.sum, meeting, group, ak::Sum());

      if constexpr (MERGE) {
        const int splits = static_cast<int>(gridDim.x);
        const Merging merging{shared.queries, memory + (shared.queries - ak::shared_address(memory)), splits, split,
                              DV / splits};
        ak::cluster_sync();  // no block reads queries, weights or tiles any more
        merging.leave(results, 0, group, softmax.top[0], softmax.sum[0]);
        merging.leave(results, 1, group, softmax.top[1], softmax.sum[1]);
        ak::cluster_sync();
        merging.combine(rows, keys.sequence, first_row, o, lse);
        return;
      }
      const Rows written{o, lse, part, part_lse, split, static_cast<int>(gridDim.x)};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if (row + half * 8 >= rows.count()) continue;
        const long long line = rows.line(keys.sequence, 0, row + half * 8);
        const float sum = softmax.sum[half], inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
        const int column = group * COLUMNS + threadIdx.x % 4 * 2;
#pragma unroll
        for (int i = 0; i < COLUMNS / 8; ++i) {
          const float *two = &results[i / (PART_COLUMNS / 8)][i % (PART_COLUMNS / 8) * 4 + half * 2];
          written.write(line, column + i * 8, two[0] * inverse, two[1] * inverse);
        }
        if (column == 0) written.write_sum(line, sum == 0.0f ? ak::minus_infinity() : softmax.top[half] + log2f(sum));
      }
      if constexpr (LAST_BLOCK) ak::give_registers<168>();
    }
    cluster_or_block_sync();  // no block of the cluster may still reach this one's memory
  }

  if constexpr (LAST_BLOCK) {
    if (gridDim.x == 1) return;
    __syncthreads();
    if (!ak::is_last_block(arrived + keys.sequence * gridDim.y + blockIdx.y)) return;
    for (int i = threadIdx.x; i < ROWS * (DV / 4); i += THREADS) {
      const int row = first_row + i / (DV / 4);
      if (row >= rows.count()) break;
      ak::combine_decoded<DV>(part, part_lse, o, lse, rows.line(keys.sequence, 0, row), i % (DV / 4) * 4, gridDim.x,
                              (keys.length + share - 1) / share);
    }
  }
}
