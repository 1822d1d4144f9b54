/* alphakernel
{
  "let": {"MAX_PAGES": "POOL // B if places == 'table' else 0", "SEQUENCES": "B if places == 'table' else 0"},
  "launches": [
    {"kernel": "append_reference", "grid": ["POOL * PAGE"], "block": [64],
     "args": ["k", "v", "k_cache", "v_cache", {"optional": "slots"}, {"optional": "sequences"}, {"optional": "positions"},
              {"optional": "block_table"}, {"optional": "k_scale"}, {"optional": "v_scale"}, "k_out", "v_out",
              {"i64": "T"}, {"i64": "D"}, {"i64": "HKV * D"}, {"i64": "POOL"}, {"i64": "SEQUENCES"}, {"i64": "MAX_PAGES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// What is in each slot afterwards, one block a slot: the last token that goes there, or what was there before.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#ifndef ALPHAKERNEL
constexpr int PAGE = 16;
using scalar_t = float;
using out_t_k_out = double;
using out_t_v_out = double;
#define AK_EXACT 1
#endif

#ifdef AK_EXACT
using real_t = double;
#else
using real_t = float;
#endif

#ifdef AK_CACHE_DTYPE_FLOAT8_E4M3FN
using cache_t = __nv_fp8_e4m3;
#else
using cache_t = scalar_t;
#endif

// Where tokens go, as the problem's axes and inputs say it. Pointers are null where there is no such input.
struct Places {
  const int *slots, *sequences, *positions, *block_table;
  long long pool, batch, pages;

  __device__ static long long within(long long i, long long count) {
#ifdef AK_MUTATION_CLAMPED
    return min(max(i, 0ll), count - 1);
#else
    return i >= 0 && i < count ? i : -1;
#endif
  }

  // The slot of token t, or -1.
  __device__ long long of(long long t) const {
    if (slots != nullptr) return within(slots[t], pool * PAGE);
    const long long sequence = sequences[t], position = positions[t];
    long long room = pages * PAGE;
#ifdef AK_MUTATION_WHOLE_TABLE
    room = (batch - max(sequence, 0ll)) * pages * PAGE;
#endif
    if (sequence < 0 || sequence >= batch || position < 0 || position >= room) return -1;
#ifdef AK_MUTATION_NO_TABLE
    return (sequence * pages + position / PAGE) * PAGE + position % PAGE;
#endif
    const int entry = block_table[sequence * pages + position / PAGE];
#ifdef AK_MUTATION_WRAPPED
    return within(static_cast<int>(static_cast<unsigned int>(entry) * PAGE + position % PAGE), pool * PAGE);
#endif
    const long long page = within(entry, pool);
    return page < 0 ? -1 : page * PAGE + position % PAGE;
  }
};

// The token that is kept in `slot`, or -1; the same in all threads.
__device__ long long token_of(const Places& places, long long slot, long long tokens) {
#ifdef AK_MUTATION_FIRST_OF_SLOT
  const bool first = true;
#else
  const bool first = false;
#endif
  __shared__ int kept;
  if (threadIdx.x == 0) kept = -1;
  __syncthreads();
  for (long long t = threadIdx.x; t < tokens; t += blockDim.x) {
    if (places.of(t) == slot) atomicMax(&kept, static_cast<int>(first ? tokens - 1 - t : t));
  }
  __syncthreads();
  return first && kept >= 0 ? tokens - 1 - kept : kept;
}

__device__ real_t stored(real_t x, const float* scale, long long head) {
#ifdef AK_MUTATION_NO_NAN
  x = x > -65504 ? x : -65504;
#endif
  if (scale == nullptr) return x;
#ifdef AK_MUTATION_ONE_SCALE
  head = 0;
#endif
#ifdef AK_MUTATION_HALF_RANGE
  const real_t largest = 224;
#else
  const real_t largest = 448;
#endif
  x /= static_cast<real_t>(scale[head]);
#ifdef AK_MUTATION_COARSE_QUOTIENT
  x = static_cast<real_t>(__bfloat162float(__float2bfloat16(static_cast<float>(x))));
#endif
#ifdef AK_MUTATION_TIES_AWAY
  x += x / 4096;  // past the middle, not past the next number that 16 bits hold
#endif
  return x < -largest ? -largest : x > largest ? largest : x;
}

__global__ void append_reference(const scalar_t* k, const scalar_t* v, const cache_t* k_cache, const cache_t* v_cache,
                                 const int* slots, const int* sequences, const int* positions, const int* block_table,
                                 const float* k_scale, const float* v_scale, out_t_k_out* k_out, out_t_v_out* v_out,
                                 long long tokens, long long d, long long width, long long pool, long long batch,
                                 long long pages) {
  const Places places{slots, sequences, positions, block_table, pool, batch, pages};
  const long long slot = blockIdx.x;
#if defined(AK_MUTATION_LAST_TOKEN)
  --tokens;
#endif
#if defined(AK_MUTATION_NEXT_SLOT)
  const long long token = token_of(places, (slot + pool * PAGE - 1) % (pool * PAGE), tokens);
#else
  const long long token = token_of(places, slot, tokens);
#endif
#ifdef AK_MUTATION_SWAPPED
  v = k;
#endif
#ifdef AK_MUTATION_KEY_SCALE
  v_scale = k_scale;
#endif
  for (long long i = threadIdx.x; i < width; i += blockDim.x) {
    real_t key = static_cast<real_t>(static_cast<float>(k_cache[slot * width + i]));
    real_t value = static_cast<real_t>(static_cast<float>(v_cache[slot * width + i]));
    bool written = token >= 0;
#if defined(AK_MUTATION_ONE_WARP)
    written = written && i < 256;
#elif defined(AK_MUTATION_ONE_BLOCK)
    written = written && i < 8192;
#elif defined(AK_MUTATION_CLEARED)
    if (!written) key = value = 0;
#endif
    if (written) {
      key = stored(static_cast<real_t>(static_cast<float>(k[token * width + i])), k_scale, i / d);
      value = stored(static_cast<real_t>(static_cast<float>(v[token * width + i])), v_scale, i / d);
    }
    k_out[slot * width + i] = static_cast<out_t_k_out>(key);
    v_out[slot * width + i] = static_cast<out_t_v_out>(value);
  }
}
