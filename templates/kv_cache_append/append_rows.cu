/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [64, 128, 256, 512], "default": 128},
    "TOKENS": {"values": [1, 2, 4, 8], "default": 2},
    "COMPARED": {"values": [0, 256, 1024, 4096], "default": 1024},
    "CACHE_LINES": {"values": [0, 1], "default": 0}
  },
  "let": {
    "SLOTS": "POOL * PAGE",
    "SEQUENCES": "B if places == 'table' else 0",
    "MAX_PAGES": "POOL // B if places == 'table' else 0",
    "PAIRWISE": "T <= COMPARED",
    "VEC": "8 if D % 8 == 0 else 1",
    "BLOCKS": "ceil_div(T, THREADS // 32 * TOKENS)"
  },
  "workspace": [
    {"name": "owners", "dtype": "int32", "count": "0 if PAIRWISE else SLOTS"},
    {"name": "found", "dtype": "int32", "count": "0 if PAIRWISE else T"}
  ],
  "launches": [
    {"kernel": "find", "grid": ["ceil_div(T, 256)"], "block": [256], "when": "not PAIRWISE",
     "args": [{"optional": "slots"}, {"optional": "sequences"}, {"optional": "positions"}, {"optional": "block_table"},
              "owners", "found", {"i32": "T"}, {"i32": "POOL"}, {"i32": "SEQUENCES"}, {"i32": "MAX_PAGES"}]},
    {"kernel": "claim", "grid": ["ceil_div(T, 256)"], "block": [256], "when": "not PAIRWISE",
     "args": ["owners", "found", {"i32": "T"}]},
    {"kernel": "append<8>", "grid": ["BLOCKS", 2], "block": ["THREADS"], "when": "not PAIRWISE and VEC == 8",
     "args": ["k", "v", "owners", "found", {"optional": "k_scale"}, {"optional": "v_scale"}, "k_out", "v_out",
              {"i32": "T"}, {"i32": "D"}, {"i32": "HKV * D"}]},
    {"kernel": "append<1>", "grid": ["BLOCKS", 2], "block": ["THREADS"], "when": "not PAIRWISE and VEC == 1",
     "args": ["k", "v", "owners", "found", {"optional": "k_scale"}, {"optional": "v_scale"}, "k_out", "v_out",
              {"i32": "T"}, {"i32": "D"}, {"i32": "HKV * D"}]},
    {"kernel": "append_few<8>", "grid": ["BLOCKS", 2], "block": ["THREADS"], "when": "PAIRWISE and VEC == 8",
     "args": ["k", "v", {"optional": "slots"}, {"optional": "sequences"}, {"optional": "positions"}, {"optional": "block_table"},
              {"optional": "k_scale"}, {"optional": "v_scale"}, "k_out", "v_out",
              {"i32": "T"}, {"i32": "D"}, {"i32": "HKV * D"}, {"i32": "POOL"}, {"i32": "SEQUENCES"}, {"i32": "MAX_PAGES"}]},
    {"kernel": "append_few<1>", "grid": ["BLOCKS", 2], "block": ["THREADS"], "when": "PAIRWISE and VEC == 1",
     "args": ["k", "v", {"optional": "slots"}, {"optional": "sequences"}, {"optional": "positions"}, {"optional": "block_table"},
              {"optional": "k_scale"}, {"optional": "v_scale"}, "k_out", "v_out",
              {"i32": "T"}, {"i32": "D"}, {"i32": "HKV * D"}, {"i32": "POOL"}, {"i32": "SEQUENCES"}, {"i32": "MAX_PAGES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Keys and values into slots of a cache that is changed in place. A warp writes TOKENS tokens at once, 16 bytes of each a
// lane. Of tokens with the same slot only the last may write: up to COMPARED tokens a warp compares its tokens with all
// later ones, in the one launch; beyond, tokens claim their slots in two launches of one thread a token. Of the claims'
// memory, a word a slot, only what is claimed is touched.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/narrow.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 128;
constexpr int TOKENS = 2;
constexpr int CACHE_LINES = 0;
constexpr int PAGE = 16;
using scalar_t = __nv_bfloat16;
#endif

#ifdef AK_CACHE_DTYPE_FLOAT8_E4M3FN
constexpr bool FP8 = true;
using cache_t = unsigned char;  // codes
#else
constexpr bool FP8 = false;
using cache_t = scalar_t;
#endif

// CACHE_LINES 1: what is written is the first that L2 drops; else attention, which follows, may find it there.
constexpr ak::Cache STORE = CACHE_LINES == 1 ? ak::Cache::streaming : ak::Cache::plain;

// Where tokens go. Pointers are null where the problem has no such input.
struct Places {
  const int *slots, *sequences, *positions, *block_table;
  int pool, batch, pages;

  // The slot of token t, or -1 where it has none.
  __device__ __forceinline__ int of(int t) const {
#ifdef AK_PLACES_TABLE
    const int sequence = sequences[t], position = positions[t];
    if (sequence < 0 || sequence >= batch || position < 0 || position / PAGE >= pages) return -1;
    const int page = block_table[static_cast<long long>(sequence) * pages + position / PAGE];
    return page >= 0 && page < pool ? page * PAGE + position % PAGE : -1;
#else
    const int slot = slots[t];
    return slot >= 0 && slot < pool * PAGE ? slot : -1;
#endif
  }
};

// VEC elements of one head as they are stored.
template <int VEC>
__device__ __forceinline__ void write(cache_t* to, const ak::Pack<scalar_t, VEC>& pack, float scale) {
  if constexpr (FP8) {
    float quotients[VEC];
#pragma unroll
    for (int i = 0; i < VEC; ++i) quotients[i] = static_cast<float>(pack.value[i]) / scale;
    ak::store<STORE>(to, ak::quantise<ak::e4m3>(quotients, 1.0f));
  } else {
    ak::store<STORE>(to, pack);
  }
}

// Rows of `width` elements of tokens first, first + 1, ... to the slots of them that are not negative, by one warp.
template <int VEC>
__device__ __forceinline__ void write_rows(const scalar_t* from, cache_t* to, const float* scale, int first,
                                           const int (&slots)[TOKENS], int d, int width) {
  for (int c = ak::lane_index() * VEC; c < width; c += 32 * VEC) {
    const float divisor = FP8 ? scale[c / d] : 1.0f;
    ak::Pack<scalar_t, VEC> packs[TOKENS];
#pragma unroll
    for (int i = 0; i < TOKENS; ++i) {
      if (slots[i] < 0) continue;
      packs[i] = ak::load<VEC, ak::Cache::streaming>(from + static_cast<long long>(first + i) * width + c);
    }
#pragma unroll
    for (int i = 0; i < TOKENS; ++i) {
      if (slots[i] >= 0) write<VEC>(to + static_cast<long long>(slots[i]) * width + c, packs[i], divisor);
    }
  }
}

// The first token of this warp.
__device__ __forceinline__ int first_token() {
  return (static_cast<int>(blockIdx.x) * (THREADS / 32) + ak::warp_index()) * TOKENS;
}

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    append_few(const scalar_t* __restrict__ k, const scalar_t* __restrict__ v, const int* __restrict__ slots,
               const int* __restrict__ sequences, const int* __restrict__ positions, const int* __restrict__ block_table,
               const float* __restrict__ k_scale, const float* __restrict__ v_scale, cache_t* __restrict__ k_out,
               cache_t* __restrict__ v_out, int tokens, int d, int width, int pool, int batch, int pages) {
  const Places places{slots, sequences, positions, block_table, pool, batch, pages};
  const int first = first_token();
  int own[TOKENS];
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) own[i] = first + i < tokens ? places.of(first + i) : -1;
  unsigned int taken = 0;  // bit i: a later token has the slot of token first + i
  for (int t = first + 1 + ak::lane_index(); t < tokens; t += 32) {
    const int slot = places.of(t);
#pragma unroll
    for (int i = 0; i < TOKENS; ++i) taken |= slot == own[i] && t > first + i ? 1u << i : 0u;
  }
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) {
    if (__any_sync(0xffffffffu, taken >> i & 1u)) own[i] = -1;
  }
  const bool keys = blockIdx.y == 0;
  write_rows<VEC>(keys ? k : v, keys ? k_out : v_out, keys ? k_scale : v_scale, first, own, d, width);
}

// found[t]: the slot of token t. One of its tokens owns each slot: owners[slot].
__global__ void __launch_bounds__(256)
    find(const int* __restrict__ slots, const int* __restrict__ sequences, const int* __restrict__ positions,
         const int* __restrict__ block_table, int* __restrict__ owners, int* __restrict__ found, int tokens, int pool,
         int batch, int pages) {
  const int t = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  if (t >= tokens) return;
  const int slot = Places{slots, sequences, positions, block_table, pool, batch, pages}.of(t);
  found[t] = slot;
  if (slot >= 0) asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(owners + slot), "r"(t) : "memory");
}

// The last token of a slot owns it.
__global__ void __launch_bounds__(256) claim(int* __restrict__ owners, const int* __restrict__ found, int tokens) {
  const int t = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  if (t < tokens && found[t] >= 0) atomicMax(owners + found[t], t);
}

template <int VEC>
__global__ void __launch_bounds__(THREADS)
    append(const scalar_t* __restrict__ k, const scalar_t* __restrict__ v, const int* __restrict__ owners,
           const int* __restrict__ found, const float* __restrict__ k_scale, const float* __restrict__ v_scale,
           cache_t* __restrict__ k_out, cache_t* __restrict__ v_out, int tokens, int d, int width) {
  const int first = first_token();
  int own[TOKENS];
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) own[i] = first + i < tokens ? found[first + i] : -1;
#pragma unroll
  for (int i = 0; i < TOKENS; ++i) {
    if (own[i] >= 0 && owners[own[i]] != first + i) own[i] = -1;
  }
  const bool keys = blockIdx.y == 0;
  write_rows<VEC>(keys ? k : v, keys ? k_out : v_out, keys ? k_scale : v_scale, first, own, d, width);
}
