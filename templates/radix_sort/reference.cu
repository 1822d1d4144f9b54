/* alphakernel
{
  "let": {"PART": "max(512, ceil_div(N, 16384))", "PARTS": "ceil_div(N, PART)"},
  "workspace": [
    {"name": "counts", "dtype": "uint32", "count": "256 * PARTS"},
    {"name": "keys_a", "dtype": "uint32", "count": "N"},
    {"name": "values_a", "dtype": "uint32", "count": "N"},
    {"name": "keys_b", "dtype": "uint32", "count": "N"},
    {"name": "values_b", "dtype": "uint32", "count": "N"}
  ],
  "launches": [
    {"kernel": "count_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64], "args": ["keys", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 0}]},
    {"kernel": "begin_reference", "grid": [1], "block": [256], "args": ["counts", {"i64": "PARTS"}]},
    {"kernel": "move_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["keys", {"optional": "values"}, "keys_a", "values_a", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 0}]},
    {"kernel": "count_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64], "args": ["keys_a", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 1}]},
    {"kernel": "begin_reference", "grid": [1], "block": [256], "args": ["counts", {"i64": "PARTS"}]},
    {"kernel": "move_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["keys_a", "values_a", "keys_b", "values_b", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 1}]},
    {"kernel": "count_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64], "args": ["keys_b", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 2}]},
    {"kernel": "begin_reference", "grid": [1], "block": [256], "args": ["counts", {"i64": "PARTS"}]},
    {"kernel": "move_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["keys_b", "values_b", "keys_a", "values_a", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 2}]},
    {"kernel": "count_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64], "args": ["keys_a", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 3}]},
    {"kernel": "begin_reference", "grid": [1], "block": [256], "args": ["counts", {"i64": "PARTS"}]},
    {"kernel": "move_reference", "grid": ["ceil_div(PARTS, 64)"], "block": [64],
     "args": ["keys_a", "values_a", "keys_b", "values_b", "counts", {"i64": "N"}, {"i64": "PART"}, {"i64": "PARTS"}, {"i32": 3}]},
    {"kernel": "give_reference", "grid": ["ceil_div(N, 256)"], "block": [256],
     "args": ["keys", {"optional": "values"}, "keys_b", "values_b", "sorted_keys", {"optional": "sorted_values"}, {"i64": "N"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Sorted by one byte after the other, the lowest first. A thread has a part of the keys: it counts their bytes, and when it
// is known where those of each byte begin for it, puts them there one by one.

#ifndef ALPHAKERNEL
constexpr bool DESCENDING = false;
using scalar_t = int;
using out_t_sorted_keys = long long;
using out_t_sorted_values = long long;
#endif

using u32 = unsigned int;

// Byte `pass` of what the key is sorted by.
__device__ int byte_of(u32 key, int pass) {
  bool is_signed = static_cast<scalar_t>(-1) < static_cast<scalar_t>(0), descending = DESCENDING;
#if defined(AK_MUTATION_THREE_BYTES)
  if (pass == 3) return 0;
#elif defined(AK_MUTATION_UPPER_BYTES)
  if (pass == 0) return 0;
#elif defined(AK_MUTATION_OTHER_SIGN)
  is_signed = !is_signed;
#elif defined(AK_MUTATION_OTHER_DIRECTION)
  descending = !descending;
#endif
#if defined(AK_MUTATION_NARROW_DIGITS)
  key &= ~(1u << 10 | 1u << 21);
#elif defined(AK_MUTATION_FLOAT_KEYS)
  key = is_signed ? static_cast<u32>(static_cast<int>(__int2float_rz(static_cast<int>(key)))) : static_cast<u32>(__uint2float_rz(key));
#endif
  if (is_signed) key ^= 0x80000000u;
  if (descending) key = ~key;
  return key >> (8 * pass) & 255;
}

__global__ void count_reference(const u32* keys, u32* counts, long long n, long long part, long long parts, int pass) {
  const long long own = blockIdx.x * 64ll + threadIdx.x;
  if (own >= parts) return;
  for (int byte = 0; byte < 256; ++byte) counts[byte * parts + own] = 0;
  for (long long i = own * part; i < min(own * part + part, n); ++i) ++counts[byte_of(keys[i], pass) * parts + own];
}

// Counts become beginnings: of smaller bytes, and of the parts before.
__global__ void begin_reference(u32* counts, long long parts) {
  __shared__ u32 totals[256];
  u32 total = 0;
  for (long long i = 0; i < parts; ++i) total += counts[threadIdx.x * parts + i];
  totals[threadIdx.x] = total;
  __syncthreads();
  u32 begin = 0;
  for (int byte = 0; byte < threadIdx.x; ++byte) begin += totals[byte];
  for (long long i = 0; i < parts; ++i) {
    const u32 count = counts[threadIdx.x * parts + i];
    counts[threadIdx.x * parts + i] = begin;
    begin += count;
  }
}

// Without values, zeros go with the keys.
__global__ void move_reference(const u32* keys, const u32* values, u32* keys_out, u32* values_out, u32* counts, long long n,
                               long long part, long long parts, int pass) {
  const long long own = blockIdx.x * 64ll + threadIdx.x;
  if (own >= parts) return;
  for (long long i = own * part; i < min(own * part + part, n); ++i) {
    const u32 to = counts[byte_of(keys[i], pass) * parts + own]++;
    keys_out[to] = keys[i];
    values_out[to] = values == nullptr ? 0 : values[i];
  }
}

__global__ void give_reference(const u32* keys, const u32* values, const u32* ordered, const u32* moved,
                               out_t_sorted_keys* sorted_keys, out_t_sorted_values* sorted_values, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  long long from = i;
#if defined(AK_MUTATION_NOT_STABLE)
  long long first = i, last = i;
  while (first > 0 && ordered[first - 1] == ordered[i]) --first;
  while (last + 1 < n && ordered[last + 1] == ordered[i]) ++last;
  from = first + last - i;
#elif defined(AK_MUTATION_ACROSS_TILES)
  if (i == 8191 && i + 1 < n && ordered[i + 1] == ordered[i]) from = i + 1;
  if (i == 8192 && ordered[i - 1] == ordered[i]) from = i - 1;
#elif defined(AK_MUTATION_ONCE)
  if (i + 1 < n && ordered[i + 1] != ordered[i]) from = i + 1;
#endif
  u32 key = ordered[from];
#ifdef AK_MUTATION_LAST_KEY
  if (i == n - 1) key = keys[n - 1];
#endif
  sorted_keys[i] = static_cast<out_t_sorted_keys>(static_cast<scalar_t>(key));
  if (sorted_values == nullptr) return;
#ifdef AK_MUTATION_VALUES_STAY
  sorted_values[i] = static_cast<int>(values[i]);
#else
  sorted_values[i] = static_cast<int>(moved[from]);
#endif
}
