/* alphakernel
{
  "tunables": {
    "THREADS_PER_ROW": {"values": [16, 32, 64, 128, 256, 512, 1024], "default": 256},
    "ROWS_PER_BLOCK": {"values": [1, 2, 4, 8], "default": 1},
    "ELEMENTS": {"values": [8, 16, 32], "default": 16},
    "VEC_BYTES": {"values": [8, 16], "default": 16},
    "CACHE": {"values": [0, 1], "default": 1},
    "BLOCKS_PER_SM": {"values": [0, 1, 2, 4], "default": 0}
  },
  "starts": [
    {"BLOCKS_PER_SM": 2, "ELEMENTS": 32},
    {"BLOCKS_PER_SM": 2, "ELEMENTS": 8, "ROWS_PER_BLOCK": 8, "THREADS_PER_ROW": 16},
    {"BLOCKS_PER_SM": 1, "ELEMENTS": 32, "THREADS_PER_ROW": 512},
    {"BLOCKS_PER_SM": 4}
  ],
  "constraints": [
    "64 <= THREADS_PER_ROW * ROWS_PER_BLOCK <= 1024",
    "ROWS_PER_BLOCK == 1 or THREADS_PER_ROW <= 128",
    "scales != 'block' or VEC_BYTES >= 4 * sizeof_x and THREADS_PER_ROW * VEC_BYTES >= 128 * sizeof_x",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) <= 2048",
    "THREADS_PER_ROW * ROWS_PER_BLOCK * max(BLOCKS_PER_SM, 1) * (ELEMENTS * (4 + sizeof_x) // 4 + 24) <= 65536"
  ],
  "let": {
    "VEC": "VEC_BYTES // sizeof_x",
    "CAPACITY": "THREADS_PER_ROW * ELEMENTS",
    "BY_ROWS": "scales == 'row'",
    "PIECES": "1 if BY_ROWS else ceil_div(N, CAPACITY)",
    "GROUPS": "ceil_div(M, ROWS_PER_BLOCK) * PIECES",
    "BLOCKS": "min(GROUPS, SM_COUNT * BLOCKS_PER_SM) if BLOCKS_PER_SM else GROUPS",
    "IN_REGISTERS": "N <= CAPACITY or not BY_ROWS",
    "PART": "512 * 16",
    "CLUSTER": "2 if N <= 2 * PART else 4 if N <= 4 * PART else 8 if N <= 8 * PART else 16",
    "IN_PART": "N % VEC == 0 and not IN_REGISTERS and N <= PART",
    "IN_CLUSTERS": "ARCH >= 90 and N % VEC == 0 and not IN_REGISTERS and PART < N <= PART * (16 if ARCH == 90 else 8)"
  },
  "launches": [
    {"kernel": "cast_rows<VEC>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", {"optional": "scale"}, "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}, {"i32": "PIECES"}], "when": "IN_REGISTERS and N % VEC == 0"},
    {"kernel": "cast_rows<1>", "grid": ["BLOCKS"], "block": ["THREADS_PER_ROW", "ROWS_PER_BLOCK"],
     "args": ["x", {"optional": "scale"}, "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}, {"i32": "PIECES"}], "when": "IN_REGISTERS and N % VEC != 0"},
    {"kernel": "cast_in_clusters", "grid": ["M"], "block": [512],
     "args": ["x", {"optional": "scale"}, "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "IN_PART"},
    {"kernel": "cast_in_clusters", "grid": ["M * CLUSTER"], "block": [512], "cluster": ["CLUSTER"],
     "args": ["x", {"optional": "scale"}, "y", {"optional": "row_scales"}, {"i64": "M"}, {"i32": "N"}], "when": "IN_CLUSTERS"},
    {"kernel": "cast_long_rows<VEC>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"optional": "row_scales"}, {"i32": "N"}], "when": "not IN_REGISTERS and N % VEC == 0 and not IN_PART and not IN_CLUSTERS"},
    {"kernel": "cast_long_rows<1>", "grid": ["M"], "block": [512],
     "args": ["x", "y", {"optional": "row_scales"}, {"i32": "N"}], "when": "not IN_REGISTERS and N % VEC != 0"}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y = x over a scale, as codes of e4m3, e5m2 or int8. The scale is given, or it is the largest magnitude of a row or
// of 128 columns of it over the largest code. With scales of rows a row is in the registers of THREADS_PER_ROW
// threads, of a block of 512, or of a cluster of up to 16 of these: read once, written once. With others a row is cut
// into PIECES that fit. Without clusters, beyond their 131072 columns (65536 with clusters of 8), or where no vector
// divides a long row, cast_long_rows reads a row twice. With BLOCKS_PER_SM > 0 blocks stay and take pieces in turn,
// reading one while the one before is in work.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/narrow.cuh>
#include <ak/rows.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS_PER_ROW = 256;
constexpr int ROWS_PER_BLOCK = 1;
constexpr int ELEMENTS = 16;
constexpr int VEC_BYTES = 16;
constexpr int CACHE = 1;
constexpr int BLOCKS_PER_SM = 0;
using scalar_t = float;
#define AK_SCALES_ROW 1
#define AK_TO_FLOAT8_E4M3FN 1
#endif

constexpr int VEC = VEC_BYTES / static_cast<int>(sizeof(scalar_t));
constexpr int LONG_THREADS = 512, LONG_ELEMENTS = 16;  // as the plan says: PART
constexpr int SCALED = 128;                            // columns of a block that has a scale

// Threads that an SM should hold, so that its rows overlap: 32, 42 or 64 registers each.
constexpr int RESIDENT = ELEMENTS == 8 ? 2048 : ELEMENTS == 16 ? 1536 : 1024;
constexpr int BLOCK = THREADS_PER_ROW * ROWS_PER_BLOCK;
constexpr int BLOCKS_AT_ONCE = BLOCKS_PER_SM > 0 ? BLOCKS_PER_SM : RESIDENT > BLOCK ? RESIDENT / BLOCK : 1;

// CACHE 1: evict-first hints, as elements are touched once.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

#if defined(AK_TO_FLOAT8_E4M3FN)
using Code = ak::e4m3;
#elif defined(AK_TO_FLOAT8_E5M2)
using Code = ak::e5m2;
#else
using Code = ak::s8;
#endif
enum class Scales { tensor, row, block };
#if defined(AK_SCALES_TENSOR)
constexpr Scales SCALES = Scales::tensor;
#elif defined(AK_SCALES_ROW)
constexpr Scales SCALES = Scales::row;
#else
constexpr Scales SCALES = Scales::block;
#endif

template <int WIDTH>
__device__ __forceinline__ float largest_of(const float (&values)[WIDTH]) {
  float largest = 0.0f;
#pragma unroll
  for (int i = 0; i < WIDTH; ++i) largest = fmaxf(largest, fabsf(values[i]));
  return largest;
}

// What the vector at `column`, of n columns, is multiplied by; stores the scale of its 128 columns. Whole warps.
template <int WIDTH>
__device__ __forceinline__ float factor_of_block(const float (&values)[WIDTH], float* scales, int column, int n) {
  const float largest = ak::reduce_lanes<SCALED / WIDTH>(column < n ? largest_of(values) : 0.0f, ak::Maximum());
  if (column < n && column % SCALED == 0) scales[column / SCALED] = ak::scale_of<Code>(largest);
  return ak::factor_of<Code>(largest);
}

// m rows of n elements, a multiple of WIDTH, in `pieces` that registers hold.
template <int THREADS, int ROWS, int WIDTH, int ITEMS, bool CLUSTER, bool STAYS>
__device__ __forceinline__ void cast(const scalar_t* x, const float* scale, unsigned char* y, float* scales, long long m,
                                     int n, int pieces) {
  ak::Row<THREADS, ROWS, WIDTH, ITEMS, CLUSTER> line;
  const long long end = (m + ROWS - 1) / ROWS * pieces, step = gridDim.x / line.blocks();
  const int blocks_of_row = (n + SCALED - 1) / SCALED;
  ak::Pack<scalar_t, WIDTH> packs[ITEMS];
  // Of piece `group`: its row, and where it begins there.
  const auto row_of = [&](long long group) { return group / pieces * ROWS + threadIdx.y; };
  const auto start_of = [&](long long group) { return static_cast<int>(group % pieces) * THREADS * WIDTH * ITEMS; };
  const auto read = [&](long long group) {
    const long long row = row_of(group);
    line.template read<HINT>(packs, x + row * n + start_of(group), row < m ? n - start_of(group) : 0);
  };
  const float given = SCALES == Scales::tensor ? 1.0f / *scale : 1.0f;
  long long group = blockIdx.x / line.blocks();
  read(group);
  line.begin();
  for (; group < end; group += step) {
    const long long row = row_of(group);
    const int start = start_of(group), columns = row < m ? n - start : 0;
    float values[ITEMS][WIDTH];
    ak::widen(values, packs);
    if constexpr (STAYS) read(group + step);
    float factor = given;
    if constexpr (SCALES == Scales::row) {
      float largest = 0.0f;
#pragma unroll
      for (int item = 0; item < ITEMS; ++item) {
        if (line.column(item) < columns) largest = fmaxf(largest, largest_of(values[item]));
      }
      largest = line.reduce(largest, ak::Maximum());
      if (line.is_first() && columns > 0) scales[row] = ak::scale_of<Code>(largest);
      factor = ak::factor_of<Code>(largest);
    }
#pragma unroll
    for (int item = 0; item < ITEMS; ++item) {
      const int column = start + line.column(item);
      if constexpr (SCALES == Scales::block) {
        factor = factor_of_block(values[item], scales + row * blocks_of_row, column, columns > 0 ? n : 0);
      }
      if (line.column(item) >= columns) continue;
      ak::store<HINT>(y + row * n + column, ak::quantise<Code>(values[item], factor));
    }
  }
}

template <int WIDTH>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE)
    cast_rows(const scalar_t* x, const float* scale, unsigned char* y, float* scales, long long m, int n, int pieces) {
  cast<THREADS_PER_ROW, ROWS_PER_BLOCK, WIDTH, ELEMENTS / WIDTH, false, (BLOCKS_PER_SM > 0)>(x, scale, y, scales, m, n,
                                                                                             pieces);
}

// A row a cluster, which may be one block. Two blocks an SM, so that one reads while the other writes.
__global__ void __launch_bounds__(LONG_THREADS, 2)
    cast_in_clusters(const scalar_t* x, const float* scale, unsigned char* y, float* scales, long long m, int n) {
  cast<LONG_THREADS, 1, VEC, LONG_ELEMENTS / VEC, true, false>(x, scale, y, scales, m, n, 1);
}

// One row a block, of any length, with a scale of its own; n % WIDTH == 0.
template <int WIDTH>
__global__ void __launch_bounds__(LONG_THREADS)
    cast_long_rows(const scalar_t* x, unsigned char* y, float* scales, int n) {
  constexpr int kAtOnce = 4;
  const long long start = static_cast<long long>(blockIdx.x) * n;
  ak::Row<LONG_THREADS, 1, WIDTH, 1> line;
  float largest = 0.0f;
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int) {
    largest = fmaxf(largest, largest_of(values));
  });
  largest = line.reduce(largest, ak::Maximum());
  if (line.is_first()) scales[blockIdx.x] = ak::scale_of<Code>(largest);
  ak::for_each_vector<LONG_THREADS, WIDTH, kAtOnce>(x + start, n, [&](const float(&values)[WIDTH], int column) {
    if (column < n) ak::store<HINT>(y + start + column, ak::quantise<Code>(values, ak::factor_of<Code>(largest)));
  });
}
