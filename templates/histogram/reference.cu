/* alphakernel
{
  "launches": [
    {"kernel": "clear_counts", "grid": ["ceil_div(BINS, 256)"], "block": [256], "args": ["counts", {"i64": "BINS"}]},
    {"kernel": "count_keys", "grid": ["min(ceil_div(N, 256), 65536)"], "block": [256], "args": ["keys", "counts", {"i64": "N"}, {"i64": "BINS"}]},
    {"kernel": "hold_counts", "grid": ["ceil_div(BINS, 256)"], "block": [256], "args": ["counts", {"i64": "BINS"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// counts[b] = how many keys are b: one key a thread at a time, and an atomic addition for each.

#ifndef ALPHAKERNEL
using scalar_t = int;
using out_t = long long;
#endif

// Adds 1; as counts of 64 bits have no signed addition, as unsigned ones.
__device__ void add_one(long long* count) { atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ull); }
__device__ void add_one(int* count) { atomicAdd(count, 1); }

__global__ void clear_counts(out_t* counts, long long bins) {
  const long long b = blockIdx.x * 256ll + threadIdx.x;
  if (b < bins) counts[b] = 0;
}

__global__ void count_keys(const scalar_t* keys, out_t* counts, long long n, long long bins) {
#if defined(AK_MUTATION_LAST_KEY)
  --n;
#elif defined(AK_MUTATION_NO_TAIL)
  n = n / 16 * 16;
#endif
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    long long key = keys[i];
#if defined(AK_MUTATION_NEXT_BIN)
    if (key >= 0 && key < bins) key = (key + 1) % bins;
#elif defined(AK_MUTATION_CLAMPED)
    key = min(max(key, 0ll), bins - 1);
#elif defined(AK_MUTATION_WRAPPED)
    if (key < 0 || key >= bins) key &= 255;
#elif defined(AK_MUTATION_SIGNED)
    key = static_cast<signed char>(key);
#elif defined(AK_MUTATION_END_OF_HALF)
    if (key == bins / 2 - 1) continue;
#elif defined(AK_MUTATION_ONCE_A_PAIR)
    if (i > 0 && keys[i - 1] == key) continue;
#endif
    if (key >= 0 && key < bins) add_one(counts + key);
  }
}

// What results hold of counts: all of it.
__global__ void hold_counts(out_t* counts, long long bins) {
#if defined(AK_MUTATION_BYTE_COUNTS)
  const long long held = 256;
#elif defined(AK_MUTATION_SHORT_COUNTS)
  const long long held = 65536;
#else
  const long long held = 2147483648ll;
#endif
  const long long b = blockIdx.x * 256ll + threadIdx.x;
  if (b < bins) counts[b] = static_cast<out_t>(counts[b] % held);
}
