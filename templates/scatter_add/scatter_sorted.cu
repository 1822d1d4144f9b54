/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64], "default": 32},
    "THREADS": {"values": [64, 128, 256], "default": 128},
    "ITEMS": {"values": [2, 4, 8, 16], "default": 4},
    "SORT_ITEMS": {"values": [4, 8, 16], "default": 8}
  },
  "let": {
    "VEC": "16 // sizeof_rows if H * sizeof_rows % 16 == 0 else 1",
    "PASSES": "1 if V < 256 else 2 if V < 65536 else 3 if V < 16777216 else 4",
    "TILES": "ceil_div(N, 256 * SORT_ITEMS)",
    "CHUNKS": "ceil_div(N, 256)",
    "ROW_BLOCKS": "ceil_div(V, THREADS // LANES)",
    "COLUMN_BLOCKS": "ceil_div(H, LANES * VEC)"
  },
  "workspace": [
    {"name": "counts", "dtype": "uint32", "count": "4 * 256", "init": "zero"},
    {"name": "arrived", "dtype": "uint32", "count": 1, "init": "zero"},
    {"name": "tickets", "dtype": "uint32", "count": 4, "init": "zero"},
    {"name": "known", "dtype": "uint32", "count": "PASSES * TILES * 256", "init": "zero"},
    {"name": "keys_a", "dtype": "uint32", "count": "N"},
    {"name": "order_a", "dtype": "uint32", "count": "N"},
    {"name": "keys_b", "dtype": "uint32", "count": "N if PASSES > 1 else 1"},
    {"name": "order_b", "dtype": "uint32", "count": "N if PASSES > 1 else 1"},
    {"name": "begins", "dtype": "int32", "count": "V", "init": "zero"},
    {"name": "ends", "dtype": "int32", "count": "V", "init": "zero"},
    {"name": "chunk_sums", "dtype": "float32", "count": "CHUNKS * H"}
  ],
  "launches": [
    {"kernel": "count", "grid": ["min(ceil_div(N, 4096), 2 * SM_COUNT)"], "block": [512],
     "args": ["index", "counts", "arrived", {"i32": "N"}, {"i32": "V"}]},
    {"kernel": "move<0>", "grid": ["TILES"], "block": [256],
     "args": ["index", "order_b", "keys_a", "order_a", "counts", "known", "tickets", {"i32": "N"}, {"i32": "V"}, {"i32": "TILES"}]},
    {"kernel": "move<1>", "grid": ["TILES"], "block": [256], "when": "PASSES > 1",
     "args": ["keys_a", "order_a", "keys_b", "order_b", "counts", "known", "tickets", {"i32": "N"}, {"i32": "V"}, {"i32": "TILES"}]},
    {"kernel": "move<2>", "grid": ["TILES"], "block": [256], "when": "PASSES > 2",
     "args": ["keys_b", "order_b", "keys_a", "order_a", "counts", "known", "tickets", {"i32": "N"}, {"i32": "V"}, {"i32": "TILES"}]},
    {"kernel": "move<3>", "grid": ["TILES"], "block": [256], "when": "PASSES > 3",
     "args": ["keys_a", "order_a", "keys_b", "order_b", "counts", "known", "tickets", {"i32": "N"}, {"i32": "V"}, {"i32": "TILES"}]},
    {"kernel": "add_chunks<16 / sizeof(scalar_t)>", "grid": ["CHUNKS"], "block": [256], "when": "VEC > 1 and PASSES % 2 == 1",
     "args": ["rows", "keys_a", "order_a", "begins", "ends", "chunk_sums", {"i32": "N"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_chunks<16 / sizeof(scalar_t)>", "grid": ["CHUNKS"], "block": [256], "when": "VEC > 1 and PASSES % 2 == 0",
     "args": ["rows", "keys_b", "order_b", "begins", "ends", "chunk_sums", {"i32": "N"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_chunks<1>", "grid": ["CHUNKS"], "block": [256], "when": "VEC == 1 and PASSES % 2 == 1",
     "args": ["rows", "keys_a", "order_a", "begins", "ends", "chunk_sums", {"i32": "N"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_chunks<1>", "grid": ["CHUNKS"], "block": [256], "when": "VEC == 1 and PASSES % 2 == 0",
     "args": ["rows", "keys_b", "order_b", "begins", "ends", "chunk_sums", {"i32": "N"}, {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_rows<16 / sizeof(scalar_t)>", "grid": ["ROW_BLOCKS", "COLUMN_BLOCKS"], "block": ["THREADS"], "when": "VEC > 1 and PASSES % 2 == 1",
     "args": ["base", "rows", "order_a", "begins", "ends", "chunk_sums", "out", {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_rows<16 / sizeof(scalar_t)>", "grid": ["ROW_BLOCKS", "COLUMN_BLOCKS"], "block": ["THREADS"], "when": "VEC > 1 and PASSES % 2 == 0",
     "args": ["base", "rows", "order_b", "begins", "ends", "chunk_sums", "out", {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_rows<1>", "grid": ["ROW_BLOCKS", "COLUMN_BLOCKS"], "block": ["THREADS"], "when": "VEC == 1 and PASSES % 2 == 1",
     "args": ["base", "rows", "order_a", "begins", "ends", "chunk_sums", "out", {"i32": "V"}, {"i32": "H"}]},
    {"kernel": "add_rows<1>", "grid": ["ROW_BLOCKS", "COLUMN_BLOCKS"], "block": ["THREADS"], "when": "VEC == 1 and PASSES % 2 == 0",
     "args": ["base", "rows", "order_b", "begins", "ends", "chunk_sums", "out", {"i32": "V"}, {"i32": "H"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Indices are sorted with their places (ak/radix.cuh), as many bytes as V has, so that the rows of an index come one
// after the other, in their order: sums are the same bits every time. LANES threads then take a row of the result, a pack
// of 16 bytes of its columns each, and add ITEMS rows at a time. Where 256 neighbouring entries have one index, a block
// has added them before: a row that all others go to costs its threads at most 512 entries, and a sum for 256 more.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/radix.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 32;
constexpr int THREADS = 128;
constexpr int ITEMS = 4;
constexpr int SORT_ITEMS = 8;
using scalar_t = float;
#endif

constexpr int CHUNK = 256;  // entries, as the plan says

// What indices are sorted by: all that name no row come last.
struct RowOf {
  ak::u32 v;
  __device__ __forceinline__ ak::u32 operator()(ak::u32 index) const { return index < v ? index : v; }
};

__global__ void __launch_bounds__(512)
    count(const int* __restrict__ index, ak::u32* counts, unsigned int* arrived, int n, int v) {
  ak::count_digits<512, 4>(reinterpret_cast<const ak::u32*>(index), n, counts, arrived, RowOf{static_cast<ak::u32>(v)});
}

template <int PASS>
__global__ void __launch_bounds__(256)
    move(const ak::u32* __restrict__ keys, const ak::u32* __restrict__ order, ak::u32* __restrict__ keys_out,
         ak::u32* __restrict__ order_out, const ak::u32* counts, ak::u32* known, unsigned int* tickets, int n, int v,
         int tiles) {
  ak::move_by_digit<256, SORT_ITEMS>(keys, PASS == 0 ? nullptr : order, keys_out, order_out, n, PASS, counts,
                                     known + static_cast<long long>(PASS) * tiles * ak::kDigits, tickets + PASS,
                                     RowOf{static_cast<ak::u32>(v)});
}

// Adds the rows order[begin] to order[end - 1] to `sums`, in this order; VEC columns from `column` on.
template <int VEC>
__device__ __forceinline__ void add_entries(float (&sums)[VEC], const scalar_t* rows, const ak::u32* order, int begin,
                                            int end, int h, int column) {
  for (int entry = begin; entry < end; entry += ITEMS) {
    ak::u32 from[ITEMS];
    ak::Pack<scalar_t, VEC> packs[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) from[k] = entry + k < end ? order[entry + k] : 0;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (entry + k >= end) continue;
      packs[k] = ak::load<VEC, ak::Cache::streaming>(rows + static_cast<long long>(from[k]) * h + column);
    }
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
      if (entry + k >= end) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) sums[i] += static_cast<float>(packs[k].value[i]);
    }
  }
}

// Adds the sums of chunks `chunk` to end - 1 to `sums`, in this order; VEC columns.
template <int VEC>
__device__ __forceinline__ void add_sums(float (&sums)[VEC], const float* chunk_sums, int chunk, int end, int h,
                                         int column) {
  constexpr int kPack = VEC < 4 ? VEC : 4, kUnderWay = VEC > 4 ? 4 : 8;  // up to 32 registers
  for (; chunk < end; chunk += kUnderWay) {
    ak::Pack<float, kPack> packs[kUnderWay][VEC / kPack];
#pragma unroll
    for (int k = 0; k < kUnderWay; ++k) {
      if (chunk + k >= end) continue;
      const float* from = chunk_sums + static_cast<long long>(chunk + k) * h + column;
#pragma unroll
      for (int p = 0; p < VEC / kPack; ++p) packs[k][p] = ak::load<kPack>(from + p * kPack);
    }
#pragma unroll
    for (int k = 0; k < kUnderWay; ++k) {
      if (chunk + k >= end) continue;
#pragma unroll
      for (int i = 0; i < VEC; ++i) sums[i] += packs[k][i / kPack].value[i % kPack];
    }
  }
}

// begins[v], ends[v]: where the entries of row v are, both counted from 1 on; zeros where there are none. chunk_sums[c]:
// the sum of chunk c, if it is whole and all of one row.
template <int VEC>
__global__ void __launch_bounds__(CHUNK)
    add_chunks(const scalar_t* __restrict__ rows, const ak::u32* __restrict__ keys, const ak::u32* __restrict__ order,
               int* __restrict__ begins, int* __restrict__ ends, float* __restrict__ chunk_sums, int n, int v, int h) {
  const int first = static_cast<int>(blockIdx.x) * CHUNK, entry = first + static_cast<int>(threadIdx.x);
  const RowOf row_of{static_cast<ak::u32>(v)};
  if (entry < n) {
    const ak::u32 row = row_of(keys[entry]);
    if (row < row_of.v && (entry == 0 || row_of(keys[entry - 1]) != row)) begins[row] = entry + 1;
    if (row < row_of.v && (entry == n - 1 || row_of(keys[entry + 1]) != row)) ends[row] = entry + 1;
  }
  if (first + CHUNK > n || keys[first] >= row_of.v || keys[first] != keys[first + CHUNK - 1]) return;
  for (int column = static_cast<int>(threadIdx.x) * VEC; column < h; column += CHUNK * VEC) {
    float sums[VEC] = {};
    add_entries<VEC>(sums, rows, order, first, first + CHUNK, h, column);
#pragma unroll
    for (int i = 0; i < VEC; ++i) chunk_sums[static_cast<long long>(blockIdx.x) * h + column + i] = sums[i];
  }
}

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    add_rows(const scalar_t* __restrict__ base, const scalar_t* __restrict__ rows, const ak::u32* __restrict__ order,
             const int* __restrict__ begins, const int* __restrict__ ends, const float* __restrict__ chunk_sums,
             scalar_t* __restrict__ out, int v, int h) {
  const long long row = static_cast<long long>(blockIdx.x) * (THREADS / LANES) + static_cast<int>(threadIdx.x) / LANES;
  const int column = (static_cast<int>(blockIdx.y) * LANES + static_cast<int>(threadIdx.x) % LANES) * VEC;
  if (row >= v || column >= h) return;
  const int end = ends[row], begin = end == 0 ? 0 : begins[row] - 1;
  const int first_chunk = (begin + CHUNK - 1) / CHUNK, end_chunk = end / CHUNK;  // chunks that are all of this row
  const auto own = ak::load<VEC, ak::Cache::streaming>(base + row * h + column);
  float sums[VEC];
#pragma unroll
  for (int i = 0; i < VEC; ++i) sums[i] = static_cast<float>(own.value[i]);
  add_entries<VEC>(sums, rows, order, begin, min(end, first_chunk * CHUNK), h, column);
  add_sums<VEC>(sums, chunk_sums, first_chunk, end_chunk, h, column);
  add_entries<VEC>(sums, rows, order, max(first_chunk, end_chunk) * CHUNK, end, h, column);
  ak::Pack<scalar_t, VEC> result;
#pragma unroll
  for (int i = 0; i < VEC; ++i) result.value[i] = static_cast<scalar_t>(sums[i]);
  ak::store<ak::Cache::streaming>(out + row * h + column, result);
}
