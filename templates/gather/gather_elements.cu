/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [128, 256, 512, 1024], "default": 256},
    "PACKS": {"values": [1, 2, 4, 8], "default": 2},
    "STAGED": {"values": [0, 1], "default": 1},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "let": {
    "PACK": "4 if K % 4 == 0 else 1",
    "PART": "THREADS * PACKS * PACK",
    "ROW_BYTES": "round_up(N * sizeof_x, 16)",
    "IN_SHARED": "STAGED == 1 and ROW_BYTES <= 98304 and K >= N",
    "SPLIT": "max(1, min(ceil_div(K, PART), ceil_div(K, 2 * N)))",
    "WIDE": "N * sizeof_x % 16 == 0"
  },
  "launches": [
    {"kernel": "gather_staged<4>", "grid": ["SPLIT", "min(M, 65535)"], "block": ["THREADS"], "shared_bytes": "ROW_BYTES", "when": "IN_SHARED and PACK == 4",
     "args": ["x", "index", "y", {"i64": "M"}, {"i32": "N"}, {"i32": "K"}, {"bool": "WIDE"}]},
    {"kernel": "gather_staged<1>", "grid": ["SPLIT", "min(M, 65535)"], "block": ["THREADS"], "shared_bytes": "ROW_BYTES", "when": "IN_SHARED and PACK == 1",
     "args": ["x", "index", "y", {"i64": "M"}, {"i32": "N"}, {"i32": "K"}, {"bool": "WIDE"}]},
    {"kernel": "gather<4>", "grid": ["ceil_div(M * K, PART)"], "block": ["THREADS"], "when": "not IN_SHARED and PACK == 4",
     "args": ["x", "index", "y", {"i64": "M * K"}, {"i64": "N"}, {"i64": "K"}]},
    {"kernel": "gather<1>", "grid": ["ceil_div(M * K, PART)"], "block": ["THREADS"], "when": "not IN_SHARED and PACK == 1",
     "args": ["x", "index", "y", {"i64": "M * K"}, {"i64": "N"}, {"i64": "K"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// y[m, k] = x[m, index[m, k]]. A thread takes packs of PACK indices, reads PACKS of them, then every element they name,
// then writes, so that PACKS * PACK elements a thread are under way. Of a row that fits shared memory and whose elements
// are mostly wanted, a block has a copy there: device memory is read in order, once, and shared memory out of order. Of
// other rows every element costs a sector of 32 bytes, unless L2 has it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 256;
constexpr int PACKS = 2;
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

// CACHE 1: evict-first hints, as indices and results are touched once; elements may be wanted again.
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;

// PACK neighbouring indices in loads of up to 16 bytes. -1 is an index that names nothing.
template <int PACK>
__device__ __forceinline__ void read_indices(Index (&to)[PACK], const Index* from) {
  constexpr int kAtOnce = PACK * static_cast<int>(sizeof(Index)) > 16 ? 16 / static_cast<int>(sizeof(Index)) : PACK;
#pragma unroll
  for (int i = 0; i < PACK; i += kAtOnce) {
    const auto some = ak::load<kAtOnce, HINT>(from + i);
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) to[i + j] = some.value[j];
  }
}

// Elements of all rows, whose results are numbered through; a pack is of one row.
template <int PACK>
__global__ void __launch_bounds__(THREADS)
    gather(const scalar_t* __restrict__ x, const Index* __restrict__ index, scalar_t* __restrict__ y, long long count,
           long long n, long long k) {
  const long long first = (static_cast<long long>(blockIdx.x) * PACKS * THREADS + threadIdx.x) * PACK;
  Index wanted[PACKS][PACK];
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    const long long at = first + p * THREADS * PACK;
    if (at < count) read_indices(wanted[p], index + at);
  }
  ak::Pack<scalar_t, PACK> packs[PACKS];
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    const long long at = first + p * THREADS * PACK;
    const scalar_t* row = x + at / k * n;
#pragma unroll
    for (int i = 0; i < PACK; ++i) {
      const bool exists = at < count && wanted[p][i] >= 0 && wanted[p][i] < n;
      packs[p].value[i] = exists ? ak::load<1, ak::Cache::read_only>(row + wanted[p][i]).value[0] : scalar_t(0.0f);
    }
  }
#pragma unroll
  for (int p = 0; p < PACKS; ++p) {
    const long long at = first + p * THREADS * PACK;
    if (at < count) ak::store<HINT>(y + at, packs[p]);
  }
}

// A row in shared memory; gridDim.x blocks share its indices, gridDim.y blocks the rows. wide: a row is whole words of 16
// bytes.
template <int PACK>
__global__ void __launch_bounds__(THREADS)
    gather_staged(const scalar_t* __restrict__ x, const Index* __restrict__ index, scalar_t* __restrict__ y, long long m,
                  int n, int k, bool wide) {
  extern __shared__ __align__(16) unsigned char memory[];
  scalar_t* elements = reinterpret_cast<scalar_t*>(memory);
  constexpr int kWidth = 16 / static_cast<int>(sizeof(scalar_t)), kStep = THREADS * PACK, kAtOnce = 4;
  const int begin = (static_cast<int>(blockIdx.x) * THREADS + static_cast<int>(threadIdx.x)) * PACK;
  const int step = static_cast<int>(gridDim.x) * kStep;
  for (long long row = blockIdx.y; row < m; row += gridDim.y) {
    const scalar_t* from = x + row * n;
    if (wide) {
      for (int start = static_cast<int>(threadIdx.x) * kWidth; start < n; start += kAtOnce * THREADS * kWidth) {
        ak::Pack<scalar_t, kWidth> packs[kAtOnce];
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          const int at = start + j * THREADS * kWidth;
          if (at < n) packs[j] = ak::load<kWidth, HINT>(from + at);
        }
#pragma unroll
        for (int j = 0; j < kAtOnce; ++j) {
          const int at = start + j * THREADS * kWidth;
          if (at < n) ak::store(elements + at, packs[j]);
        }
      }
    } else {
      for (int at = static_cast<int>(threadIdx.x); at < n; at += THREADS) elements[at] = from[at];
    }
    __syncthreads();
    for (long long first = begin; first < k; first += static_cast<long long>(step) * PACKS) {
      Index wanted[PACKS][PACK];
#pragma unroll
      for (int p = 0; p < PACKS; ++p) {
        const long long at = first + static_cast<long long>(p) * step;
        if (at < k) read_indices(wanted[p], index + row * k + at);
      }
#pragma unroll
      for (int p = 0; p < PACKS; ++p) {
        const long long at = first + static_cast<long long>(p) * step;
        ak::Pack<scalar_t, PACK> pack;
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
          const bool exists = at < k && wanted[p][i] >= 0 && wanted[p][i] < n;
          pack.value[i] = exists ? elements[wanted[p][i]] : scalar_t(0.0f);
        }
        if (at < k) ak::store<HINT>(y + row * k + at, pack);
      }
    }
    __syncthreads();
  }
}
