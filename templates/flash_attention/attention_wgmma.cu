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

#ifdef AK_DTYPE_BFLOAT16
#define WGMMA_TYPE "bf16"
#define PACK_TYPE "bf16x2"
#else
#define WGMMA_TYPE "f16"
#define PACK_TYPE "f16x2"
#endif

constexpr int BM = CONSUMERS * 64;
constexpr int PANELS = (D + 63) / 64;  // of 64 elements of a head: 128 bytes, one line of the 128-byte swizzle
constexpr int Q_PANEL = BM * 128;      // bytes
constexpr int KV_PANEL = BN * 128;
constexpr int Q_BYTES = PANELS * Q_PANEL;
constexpr int KV_BYTES = PANELS * KV_PANEL;

using u32 = unsigned int;
using u64 = unsigned long long;

// ---- instructions (PTX ISA 9.0)

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}
__device__ __forceinline__ void barrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again_%=;\n"
      "}\n" ::"r"(barrier), "r"(parity) : "memory");
}
__device__ __forceinline__ void fetch(u32 to, const CUtensorMap* map, int x, int y, int z, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}
__device__ __forceinline__ void write_back(const CUtensorMap* map, int x, int y, int z, u32 from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(map), "r"(x),
               "r"(y), "r"(z), "r"(from) : "memory");
}
// Whose turn it is to issue products: the group before hands it on.
__device__ __forceinline__ void wait_turn(int group) {
  if constexpr (PINGPONG) asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory");
}
__device__ __forceinline__ void pass_turn(int group) {
  const int next = group + 1 == CONSUMERS ? 0 : group + 1;
  if constexpr (PINGPONG) asm volatile("bar.arrive %0, 256;" ::"r"(next + 1) : "memory");
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ u32 pack(float low, float high) {
  u32 pair;
  asm("cvt.rn." PACK_TYPE ".f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Lists of registers: texts and operands of the products' accumulators.
#define REGISTERS_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define REGISTERS_16 REGISTERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define REGISTERS_24 REGISTERS_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define REGISTERS_32 REGISTERS_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_40 REGISTERS_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define REGISTERS_48 REGISTERS_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define REGISTERS_56 REGISTERS_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define REGISTERS_64 REGISTERS_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_72 REGISTERS_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define REGISTERS_80 REGISTERS_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define REGISTERS_88 REGISTERS_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define REGISTERS_96 REGISTERS_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define REGISTERS_104 REGISTERS_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define REGISTERS_112 REGISTERS_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define REGISTERS_120 REGISTERS_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define REGISTERS_128 REGISTERS_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define FLOATS_AT(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define FLOATS_8 FLOATS_AT(0)
#define FLOATS_16 FLOATS_8, FLOATS_AT(8)
#define FLOATS_24 FLOATS_16, FLOATS_AT(16)
#define FLOATS_32 FLOATS_24, FLOATS_AT(24)
#define FLOATS_40 FLOATS_32, FLOATS_AT(32)
#define FLOATS_48 FLOATS_40, FLOATS_AT(40)
#define FLOATS_56 FLOATS_48, FLOATS_AT(48)
#define FLOATS_64 FLOATS_56, FLOATS_AT(56)
#define FLOATS_72 FLOATS_64, FLOATS_AT(64)
#define FLOATS_80 FLOATS_72, FLOATS_AT(72)
#define FLOATS_88 FLOATS_80, FLOATS_AT(80)
#define FLOATS_96 FLOATS_88, FLOATS_AT(88)
#define FLOATS_104 FLOATS_96, FLOATS_AT(96)
#define FLOATS_112 FLOATS_104, FLOATS_AT(104)
#define FLOATS_120 FLOATS_112, FLOATS_AT(112)
#define FLOATS_128 FLOATS_120, FLOATS_AT(120)

// d = a b (keep 0) or d += a b for 64 queries x N keys x 16 elements, both operands in shared memory.
template <int N>
struct Scores;
#define SCORES(N, REGISTERS, FLOATS, A, B, KEEP)                                            \
  template <>                                                                               \
  struct Scores<N> {                                                                        \
    static __device__ __forceinline__ void add(float (&d)[N / 2], u64 a, u64 b, int keep) { \
      asm volatile(                                                                         \
          "{\n"                                                                             \
          ".reg .pred p;\n"                                                                 \
          "setp.ne.b32 p, " KEEP ", 0;\n"                                                   \
          "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." WGMMA_TYPE "." WGMMA_TYPE       \
          " {" REGISTERS "}, " A ", " B ", p, 1, 1, 0, 0;\n"                                \
          "}\n"                                                                             \
          : FLOATS                                                                          \
          : "l"(a), "l"(b), "r"(keep));                                                     \
    }                                                                                       \
  }
SCORES(64, REGISTERS_32, FLOATS_32, "%32", "%33", "%34");
SCORES(80, REGISTERS_40, FLOATS_40, "%40", "%41", "%42");
SCORES(96, REGISTERS_48, FLOATS_48, "%48", "%49", "%50");
SCORES(112, REGISTERS_56, FLOATS_56, "%56", "%57", "%58");
SCORES(128, REGISTERS_64, FLOATS_64, "%64", "%65", "%66");
SCORES(144, REGISTERS_72, FLOATS_72, "%72", "%73", "%74");
SCORES(160, REGISTERS_80, FLOATS_80, "%80", "%81", "%82");
SCORES(176, REGISTERS_88, FLOATS_88, "%88", "%89", "%90");
SCORES(192, REGISTERS_96, FLOATS_96, "%96", "%97", "%98");

// d += p b for 64 queries x N elements x 16 keys; p in registers, b lies across the keys.
template <int N>
struct Output;
#define OUTPUT(N, REGISTERS, FLOATS, P, B)                                                 \
  template <>                                                                              \
  struct Output<N> {                                                                       \
    static __device__ __forceinline__ void add(float (&d)[N / 2], const u32* p, u64 b) {   \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." WGMMA_TYPE "." WGMMA_TYPE \
                   " {" REGISTERS "}, " P ", " B ", 1, 1, 1, 1;\n"                         \
                   : FLOATS                                                                \
                   : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(b));                  \
    }                                                                                      \
  }
OUTPUT(32, REGISTERS_16, FLOATS_16, "{%16, %17, %18, %19}", "%20");
OUTPUT(64, REGISTERS_32, FLOATS_32, "{%32, %33, %34, %35}", "%36");
OUTPUT(96, REGISTERS_48, FLOATS_48, "{%48, %49, %50, %51}", "%52");
OUTPUT(128, REGISTERS_64, FLOATS_64, "{%64, %65, %66, %67}", "%68");
OUTPUT(160, REGISTERS_80, FLOATS_80, "{%80, %81, %82, %83}", "%84");
OUTPUT(192, REGISTERS_96, FLOATS_96, "{%96, %97, %98, %99}", "%100");
OUTPUT(224, REGISTERS_112, FLOATS_112, "{%112, %113, %114, %115}", "%116");
OUTPUT(256, REGISTERS_128, FLOATS_128, "{%128, %129, %130, %131}", "%132");

// ---- operands in shared memory, in lines of 128 swizzled bytes

// 1024 bytes from 8 lines to the next 8; `across` bytes from 64 elements to the next 64, looked at only where those do
// not lie along the sum.
__device__ __forceinline__ u64 descriptor(u32 address, int across) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | static_cast<u64>(across >> 4) << 16 |
         static_cast<u64>(1024 >> 4) << 32 | 1ull << 62;
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

template <int LENGTH>
struct Ring {
  int stage = 0;
  u32 parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == LENGTH) {
      stage = 0;
      parity ^= 1;
    }
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
      barrier_init(q_full + buffer * 8, 1);
      barrier_init(q_empty + buffer * 8, 1);
      barrier_init(o_full + buffer * 8, CONSUMERS * 128);
    }
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(keys_full + stage * 8, 1);
      barrier_init(keys_empty + stage * 8, CONSUMERS * 4);  // 4 warps a group
      barrier_init(values_full + stage * 8, 1);
      barrier_init(values_empty + stage * 8, CONSUMERS * 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
};

// ---- moving data

__device__ __forceinline__ void fetch_tile(u32 to, const CUtensorMap* map, int row, int head, u32 full) {
  barrier_expect(full, KV_BYTES);
#pragma unroll 1  // the movers have 32 or 40 registers
  for (int panel = 0; panel < PANELS; ++panel) fetch(to + panel * KV_PANEL, map, panel * 64, row, head, full);
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
  Ring<STAGES> ring;
  Ring<BUFFERS> queries;
  for (int round = 0; round < shape.rounds(); ++round) {
    const Tile tile(shape, round);
    if (!tile.exists) continue;
    const int head = tile.head / shape.share;
    for (int step = tile.steps - 1; step >= 0; --step) {
      barrier_wait(shared.keys_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.keys + ring.stage * KV_BYTES, map_k, step * BN, head, shared.keys_full + ring.stage * 8);
      if (step == tile.steps - 1) {  // after the first keys: the results of a tile before may still be leaving
        const u32 full = shared.q_full + queries.stage * 8;
        barrier_wait(shared.q_empty + queries.stage * 8, queries.parity ^ 1);
        barrier_expect(full, Q_BYTES);
        for_blocks(shared.q + queries.stage * Q_BYTES, tile,
                   [&](u32 to, int column, int row) { fetch(to, map_q, column, row, tile.head, full); });
        queries.advance();
      }
      barrier_wait(shared.values_empty + ring.stage * 8, ring.parity ^ 1);
      fetch_tile(shared.values + ring.stage * KV_BYTES, map_v, step * BN, head, shared.values_full + ring.stage * 8);
      ring.advance();
    }
  }
}

__device__ __forceinline__ void write_all(const CUtensorMap* map_o, const Shared& shared, const Shape& shape) {
  Ring<BUFFERS> results;
  for (int round = 0; round < shape.rounds(); ++round) {
    const Tile tile(shape, round);
    if (!tile.exists) continue;
    barrier_wait(shared.o_full + results.stage * 8, results.parity);
    for_blocks(shared.q + results.stage * Q_BYTES, tile,
               [&](u32 from, int column, int row) { write_back(map_o, column, row, tile.head, from); });
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    barrier_arrive(shared.q_empty + results.stage * 8);
    results.advance();
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// ---- products and softmax of one warp group. A thread holds elements of two rows, 8 apart.

__device__ __forceinline__ void release(u32 barrier) {
  if (threadIdx.x % 32 == 0) barrier_arrive(barrier);  // each warp for itself: another may still be reading
}

__device__ __forceinline__ void multiply_keys(u32 q, u32 keys, float (&scores)[BN / 2]) {
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    Scores<BN>::add(scores, descriptor(q + step / 4 * Q_PANEL + step % 4 * 32, 0),
                    descriptor(keys + step / 4 * KV_PANEL + step % 4 * 32, 0), step == 0 ? 0 : 1);
  }
  wgmma_commit();
}

__device__ __forceinline__ void multiply_values(u32 values, const u32 (&weights)[BN / 4], float (&sums)[D / 2]) {
#pragma unroll
  for (int step = 0; step < BN / 16; ++step) {
    Output<D>::add(sums, &weights[step * 4], descriptor(values + step * 16 * 128, KV_PANEL));
  }
  wgmma_commit();
}

// The maximum of no scores.
__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xff800000); }

// Takes away the scores of keys, counted from first, that the queries row and row + 8 do not see.
__device__ __forceinline__ void mask(float (&scores)[BN / 2], const Shape& shape, int row, int first) {
  const int column = first + threadIdx.x % 4 * 2, end[2] = {shape.end(row) - column, shape.end(row + 8) - column};
#pragma unroll
  for (int i = 0; i < BN / 2; ++i) {
    if (i / 4 * 8 + i % 2 >= end[i / 2 % 2]) scores[i] = minus_infinity();
  }
}

// The largest of a row's elements, which four neighbouring lanes hold.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
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
      largest = fmaxf(maximum[half], __fmul_rn(quad_max(largest), scale));
      const float base = largest == minus_infinity() ? 0.0f : largest;  // a row without a key yet keeps weights of zero
      factor[half] = exp2_fast(maximum[half] - base);
      maximum[half] = largest;
      float added = 0.0f;
#pragma unroll
      for (int i = 0; i < BN / 8; ++i) {
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
          float& score = scores[i * 4 + half * 2 + odd];
          score = exp2_fast(score * scale - base);
          added += score;
        }
      }
      sum[half] = sum[half] * factor[half] + added;
    }
  }
};

__device__ __forceinline__ void to_weights(const float (&scores)[BN / 2], u32 (&weights)[BN / 4]) {
#pragma unroll
  for (int i = 0; i < BN / 4; ++i) weights[i] = pack(scores[i * 2], scores[i * 2 + 1]);
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
    const u32 to = q + pair / 4 * Q_PANEL + row * 128 + (chunk ^ row % 8) * 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(pack(d[0], d[1])),
                 "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])), "r"(pack(d[6], d[7])) : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

struct Consumer {
  const Shared& shared;
  const Shape& shape;
  const int group;
  Ring<STAGES> keys, values;
  Ring<BUFFERS> queries;

  __device__ u32 keys_now() const { return shared.keys + keys.stage * KV_BYTES; }
  __device__ u32 values_now() const { return shared.values + values.stage * KV_BYTES; }
  __device__ u32 queries_now() const { return shared.q + queries.stage * Q_BYTES + group * 8192; }
  __device__ __forceinline__ void wait_keys() { barrier_wait(shared.keys_full + keys.stage * 8, keys.parity); }
  __device__ __forceinline__ void wait_values() { barrier_wait(shared.values_full + values.stage * 8, values.parity); }
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
    wgmma_fence();
    multiply_keys(queries_now(), keys_now(), scores);
    wgmma_wait<0>();
    release_keys();
    if ((step + 1) * BN > whole) mask(scores, shape, row, step * BN);
    softmax.step(scores, factor);
    to_weights(scores, weights);
    for (--step; step >= 0; --step) {
      wait_keys();
      wait_turn(group);
      wgmma_fence();
      multiply_keys(queries_now(), keys_now(), scores);
      wait_values();
      wgmma_fence();
      multiply_values(values_now(), weights, sums);
      pass_turn(group);
      wgmma_wait<1>();
      release_keys();
      if ((step + 1) * BN > whole) mask(scores, shape, row, step * BN);
      softmax.step(scores, factor);
      wgmma_wait<0>();
      release_values();
      rescale(sums, factor);
      to_weights(scores, weights);
    }
    wait_values();
    wgmma_fence();
    multiply_values(values_now(), weights, sums);
    wgmma_wait<0>();
    release_values();
  }

  __device__ __forceinline__ void finish(const Tile& tile, int row, float (&sums)[D / 2], const Softmax& softmax,
                                         float* lse) {
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = quad_sum(softmax.sum[half]);
      factor[half] = sum > 0.0f ? 1.0f / sum : 0.0f;
      if (threadIdx.x % 4 == 0 && row + half * 8 < shape.queries) {
        const long long at = static_cast<long long>(tile.head) * shape.queries + row + half * 8;
        lse[at] = sum > 0.0f ? (softmax.maximum[half] + log2f(sum)) * LN_2 : minus_infinity();
      }
    }
    rescale(sums, factor);
    put_results(queries_now(), sums);
    barrier_arrive(shared.o_full + queries.stage * 8);
  }

  __device__ __forceinline__ void consume(float* lse) {
    const int lane_row = group * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
    for (int round = 0; round < shape.rounds(); ++round) {
      const Tile tile(shape, round);
      if (!tile.exists) continue;
      Softmax softmax{rsqrtf(static_cast<float>(D)) * LOG2_E, {minus_infinity(), minus_infinity()}, {0.0f, 0.0f}};
      float sums[D / 2];
#pragma unroll
      for (float& sum : sums) sum = 0.0f;
      barrier_wait(shared.q_full + queries.stage * 8, queries.parity);
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
  const Shared shared(shared_address(memory));
  const Shape shape{heads, share, queries, keys};
  if (threadIdx.x == 0) shared.init();
  __syncthreads();
  // The shuffle tells the compiler that all threads of a warp take the same way; else it takes products one by one.
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (group == CONSUMERS) {
    // Together what 64 K registers hold: 256 x 232 + 128 x 40, or 384 x 160 + 128 x 32.
    if constexpr (CONSUMERS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if constexpr (CONSUMERS == 3) asm volatile("setmaxnreg.dec.sync.aligned.u32 32;");
    if (threadIdx.x % 128 == 0) fetch_all(&map_q, &map_k, &map_v, shared, shape);
    if (threadIdx.x % 128 == 32) write_all(&map_o, shared, shape);
  } else {
    if constexpr (CONSUMERS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    if constexpr (CONSUMERS == 3) asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    if (group == CONSUMERS - 1) pass_turn(group);
    Consumer consumer{shared, shape, group};
    consumer.consume(lse);
  }
}
