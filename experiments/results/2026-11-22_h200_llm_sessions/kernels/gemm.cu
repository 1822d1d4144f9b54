/* alphakernel
{
  "problem": "gemm",
  "params": {
    "a_layout": "row",
    "activation": "none",
    "b_layout": "row",
    "bias": 0,
    "dtype": "bfloat16",
    "precision": "ieee"
  },
  "frozen": {
    "BM": 64,
    "BN": 256,
    "CLUSTER": 1,
    "GROUP": 16,
    "SPLIT_MAX": 4,
    "STAGES": 4
  },
  "tunables": {
    "BM": {
      "values": [
        64,
        128
      ],
      "default": 128
    },
    "BN": {
      "values": [
        64,
        128,
        192,
        256
      ],
      "default": 128
    },
    "STAGES": {
      "values": [
        3,
        4,
        5,
        6,
        8
      ],
      "default": 6
    },
    "CLUSTER": {
      "values": [
        1,
        2
      ],
      "default": 2
    },
    "GROUP": {
      "values": [
        1,
        4,
        8,
        16
      ],
      "default": 8
    },
    "SPLIT_MAX": {
      "values": [
        1,
        4,
        8,
        16
      ],
      "default": 8
    }
  },
  "constraints": [
    "ARCH == 90",
    "dtype in ['float16', 'bfloat16']",
    "BM // 64 * BN <= 256",
    "STAGES * (BM + BN) * 128 + 34816 <= 232448"
  ],
  "let": {
    "A_WIDE": "(K if a_layout == 'row' else M) % 8 == 0",
    "B_WIDE": "(N if b_layout == 'row' else K) % 8 == 0",
    "WIDE": "A_WIDE and B_WIDE and N % 8 == 0",
    "CLUSTERS_DOWN": "ceil_div(M, BM * CLUSTER)",
    "TILES": "CLUSTERS_DOWN * ceil_div(N, BN)",
    "SLICES": "ceil_div(K, 64)",
    "SPLIT_WANTED": "max(1, min(SPLIT_MAX, SM_COUNT // CLUSTER // TILES, SLICES // 8)) if WIDE else 1",
    "PER_SPLIT": "ceil_div(SLICES, SPLIT_WANTED)",
    "SPLITS": "ceil_div(SLICES, PER_SPLIT)",
    "CLUSTERS": "min(TILES * SPLITS, SM_COUNT // CLUSTER)"
  },
  "workspace": [
    {
      "name": "partial",
      "dtype": "float32",
      "count": "SPLITS * M * N if SPLITS > 1 else 4",
      "init": "none"
    }
  ],
  "tensor_maps": [
    {
      "name": "map_a",
      "tensor": "a",
      "dtype": "dtype",
      "dims": [
        "K if a_layout == 'row' else M",
        "M if a_layout == 'row' else K"
      ],
      "strides_bytes": [
        "round_up(2 * (K if a_layout == 'row' else M), 16)"
      ],
      "box": [
        "64",
        "BM if a_layout == 'row' else 64"
      ],
      "interleave": "none",
      "swizzle": "128B",
      "l2_promotion": "128B",
      "oob_fill": "none"
    },
    {
      "name": "map_b",
      "tensor": "b",
      "dtype": "dtype",
      "dims": [
        "N if b_layout == 'row' else K",
        "K if b_layout == 'row' else N"
      ],
      "strides_bytes": [
        "round_up(2 * (N if b_layout == 'row' else K), 16)"
      ],
      "box": [
        "64",
        "(64 if b_layout == 'row' else BN) // CLUSTER"
      ],
      "interleave": "none",
      "swizzle": "128B",
      "l2_promotion": "128B",
      "oob_fill": "none"
    },
    {
      "name": "map_c",
      "tensor": "c",
      "dtype": "dtype",
      "dims": [
        "N",
        "M"
      ],
      "strides_bytes": [
        "round_up(2 * N, 16)"
      ],
      "box": [
        "64",
        "64"
      ],
      "interleave": "none",
      "swizzle": "128B",
      "l2_promotion": "none",
      "oob_fill": "none"
    }
  ],
  "launches": [
    {
      "kernel": "gemm_wgmma",
      "grid": [
        "CLUSTERS * CLUSTER"
      ],
      "block": [
        "384"
      ],
      "cluster": [
        "CLUSTER"
      ],
      "shared_bytes": "STAGES * (BM + BN) * 128 + 34816",
      "when": "WIDE",
      "args": [
        "map_a",
        "map_b",
        "map_c",
        {
          "optional": "bias"
        },
        "partial",
        {
          "i32": "M"
        },
        {
          "i32": "N"
        },
        {
          "i32": "K"
        },
        {
          "i32": "SPLITS"
        },
        {
          "i32": "PER_SPLIT"
        }
      ]
    },
    {
      "kernel": "gemm_sum",
      "grid": [
        "ceil_div(M * N, 1024)"
      ],
      "block": [
        "256"
      ],
      "when": "WIDE and SPLITS > 1",
      "args": [
        "partial",
        {
          "optional": "bias"
        },
        "c",
        {
          "i32": "M"
        },
        {
          "i32": "N"
        },
        {
          "i32": "SPLITS"
        }
      ]
    },
    {
      "kernel": "gemm_any",
      "grid": [
        "ceil_div(N, 64)",
        "ceil_div(M, 64)"
      ],
      "block": [
        "256"
      ],
      "when": "not WIDE",
      "args": [
        "a",
        "b",
        {
          "optional": "bias"
        },
        "c",
        {
          "i32": "M"
        },
        {
          "i32": "N"
        },
        {
          "i32": "K"
        }
      ]
    }
  ]
}
*/
#ifndef ALPHAKERNEL
#define AK_BIAS 0
#define AK_DTYPE_BFLOAT16 1
#endif
// SPDX-License-Identifier: Apache-2.0
//
// c = activation(a b + bias) on Hopper's matrix units. Blocks stay resident and take tiles of BM x BN in turn. One warp
// group fetches: it fills a ring of STAGES slices of a and b, 64 deep in k, through the tensor memory accelerator.
// Two warp groups take the tiles by turns, multiply with asynchronous wgmma instructions and keep the sums in registers:
// while one writes its results, the other has the matrix units. The CLUSTER
// blocks of a cluster work on tiles below each other, so that each fetches its share of b for both (multicast).
// Results go through shared memory, 64 columns at a time, so that the accelerator can write them as whole lines while
// the next tile's slices already arrive.
//
//   shared memory:  [slice of a | slice of b] x STAGES   two panels of 64 x 64 results for every consumer   barriers
//
// Tiles are taken in groups of GROUP rows of tiles, column by column, so that blocks at work share operands in L2.
// Barriers carry no cluster-wide order beyond their own: a release of that scope costs a memory barrier for each slice,
// and what the blocks hand over are only slices that have been read.
// Shapes whose lines are no multiple of 16 bytes cannot be described to the accelerator: they take gemm_any.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef ALPHAKERNEL
constexpr int BM = 64;
constexpr int BN = 256;
constexpr int CLUSTER = 1;
constexpr int GROUP = 16;
constexpr int STAGES = 4;
using scalar_t = __nv_bfloat16;
#endif

#ifdef AK_DTYPE_BFLOAT16
#define WGMMA_TYPE "bf16"
#else
#define WGMMA_TYPE "f16"
#endif

// Operands that lie across k in memory (a by columns, b by rows) are transposed by the matrix units.
#ifdef AK_A_LAYOUT_COLUMN
constexpr int A_ACROSS = 1;
#else
constexpr int A_ACROSS = 0;
#endif
#ifdef AK_B_LAYOUT_COLUMN
constexpr int B_ACROSS = 0;
#else
constexpr int B_ACROSS = 1;
#endif

constexpr int BK = 64;              // 128 bytes: one line of the 128-byte swizzle
constexpr int PANEL = 64 * BK * 2;  // bytes of 64 lines
constexpr int A_BYTES = BM * BK * 2;
constexpr int B_BYTES = BN * BK * 2;
constexpr int STAGE_BYTES = A_BYTES + B_BYTES;
constexpr int BLOCKS_M = BM / 64;  // of 64 rows
constexpr int CONSUMERS = 2;

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
__device__ __forceinline__ void barrier_arrive_at(u32 barrier, u32 rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier), "r"(rank) : "memory");
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
__device__ __forceinline__ void fetch(u32 to, const CUtensorMap* map, int x, int y, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
__device__ __forceinline__ void fetch_for_all(u32 to, const CUtensorMap* map, int x, int y, u32 barrier) {
  if constexpr (CLUSTER == 1) {
    fetch(to, map, x, y, barrier);
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(static_cast<unsigned short>((1 << CLUSTER) - 1)) : "memory");
  }
}
__device__ __forceinline__ void write_back(const CUtensorMap* map, int x, int y, u32 from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
               "r"(from) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int LEFT>
__device__ __forceinline__ void wait_panels_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void group_barrier(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}
// Whose turn it is to take slices: the other group hands it on when it has taken all of a tile's.
__device__ __forceinline__ void wait_turn(int group) { asm volatile("bar.sync %0, 256;" ::"r"(group + 3) : "memory"); }
__device__ __forceinline__ void pass_turn(int group) {
  asm volatile("bar.arrive %0, 256;" ::"r"((group ^ 1) + 3) : "memory");
}
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
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

// d = a b (keep 0) or d += a b for 64 x N x 16, both operands in shared memory.
template <int N>
struct Wgmma;
#define WGMMA(N, REGISTERS, FLOATS, A, B, KEEP, ACROSS_A, ACROSS_B)                         \
  template <>                                                                               \
  struct Wgmma<N> {                                                                         \
    static __device__ __forceinline__ void add(float (&d)[N / 2], u64 a, u64 b, int keep) { \
      asm volatile(                                                                         \
          "{\n"                                                                             \
          ".reg .pred p;\n"                                                                 \
          "setp.ne.b32 p, " KEEP ", 0;\n"                                                   \
          "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." WGMMA_TYPE "." WGMMA_TYPE       \
          " {" REGISTERS "}, " A ", " B ", p, 1, 1, " ACROSS_A ", " ACROSS_B ";\n"          \
          "}\n"                                                                             \
          : FLOATS                                                                          \
          : "l"(a), "l"(b), "r"(keep), "n"(A_ACROSS), "n"(B_ACROSS));                       \
    }                                                                                       \
  }
WGMMA(64, REGISTERS_32, FLOATS_32, "%32", "%33", "%34", "%35", "%36");
WGMMA(128, REGISTERS_64, FLOATS_64, "%64", "%65", "%66", "%67", "%68");
WGMMA(192, REGISTERS_96, FLOATS_96, "%96", "%97", "%98", "%99", "%100");
WGMMA(256, REGISTERS_128, FLOATS_128, "%128", "%129", "%130", "%131", "%132");

// ---- operands in shared memory, in lines of 128 swizzled bytes

// Offsets are those of 128-byte swizzling: 1024 bytes from 8 lines to the next 8, PANEL bytes from 64 elements across
// to the next 64 (only looked at for operands that lie across k).
__device__ __forceinline__ u64 descriptor(u32 address) {
  return static_cast<u64>((address & 0x3FFFF) >> 4) | static_cast<u64>(PANEL >> 4) << 16 |
         static_cast<u64>(1024 >> 4) << 32 | 1ull << 62;
}
// The 16 elements in k from 16 * step on: 32 bytes further along the lines, or 16 lines further down.
__device__ __forceinline__ u32 step_bytes(int across, int step) { return across == 1 ? step * 16 * 128 : step * 32; }

// ---- tiles

struct Tiles {
  int down, across, count;  // in clusters
  __device__ Tiles(int m, int n)
      : down((m + BM * CLUSTER - 1) / (BM * CLUSTER)), across((n + BN - 1) / BN), count(down * across) {}
  __device__ void place(int tile, int& row, int& column) const {
    const int group = tile / (GROUP * across), first = group * GROUP;
    const int rows = min(down - first, GROUP);
    const int within = tile - group * GROUP * across;
    row = (first + within % rows) * CLUSTER;
    column = within / rows;
  }
};

struct Ring {
  int stage = 0;
  u32 parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
  __device__ __forceinline__ void skip(int count) {
    const int to = stage + count;
    parity ^= to / STAGES % 2;
    stage = to % STAGES;
  }
};

struct Shared {
  u32 slices, panels, full, empty;  // full, empty: STAGES barriers each
  __device__ u32 slice(int stage) const { return slices + stage * STAGE_BYTES; }
};

__device__ __forceinline__ void fetch_slice(const CUtensorMap* map_a, const CUtensorMap* map_b, const Shared& shared,
                                            int stage, int m, int n, int k, int rank) {
  const u32 to_a = shared.slice(stage), to_b = to_a + A_BYTES, barrier = shared.full + stage * 8;
  barrier_expect(barrier, STAGE_BYTES);
  if constexpr (A_ACROSS == 0) {
    fetch(to_a, map_a, k, m, barrier);
  } else {
#pragma unroll
    for (int panel = 0; panel < BM / 64; ++panel) fetch(to_a + panel * PANEL, map_a, m + panel * 64, k, barrier);
  }
  if constexpr (B_ACROSS == 0) {
    constexpr int kLines = BN / CLUSTER;
    fetch_for_all(to_b + rank * kLines * 128, map_b, k, n + rank * kLines, barrier);
  } else {
    constexpr int kLines = 64 / CLUSTER;
#pragma unroll
    for (int panel = 0; panel < BN / 64; ++panel) {
      fetch_for_all(to_b + panel * PANEL + rank * kLines * 128, map_b, n + panel * 64, k + rank * kLines, barrier);
    }
  }
}

__device__ __forceinline__ void produce(const CUtensorMap* map_a, const CUtensorMap* map_b, const Shared& shared,
                                        const Tiles& tiles, int slices, int rank, int splits, int per_split) {
  Ring ring;
  for (int item = blockIdx.x / CLUSTER; item < tiles.count * splits; item += gridDim.x / CLUSTER) {
    int row, column;
    tiles.place(item % tiles.count, row, column);
    const int begin = item / tiles.count * per_split, end = min(slices, begin + per_split);
    for (int slice = begin; slice < end; ++slice) {
      barrier_wait(shared.empty + ring.stage * 8, ring.parity ^ 1);
      fetch_slice(map_a, map_b, shared, ring.stage, (row + rank) * BM, column * BN, slice * BK, rank);
      ring.advance();
    }
  }
}

// Tells every block of the cluster that this warp's products have read a slice. Each warp speaks for itself: another of
// its group may still be about to read.
__device__ __forceinline__ void release(const Shared& shared, int stage) {
  const int lane = threadIdx.x % 32;
  if (lane < CLUSTER) barrier_arrive_at(shared.empty + stage * 8, lane);
}

__device__ __forceinline__ void multiply(const Shared& shared, int stage, float (&sums)[BLOCKS_M][BN / 2],
                                         bool first) {
  const u32 a = shared.slice(stage), b = shared.slice(stage) + A_BYTES;
  wgmma_fence();
#pragma unroll
  for (int step = 0; step < BK / 16; ++step) {
#pragma unroll
    for (int block = 0; block < BLOCKS_M; ++block) {
      Wgmma<BN>::add(sums[block], descriptor(a + block * PANEL + step_bytes(A_ACROSS, step)),
                     descriptor(b + step_bytes(B_ACROSS, step)), first && step == 0 ? 0 : 1);
    }
  }
  wgmma_commit();
}

__device__ __forceinline__ float activate(float x) {
#if defined(AK_ACTIVATION_RELU)
  return fmaxf(x, 0.0f);
#elif defined(AK_ACTIVATION_GELU)
  return 0.5f * x * erfcf(-x * 0.70710678118654752f);
#elif defined(AK_ACTIVATION_SILU)
  return x / (1.0f + __expf(-x));
#else
  return x;
#endif
}

__device__ __forceinline__ float bias_at(const scalar_t* bias, int column, int n) {
#if AK_BIAS
  return column < n ? static_cast<float>(bias[column]) : 0.0f;
#else
  return 0.0f;
#endif
}

__device__ __forceinline__ u32 pack(float low, float high) {
  union {
    scalar_t value[2];
    u32 bits;
  } pair;
  pair.value[0] = static_cast<scalar_t>(low);
  pair.value[1] = static_cast<scalar_t>(high);
  return pair.bits;
}

// 16 columns of results as four matrices of 8 x 8 into a swizzled panel. d: sums of two blocks of 8 columns.
__device__ __forceinline__ void put(u32 panel, int pair, const float* d, const scalar_t* bias, int column, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
  u32 words[4];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = column + half * 8 + lane % 4 * 2;
    const float bias_0 = bias_at(bias, at, n), bias_1 = bias_at(bias, at + 1, n);
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      const float* two = d + half * 4 + low * 2;
      words[half * 2 + low] = pack(activate(two[0] + bias_0), activate(two[1] + bias_1));
    }
  }
  const int row = warp * 16 + lane / 8 % 2 * 8 + lane % 8, chunk = pair * 2 + lane / 16;
  const u32 address = panel + row * 128 + ((chunk ^ row % 8) * 16);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}

__device__ __forceinline__ void write_tile(const CUtensorMap* map_c, const Shared& shared, int consumer,
                                           const float (&sums)[BLOCKS_M][BN / 2], const scalar_t* bias, int m, int n,
                                           int width, int& turn) {
  const bool leader = threadIdx.x % 128 == 0;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int part = 0; part < BN / 64; ++part) {
      const u32 panel = shared.panels + (consumer * 2 + turn) * PANEL;
      turn ^= 1;
      if (leader) wait_panels_read<1>();
      group_barrier(consumer);
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        put(panel, pair, &sums[block][part * 32 + pair * 8], bias, n + part * 64 + pair * 16, width);
      }
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      group_barrier(consumer);
      if (leader) write_back(map_c, n + part * 64, m + block * 64, panel);
    }
  }
}

// Sums of a part of k, as they lie in the registers: four lanes write a sector. n is a multiple of 8.
__device__ __forceinline__ void write_partial(float* partial, const float (&sums)[BLOCKS_M][BN / 2], int row,
                                              int column, int m, int n) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
#pragma unroll
  for (int block = 0; block < BLOCKS_M; ++block) {
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      const int at = row + block * 64 + warp * 16 + low * 8 + lane / 4;
      if (at < m) {
        float* line = partial + static_cast<long long>(at) * n;
#pragma unroll
        for (int i = 0; i < BN / 8; ++i) {
          const int x = column + i * 8 + lane % 4 * 2;
          if (x < n) {
            *reinterpret_cast<float2*>(line + x) =
                make_float2(sums[block][i * 4 + low * 2], sums[block][i * 4 + low * 2 + 1]);
          }
        }
      }
    }
  }
}

__device__ __forceinline__ void consume(const CUtensorMap* map_c, const Shared& shared, const Tiles& tiles, int slices,
                                        int rank, int consumer, const scalar_t* bias, float* partial, int height,
                                        int width, int splits, int per_split) {
  Ring ring;
  int turn = 0;
  const int items = tiles.count * splits, stride = gridDim.x / CLUSTER;
  if (consumer == 1) pass_turn(consumer);
  int place = 0;
  for (int item = blockIdx.x / CLUSTER; item < items; item += stride, place ^= 1) {
    const int split = item / tiles.count, count = min(slices - split * per_split, per_split);
    if (place != consumer) {  // the other group's
      ring.skip(count);
      continue;
    }
    int row, column;
    tiles.place(item % tiles.count, row, column);
    const int first_row = (row + rank) * BM;
    wait_turn(consumer);
    if (first_row >= height) {  // nothing but zeros: only hand the slices back
      for (int slice = 0; slice < count; ++slice) {
        barrier_wait(shared.full + ring.stage * 8, ring.parity);
        release(shared, ring.stage);
        ring.advance();
      }
      if (item + stride < items) pass_turn(consumer);
      continue;
    }
    float sums[BLOCKS_M][BN / 2];
    int last = 0;
    for (int slice = 0; slice < count; ++slice) {
      barrier_wait(shared.full + ring.stage * 8, ring.parity);
      multiply(shared, ring.stage, sums, slice == 0);
      if (slice > 0) {  // the products before these have ended: their slice may be filled again
        wgmma_wait<1>();
        release(shared, last);
      }
      last = ring.stage;
      ring.advance();
    }
    if (item + stride < items) pass_turn(consumer);
    wgmma_wait<0>();
    release(shared, last);
    if (splits > 1) {
      write_partial(partial + static_cast<long long>(split) * height * width, sums, first_row, column * BN, height,
                    width);
    } else {
      write_tile(map_c, shared, consumer, sums, bias, first_row, column * BN, width, turn);
    }
  }
  if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// a: m x k, b: k x n, c: m x n, in the layouts of the problem; every line a multiple of 16 bytes.
__global__ void __launch_bounds__((CONSUMERS + 1) * 128, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const __grid_constant__ CUtensorMap map_c, const scalar_t* __restrict__ bias,
               float* __restrict__ partial, int m, int n, int k, int splits, int per_split) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared shared;
  shared.slices = (shared_address(memory) + 1023) / 1024 * 1024;
  shared.panels = shared.slices + STAGES * STAGE_BYTES;
  shared.full = shared.panels + CONSUMERS * 2 * PANEL;
  shared.empty = shared.full + STAGES * 8;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < STAGES; ++stage) {
      barrier_init(shared.full + stage * 8, 1);
      barrier_init(shared.empty + stage * 8, 4 * CLUSTER);  // 4 warps a group
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if constexpr (CLUSTER > 1) cluster_sync();

  const Tiles tiles(m, n);
  const int rank = CLUSTER > 1 ? cluster_rank() : 0, slices = (k + BK - 1) / BK;
  // The shuffle tells the compiler that all threads of a warp take the same way.
  const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);
  if (group == CONSUMERS) {
    if constexpr (CONSUMERS == 2) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x % 128 == 0) produce(&map_a, &map_b, shared, tiles, slices, rank, splits, per_split);
  } else {
    if constexpr (CONSUMERS == 2) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume(&map_c, shared, tiles, slices, rank, group, bias, partial, m, n, splits, per_split);
  }
  if constexpr (CLUSTER > 1) cluster_sync();  // a block that is gone could not be written to or arrived at
}

// ---- the parts of k together, always in the same order. Four results a thread; n is a multiple of 8.

__global__ void __launch_bounds__(256)
    gemm_sum(const float* __restrict__ partial, const scalar_t* __restrict__ bias, scalar_t* __restrict__ c, int m,
             int n, int splits) {
  const long long count = static_cast<long long>(m) * n;
  const long long i = (static_cast<long long>(blockIdx.x) * 256 + threadIdx.x) * 4;
  if (i >= count) return;
  float4 sum = *reinterpret_cast<const float4*>(partial + i);
#pragma unroll 4
  for (int split = 1; split < splits; ++split) {
    const float4 part = *reinterpret_cast<const float4*>(partial + split * count + i);
    sum.x += part.x;
    sum.y += part.y;
    sum.z += part.z;
    sum.w += part.w;
  }
  const int column = static_cast<int>(i % n);
  uint2 words;
  words.x = pack(activate(sum.x + bias_at(bias, column, n)), activate(sum.y + bias_at(bias, column + 1, n)));
  words.y = pack(activate(sum.z + bias_at(bias, column + 2, n)), activate(sum.w + bias_at(bias, column + 3, n)));
  *reinterpret_cast<uint2*>(c + i) = words;
}

// ---- any shape: tiles of 64 x 64, 4 x 4 sums a thread

__global__ void __launch_bounds__(256)
    gemm_any(const scalar_t* __restrict__ a, const scalar_t* __restrict__ b, const scalar_t* __restrict__ bias,
             scalar_t* __restrict__ c, int m, int n, int k) {
  __shared__ float slice_a[16][65], slice_b[16][65];
  const int m0 = blockIdx.y * 64, n0 = blockIdx.x * 64;
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  float sums[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = threadIdx.x; i < 16 * 64; i += 256) {
      // Neighbouring threads read neighbouring elements, whichever way the operand lies.
      const int ka = A_ACROSS == 1 ? i / 64 : i % 16, row = A_ACROSS == 1 ? i % 64 : i / 16;
      const int kb = B_ACROSS == 1 ? i / 64 : i % 16, column = B_ACROSS == 1 ? i % 64 : i / 16;
      const long long at_a = A_ACROSS == 1 ? static_cast<long long>(k0 + ka) * m + m0 + row
                                           : static_cast<long long>(m0 + row) * k + k0 + ka;
      const long long at_b = B_ACROSS == 1 ? static_cast<long long>(k0 + kb) * n + n0 + column
                                           : static_cast<long long>(n0 + column) * k + k0 + kb;
      slice_a[ka][row] = k0 + ka < k && m0 + row < m ? static_cast<float>(a[at_a]) : 0.0f;
      slice_b[kb][column] = k0 + kb < k && n0 + column < n ? static_cast<float>(b[at_b]) : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < 16; ++kk) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += slice_a[kk][ty * 4 + i] * slice_b[kk][tx + 16 * j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int row = m0 + ty * 4 + i, column = n0 + tx + 16 * j;
      if (row < m && column < n) {
        const float result = activate(sums[i][j] + bias_at(bias, column, n));
        c[static_cast<long long>(row) * n + column] = static_cast<scalar_t>(result);
      }
    }
  }
}
