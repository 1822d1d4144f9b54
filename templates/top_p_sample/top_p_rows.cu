/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [256, 512, 1024], "default": 1024},
    "ITEMS": {"values": [1, 2, 4, 8], "default": 4},
    "LISTED": {"values": [1024, 2048, 4096], "default": 2048}
  },
  "launches": [
    {"kernel": "top_p_rows", "grid": ["B"], "block": ["THREADS"],
     "args": ["probabilities", "top_p", "random", "token", {"i32": "V"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// A token for each row, one block a row. The first reading adds up all weights. Tokens so light that all of them together
// could not make up what is cut off are out; the second reading lists the others, which are few where a model is sure of
// anything, in shared memory, and everything after works on the list. Where they are too many for it, it works on the row.
// What completes a sum in the order of tokens is found digit by digit, from the largest ranks down: sums of weights by a
// digit of 9 or 10 bits, five times for a rank of 46 bits (weight as a floating number, complement of the token).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <ak/reduce.cuh>
#include <ak/unaligned_rows.cuh>
#include <ak/threads.cuh>
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 1024;
constexpr int ITEMS = 4;
constexpr int LISTED = 2048;
using scalar_t = float;
#endif

using ak::u32;
using ak::u64;
constexpr int VEC = 16 / static_cast<int>(sizeof(scalar_t));
using Pack = ak::Pack<scalar_t, VEC>;
using Row = ak::UnalignedRow<scalar_t, VEC>;

constexpr int PLACE_BITS = 18;  // of a token
constexpr int RANK_BITS = 46;   // 5 of an exponent, 23 of a mantissa, those of a token
constexpr int DIGITS = 1 << 10;

__device__ __forceinline__ u32 weight_of(scalar_t probability) {
  const float scaled = static_cast<float>(probability) * 268435456.0f;
  return scaled >= 1.0f ? min(__float2uint_rz(scaled), (1u << 28) - 1) : 0;
}

// Of a weight from 1 on. It has no more than 24 significant bits, so that float32 holds it, but for the largest one, which
// becomes 2^28, as no other does.
__device__ __forceinline__ u64 rank_of(u32 weight, int token) {
  const u32 bits = __float_as_uint(__uint2float_rn(weight)) - (127u << 23);
  return static_cast<u64>(bits) << PLACE_BITS | ((1u << PLACE_BITS) - 1 - static_cast<u32>(token));
}

// A row, or the list of some of its tokens.
struct Source {
  const scalar_t* x;
  Row row;
  const u32* weights;  // of listed tokens
  const int* tokens;
  int listed;          // negative: the row itself

  // Calls f(weight, token) for this thread's tokens of a weight.
  template <class F>
  __device__ __forceinline__ void each(F f) const {
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = thread; i < listed; i += THREADS) f(weights[i], tokens[i]);
    if (listed >= 0) return;
    for (int tile = thread; tile < row.packs; tile += THREADS * ITEMS) {
      Pack packs[ITEMS];
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        if (tile + k * THREADS < row.packs) packs[k] = ak::load<VEC>(x + row.pack(tile + k * THREADS));
      }
#pragma unroll
      for (int k = 0; k < ITEMS; ++k) {
        if (tile + k * THREADS >= row.packs) continue;
#pragma unroll
        for (int i = 0; i < VEC; ++i) f(weight_of(packs[k].value[i]), row.pack(tile + k * THREADS) + i);
      }
    }
    for (int i = thread; i < row.singles; i += THREADS) f(weight_of(x[row.single(i)]), row.single(i));
  }
};

// Sums of weights by digit. Halves of 14 bits, so that 32 bits hold the sums of 2^18 of them, and atomics are native. A gap
// after every 32 keeps lanes that read 32 digits each out of each other's banks.
struct Sums {
  u32 low[DIGITS + DIGITS / 32], high[DIGITS + DIGITS / 32];
  __device__ __forceinline__ static int place(int digit) { return digit + digit / 32; }
  __device__ __forceinline__ void clear() {
    for (int i = static_cast<int>(threadIdx.x); i < DIGITS; i += THREADS) low[place(i)] = high[place(i)] = 0;
  }
  __device__ __forceinline__ void add(u32 digit, u32 weight) {
    atomicAdd(&low[place(static_cast<int>(digit))], weight & 16383u);
    atomicAdd(&high[place(static_cast<int>(digit))], weight >> 14);
  }
  __device__ __forceinline__ u64 at(int digit) const {
    return (static_cast<u64>(high[place(digit)]) << 14) + low[place(digit)];
  }
};

// A digit, and what is left of a sum behind all larger ones.
struct Found {
  u32 digit;
  u64 left;
};
// Of the first warp: the largest digit from which on the sums exceed `sum`. Lanes take 32 digits each, lane 0 the largest.
__device__ __forceinline__ void find_digit(const Sums& sums, u64 sum, Found& found) {
  const int lane = static_cast<int>(threadIdx.x);
  int digit = DIGITS - 1 - 32 * lane;
  u64 own = 0;
  for (int i = 0; i < 32; ++i) own += sums.at(digit - i);
  u64 up_to = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const u64 other = __shfl_up_sync(0xffffffffu, up_to, offset);
    if (lane >= offset) up_to += other;
  }
  if (__ffs(static_cast<int>(__ballot_sync(0xffffffffu, up_to > sum))) - 1 != lane) return;
  u64 left = sum - (up_to - own);
  while (sums.at(digit) <= left) left -= sums.at(digit--);
  found = {static_cast<u32>(digit), left};
}

// A token, and how far into its weight a sum reaches.
struct Reached {
  int token;
  u64 into;
};
// The token up to which, in their order, the weights first add up to more than `sum`, which is less than all of them.
__device__ Reached reach(const Source& source, u64 sum, Sums& sums) {
  __shared__ Found found;
  u64 rank = 0;  // its digits so far
#pragma unroll 1
  for (int shift = RANK_BITS - 10; shift >= 0; shift -= 9) {
    const int bits = shift == RANK_BITS - 10 ? 10 : 9;
    sums.clear();
    __syncthreads();
    source.each([&](u32 weight, int token) {
      if (weight == 0) return;
      const u64 candidate = rank_of(weight, token);
      if (candidate >> (shift + bits) == rank) sums.add(static_cast<u32>(candidate >> shift) & ((1u << bits) - 1), weight);
    });
    __syncthreads();
    if (threadIdx.x < 32) find_digit(sums, sum, found);
    __syncthreads();
    rank = rank << bits | found.digit;
    sum = found.left;
  }
  return {(1 << PLACE_BITS) - 1 - static_cast<int>(rank & ((1u << PLACE_BITS) - 1)), sum};
}

// Lists tokens heavier than `light`; how many there are, of which LISTED are kept.
__device__ __forceinline__ int list(const Source& row, u32 light, u32* weights, int* tokens) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  row.each([&](u32 weight, int token) {
    if (weight <= light) return;
    const int at = atomicAdd(&count, 1);
    if (at >= LISTED) return;
    weights[at] = weight;
    tokens[at] = token;
  });
  __syncthreads();
  return count;
}

__global__ void __launch_bounds__(THREADS)
    top_p_rows(const scalar_t* __restrict__ probabilities, const float* __restrict__ top_p, const int* __restrict__ random,
               int* __restrict__ token, int n) {
  __shared__ Sums sums;
  __shared__ u32 weights[LISTED];
  __shared__ int tokens[LISTED];
  const long long b = blockIdx.x;
  const scalar_t* x = probabilities + b * n;
  Source source{x, Row(x, n), weights, tokens, -1};

  u64 all = 0;
  source.each([&](u32 weight, int) { all += weight; });
  all = ak::reduce_row<THREADS>(all, ak::Sum());
  if (all == 0) {
    if (threadIdx.x == 0) token[b] = -1;
    return;
  }
  const float share = top_p[b] * 65536.0f;
  const u64 q = share >= 1.0f ? min(__float2uint_rz(share), 65536u) : 0;
  const u64 needed = max(1ull, (all * q + 65535) / 65536);

  const int heavy = list(source, static_cast<u32>((all - needed) / static_cast<u32>(n)), weights, tokens);
  if (heavy <= LISTED) source.listed = heavy;
  const Reached last = reach(source, needed - 1, sums);
  const u64 kept = needed - 1 - last.into + weight_of(x[last.token]);
  const u64 number = static_cast<u32>(random[b]);
  const u64 wanted = (kept >> 32) * number + ((kept & 0xffffffffu) * number >> 32);
  const Reached chosen = reach(source, wanted, sums);
  if (threadIdx.x == 0) token[b] = chosen.token;
}
