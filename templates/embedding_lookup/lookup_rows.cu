/* alphakernel
{
  "tunables": {
    "LANES": {"values": [8, 16, 32, 64, 128], "default": 32},
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "ROWS": {"values": [1, 2, 4, 8], "default": 4},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "let": {
    "BYTES": "H * sizeof_table",
    "WORD": "16 if BYTES % 16 == 0 else (8 if BYTES % 8 == 0 else (4 if BYTES % 4 == 0 else 2))",
    "BLOCKS": "ceil_div(N, THREADS // LANES * ROWS)"
  },
  "launches": [
    {"kernel": "lookup<uint4>", "grid": ["BLOCKS"], "block": ["LANES", "THREADS // LANES"], "when": "WORD == 16",
     "args": ["table", "index", "padding", "out", {"i64": "N"}, {"i64": "V"}, {"i32": "BYTES // 16"}]},
    {"kernel": "lookup<uint2>", "grid": ["BLOCKS"], "block": ["LANES", "THREADS // LANES"], "when": "WORD == 8",
     "args": ["table", "index", "padding", "out", {"i64": "N"}, {"i64": "V"}, {"i32": "BYTES // 8"}]},
    {"kernel": "lookup<unsigned int>", "grid": ["BLOCKS"], "block": ["LANES", "THREADS // LANES"], "when": "WORD == 4",
     "args": ["table", "index", "padding", "out", {"i64": "N"}, {"i64": "V"}, {"i32": "BYTES // 4"}]},
    {"kernel": "lookup<unsigned short>", "grid": ["BLOCKS"], "block": ["LANES", "THREADS // LANES"], "when": "WORD == 2",
     "args": ["table", "index", "padding", "out", {"i64": "N"}, {"i64": "V"}, {"i32": "BYTES // 2"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// out[n] = table[index[n]]. LANES threads copy ROWS rows at once: first all indices, then a word of every row, then its
// stores, so that ROWS words of up to 16 bytes a thread are under way. Rows whose width 16 bytes do not divide are copied
// in the widest words that do.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int LANES = 32;
constexpr int THREADS = 256;
constexpr int ROWS = 4;
constexpr int CACHE = 1;
constexpr bool LONG_INDEX = false;
using scalar_t = float;
#endif

template <bool LONG>
struct IndexOf {
  using type = int;
};
template <>
struct IndexOf<true> {
  using type = long long;
};
using Index = IndexOf<LONG_INDEX>::type;

// CACHE 1: results, which nobody here reads again, are the first that L2 drops; rows of the table may be wanted again.
constexpr ak::Cache STORE = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// table: v rows of `width` words; out: n rows.
template <class Word>
__global__ void __launch_bounds__(THREADS)
    lookup(const scalar_t* __restrict__ table, const Index* __restrict__ index, int padding, scalar_t* __restrict__ out,
           long long n, long long v, int width) {
  const Word* from = reinterpret_cast<const Word*>(table);
  Word* to = reinterpret_cast<Word*>(out);
  const long long first = (static_cast<long long>(blockIdx.x) * (THREADS / LANES) + threadIdx.y) * ROWS;
  Index rows[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) rows[r] = first + r < n ? index[first + r] : -1;
  for (int c = static_cast<int>(threadIdx.x); c < width; c += LANES) {
    ak::Pack<Word, 1> words[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      words[r].value[0] = Word{};
      if (rows[r] != padding && rows[r] >= 0 && rows[r] < v) {
        words[r] = ak::load<1, ak::Cache::read_only>(from + static_cast<long long>(rows[r]) * width + c);
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (first + r < n) ak::store<STORE>(to + (first + r) * width + c, words[r]);
    }
  }
}
