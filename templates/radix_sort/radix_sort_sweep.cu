/* alphakernel
{
  "tunables": {
    "THREADS": {"values": [256, 384, 512, 1024], "default": 384},
    "ITEMS": {"values": [8, 12, 16, 20, 24, 32], "default": 16},
    "COUNT_BLOCKS": {"values": [1, 2, 4], "default": 4}
  },
  "constraints": ["THREADS * ITEMS <= 10240"],
  "let": {
    "TILES": "ceil_div(N, THREADS * ITEMS)",
    "COUNTERS": "min(ceil_div(N, 4096), SM_COUNT * COUNT_BLOCKS)"
  },
  "workspace": [
    {"name": "counts", "dtype": "uint32", "count": "4 * 256", "init": "zero"},
    {"name": "arrived", "dtype": "uint32", "count": 1, "init": "zero"},
    {"name": "tickets", "dtype": "uint32", "count": 4, "init": "zero"},
    {"name": "known", "dtype": "uint32", "count": "4 * TILES * 256", "init": "zero"},
    {"name": "keys_between", "dtype": "uint32", "count": "N"},
    {"name": "values_between", "dtype": "uint32", "count": "N if values else 1"}
  ],
  "launches": [
    {"kernel": "count", "grid": ["COUNTERS"], "block": [512], "args": ["keys", "counts", "arrived", {"i32": "N"}]},
    {"kernel": "move<0>", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["keys", {"optional": "values"}, "keys_between", "values_between", "counts", "known", "tickets", {"i32": "N"}, {"i32": "TILES"}]},
    {"kernel": "move<1>", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["keys_between", "values_between", "sorted_keys", {"optional": "sorted_values"}, "counts", "known", "tickets", {"i32": "N"}, {"i32": "TILES"}]},
    {"kernel": "move<2>", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["sorted_keys", {"optional": "sorted_values"}, "keys_between", "values_between", "counts", "known", "tickets", {"i32": "N"}, {"i32": "TILES"}]},
    {"kernel": "move<3>", "grid": ["TILES"], "block": ["THREADS"],
     "args": ["keys_between", "values_between", "sorted_keys", {"optional": "sorted_values"}, "counts", "known", "tickets", {"i32": "N"}, {"i32": "TILES"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Keys sorted by their four bytes, the lowest first (ak/radix.cuh): a launch that counts all bytes, then one a byte that
// reads keys and values once and writes them to their places: from the input to memory between, to the results, to
// memory between, to the results.
#include <ak/radix.cuh>

#ifndef ALPHAKERNEL
constexpr int THREADS = 384;
constexpr int ITEMS = 16;
constexpr bool DESCENDING = false;
constexpr bool VALUES = true;
#endif

// What keys are sorted by: unsigned numbers, the smallest first.
struct Bits {
  __device__ __forceinline__ ak::u32 operator()(ak::u32 key) const {
#ifdef AK_DTYPE_INT32
    key ^= 0x80000000u;
#endif
    return DESCENDING ? ~key : key;
  }
};

__global__ void __launch_bounds__(512)
    count(const ak::u32* __restrict__ keys, ak::u32* counts, unsigned int* arrived, int n) {
  ak::count_digits<512, 4>(keys, n, counts, arrived, Bits());
}

template <int PASS>
__global__ void __launch_bounds__(THREADS)
    move(const ak::u32* __restrict__ keys, const ak::u32* __restrict__ values, ak::u32* __restrict__ keys_out,
         ak::u32* __restrict__ values_out, const ak::u32* counts, ak::u32* known, unsigned int* tickets, int n, int tiles) {
  ak::move_by_digit<THREADS, ITEMS>(keys, values, keys_out, VALUES ? values_out : nullptr, n, PASS, counts,
                                    known + static_cast<long long>(PASS) * tiles * ak::kDigits, tickets + PASS, Bits());
}
