/* alphakernel
{
  "tunables": {
    "RADIX": {"values": [8, 16], "default": 16},
    "LIMIT": {"values": [10, 11, 12, 13], "default": 12},
    "THREADS": {"values": [128, 256, 512], "default": 256},
    "COLUMNS": {"values": [4, 8, 16], "default": 8},
    "BLOCKS_PER_SM": {"values": [1, 2, 3, 4], "default": 3},
    "CACHE": {"values": [0, 1], "default": 1}
  },
  "constraints": [
    "MOST * BLOCKS_PER_SM * (48 if RADIX == 8 else 80) <= 65536",
    "(MOST * RADIX * 17 // 16 + MOST) * 8 <= SHARED_BYTES_PER_BLOCK"
  ],
  "let": {
    "MOST": "max(THREADS, 2 ** LIMIT // RADIX)",
    "LOG": "ilog2(N)",
    "WHOLE": "LOG <= LIMIT",
    "LANES": "max(N // RADIX, 1)",
    "MANY": "max(THREADS // LANES, 1)",
    "LOG1": "LOG - LOG // 2",
    "LOG2": "LOG // 2",
    "N1": "2 ** LOG1",
    "N2": "2 ** LOG2",
    "LONG": "8192 if SHARED_BYTES_PER_BLOCK >= 73728 else 4096",
    "MANY1": "min(COLUMNS, LONG // N1)",
    "MANY2": "min(COLUMNS, LONG // N2)"
  },
  "workspace": [
    {"name": "between", "dtype": "float32", "count": "0 if WHOLE else 2 * B * N"}
  ],
  "launches": [
    {"kernel": "transform_few", "grid": ["ceil_div(B, 128)"], "block": [128], "when": "N < RADIX",
     "args": ["x", "y", {"i64": "B"}, {"i32": "LOG"}]},
    {"kernel": "transform_whole", "grid": ["ceil_div(B, MANY)"], "block": ["MANY * LANES"], "when": "N >= RADIX and WHOLE",
     "shared_bytes": "MANY * (N + N // 16 + 1) * 8",
     "args": ["x", "y", {"i64": "B"}, {"i32": "LOG"}, {"i32": "ilog2(MANY)"}]},
    {"kernel": "transform_columns", "grid": ["B * (N2 // MANY1)"], "block": ["MANY1 * (N1 // RADIX)"], "when": "not WHOLE",
     "shared_bytes": "MANY1 * (N1 + max(N1 // 16, 16) + 16 // MANY1) * 8",
     "args": ["x", "between", {"i32": "LOG1"}, {"i32": "LOG2"}, {"i32": "ilog2(MANY1)"}]},
    {"kernel": "transform_rows", "grid": ["B * (N1 // MANY2)"], "block": ["MANY2 * (N2 // RADIX)"], "when": "not WHOLE",
     "shared_bytes": "MANY2 * (N2 + max(N2 // 16, 16) + 16 // MANY2) * 8",
     "args": ["between", "y", {"i32": "LOG1"}, {"i32": "LOG2"}, {"i32": "ilog2(MANY2)"}]}
  ]
}
*/
// SPDX-License-Identifier: Apache-2.0
//
// Fourier transforms of any power of two. A thread has RADIX numbers in registers; after each step of that radix threads
// exchange them in shared memory, so that a number crosses it once for every factor RADIX of the length but one.
//
//   up to 2^LIMIT:  x ─► registers ─radix r─► shared memory ─radix RADIX─► ... ─► registers ─► y     r: what is left over
//   longer:         N = N1 x N2, numbers as a matrix of N1 rows (Bailey's four steps)
//                   x ─ columns, N1 long ─► times exp(-2 pi i n2 k1 / N) ─► between ─ rows, N2 long ─► transposed ─► y
//
// Both launches of a long transform read and write runs of neighbouring numbers: a block has several columns or rows, and
// threads change from numbers that are neighbours along a row to such that are across rows where they exchange anyway.
// Steps are Stockham's, which need no reordering. Factors are made by two sincospi a step, and their powers.
#include <ak/vectors.cuh>

#ifndef ALPHAKERNEL
constexpr int RADIX = 16;
constexpr int LIMIT = 12;
constexpr int THREADS = 256;
constexpr int COLUMNS = 8;
constexpr int BLOCKS_PER_SM = 3;
constexpr int CACHE = 1;
#define AK_DIRECTION_FORWARD 1
#endif

#ifdef AK_DIRECTION_FORWARD
constexpr float SIGN = -1.0f;
constexpr bool DIVIDED = false;
#else
constexpr float SIGN = 1.0f;
constexpr bool DIVIDED = true;
#endif

constexpr int LOG_RADIX = RADIX == 16 ? 4 : 3;
constexpr int MOST = THREADS > (1 << LIMIT) / RADIX ? THREADS : (1 << LIMIT) / RADIX;  // threads of a block
constexpr int LONG = 8192 / RADIX;  // of one that has columns or rows, which are up to 1024 long
constexpr ak::Cache HINT = CACHE == 1 ? ak::Cache::streaming : ak::Cache::plain;        // for what is touched once

// ---- complex numbers

using Complex = float2;

__device__ __forceinline__ Complex add(Complex a, Complex b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ Complex subtract(Complex a, Complex b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ __forceinline__ Complex multiply(Complex a, Complex b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
__device__ __forceinline__ Complex scaled(Complex a, float s) { return make_float2(a.x * s, a.y * s); }

template <ak::Cache FROM>
__device__ __forceinline__ Complex read(const float* from) {
  const auto pack = ak::load<2, FROM>(from);
  return make_float2(pack.value[0], pack.value[1]);
}
template <ak::Cache TO>
__device__ __forceinline__ void write(float* to, Complex value) {
  ak::Pack<float, 2> pack;
  pack.value[0] = value.x;
  pack.value[1] = value.y;
  ak::store<TO>(to, pack);
}

// exp(-+2 pi i k / n), where k / n is exact: both are below 2^24, and n is a power of two.
__device__ __forceinline__ Complex root(int k, int n) {
  Complex w;
  sincospif(2.0f * SIGN * static_cast<float>(k) / static_cast<float>(n), &w.y, &w.x);
  return w;
}

// a times exp(-+2 pi i K / 16)
template <int K>
__device__ __forceinline__ Complex turned(Complex a) {
  constexpr float kHalf = 0.70710678118654752f, kLong = 0.92387953251128674f, kShort = 0.38268343236508977f;
  if constexpr (K == 0) return a;
  if constexpr (K == 2) return scaled(make_float2(a.x - SIGN * a.y, a.y + SIGN * a.x), kHalf);
  if constexpr (K == 4) return make_float2(-SIGN * a.y, SIGN * a.x);
  if constexpr (K == 6) return scaled(make_float2(-a.x - SIGN * a.y, SIGN * a.x - a.y), kHalf);
  if constexpr (K == 1) return multiply(a, make_float2(kLong, SIGN * kShort));
  if constexpr (K == 3) return multiply(a, make_float2(kShort, SIGN * kLong));
  if constexpr (K == 5) return multiply(a, make_float2(-kShort, SIGN * kLong));
  if constexpr (K == 7) return multiply(a, make_float2(-kLong, SIGN * kShort));
}

// Sums and differences of even and odd parts, from K on: of R numbers APART apart, to `to` in order.
template <int R, int APART, int K = 0>
__device__ __forceinline__ void join(Complex* to, const Complex* v) {
  if constexpr (K < R / 2) {
    const Complex even = v[2 * K * APART], odd = turned<16 / R * K>(v[(2 * K + 1) * APART]);
    to[K] = add(even, odd);
    to[K + R / 2] = subtract(even, odd);
    join<R, APART, K + 1>(to, v);
  }
}

// The transform of R numbers v[0], v[APART], ... in their own places, in order.
template <int R, int APART>
__device__ __forceinline__ void transform(Complex* v) {
  if constexpr (R > 1) {
    transform<R / 2, 2 * APART>(v);
    transform<R / 2, 2 * APART>(v + APART);
    Complex joined[R];
    join<R, APART>(joined, v);
#pragma unroll
    for (int i = 0; i < R; ++i) v[i * APART] = joined[i];
  }
}

// v[i] *= exp(-+2 pi i i k / n). The fourth power is made by itself, so that errors do not add up along all of them.
__device__ __forceinline__ void multiply_by_powers(Complex (&v)[RADIX], int k, int n) {
  Complex powers[RADIX];
  powers[1] = root(k, n);
  powers[2] = multiply(powers[1], powers[1]);
  powers[3] = multiply(powers[2], powers[1]);
  powers[4] = root(4 * k, n);
#pragma unroll
  for (int i = 5; i < RADIX; ++i) powers[i] = i % 4 == 0 ? multiply(powers[i - 4], powers[4]) : multiply(powers[i - i % 4], powers[i % 4]);
#pragma unroll
  for (int i = 1; i < RADIX; ++i) v[i] = multiply(v[i], powers[i]);
}

// ---- a block's transforms

// A number that is known when compiled, as an argument.
template <int VALUE>
struct Number {
  static constexpr int value = VALUE;
};

// Where number i of a transform lies in shared memory.
__device__ __forceinline__ int padded(int i) { return i + (i >> 4); }

// Numbers of shared memory for each of 2^log_many transforms of n. 16 numbers of 8 bytes take all banks once. Where threads
// are neighbours across transforms, half a warp has 16 / 2^log_many places of each: transforms begin as many banks apart.
template <bool ALONG>
__device__ __forceinline__ int pitch_of(int n, int log_many) {
  return ALONG ? n + n / 16 + 1 : n + max(n / 16, 16) + (16 >> log_many);
}

// Which of a block's 2^log_many transforms a thread works on, and at which of its 2^log_lanes places. ALONG: neighbouring threads
// are neighbours in a transform; else they are at the same place of neighbouring ones.
template <bool ALONG>
struct Place {
  int which, lane;
  __device__ __forceinline__ Place(int log_lanes, int log_many) {
    const int thread = static_cast<int>(threadIdx.x);
    which = ALONG ? thread >> log_lanes : thread & ((1 << log_many) - 1);
    lane = ALONG ? thread & ((1 << log_lanes) - 1) : thread >> log_many;
  }
};

// RADIX numbers of shared memory, `hop` apart from `at` on; hop is a multiple of 16, but for short transforms.
template <class Use>
__device__ __forceinline__ void for_numbers(Complex* memory, int at, int hop, Use use) {
  if (hop % 16 == 0) {
    Complex* const first = memory + padded(at);
    const int apart = padded(hop);
#pragma unroll
    for (int i = 0; i < RADIX; ++i) use(i, first[i * apart]);
  } else {
#pragma unroll
    for (int i = 0; i < RADIX; ++i) use(i, memory[padded(at + i * hop)]);
  }
}

// The first step, of KIND: RADIX / KIND transforms of that length, numbers of which lie so many apart in v; to shared
// memory, if it is not the only one.
template <int KIND>
__device__ __forceinline__ void first_step(Complex (&v)[RADIX], Complex* memory, int lane, int lanes, bool only) {
  constexpr int kTogether = RADIX / KIND;
#pragma unroll
  for (int i = 0; i < kTogether; ++i) transform<KIND, kTogether>(v + i);
  if (only) return;
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    Complex* const to = memory + padded((lane + i * lanes) * KIND);
#pragma unroll
    for (int k = 0; k < KIND; ++k) to[k] = v[i + k * kTogether];
  }
}

// Where the numbers of a block's transforms are in device memory: of(which) is the first of one, or nullptr where there is
// none; `step` numbers from each to the next.
template <class Of>
struct Numbers {
  Of of;
  int step;
};
template <class Of>
__device__ __forceinline__ Numbers<Of> numbers(int step, Of of) {
  return {of, step};
}

// 2^log_many transforms of 2^log numbers, RADIX a thread. finish(v, which, lane) changes results before they are stored.
// memory: pitch_of() numbers for each.
template <bool LOAD_ALONG, bool STORE_ALONG, ak::Cache STORE, class From, class To, class Finish>
__device__ __forceinline__ void transform_block(Complex* memory, int log, int log_many, From from, To to, Finish finish) {
  const int n = 1 << log, lanes = n / RADIX, pitch = pitch_of<STORE_ALONG>(n, log_many);
  const int log_first = (log - 1) % LOG_RADIX + 1, steps = (log - log_first) / LOG_RADIX;
  const Place<LOAD_ALONG> first(log - LOG_RADIX, log_many);
  const Place<STORE_ALONG> other(log - LOG_RADIX, log_many);
  Complex v[RADIX];
  const float* source = from.of(first.which);
  if (source != nullptr) {
    source += 2ll * first.lane * from.step;
    const int hop = 2 * lanes * from.step;
#pragma unroll
    for (int i = 0; i < RADIX; ++i) v[i] = read<HINT>(source + i * hop);
  } else {
#pragma unroll
    for (int i = 0; i < RADIX; ++i) v[i] = make_float2(0.0f, 0.0f);
  }
  Complex* const own = memory + first.which * pitch;
  if (log_first == 1) first_step<2>(v, own, first.lane, lanes, steps == 0);
  if (log_first == 2) first_step<4>(v, own, first.lane, lanes, steps == 0);
  if (log_first == 3) first_step<8>(v, own, first.lane, lanes, steps == 0);
  if (LOG_RADIX == 4 && log_first == 4) first_step<RADIX>(v, own, first.lane, lanes, steps == 0);

  Complex* const mine = memory + other.which * pitch;
  int done = 1 << log_first;  // length of the transforms so far
  for (int step = 0; step < steps; ++step) {
    __syncthreads();
    for_numbers(mine, other.lane, lanes, [&](int i, const Complex& number) { v[i] = number; });
    const int within = other.lane & (done - 1);
    multiply_by_powers(v, within, done * RADIX);
    transform<RADIX, 1>(v);
    if (step + 1 < steps) {
      __syncthreads();
      for_numbers(mine, (other.lane - within) * RADIX + within, done, [&](int i, Complex& number) { number = v[i]; });
    }
    done *= RADIX;
  }
  finish(v, other.which, other.lane);
  float* target = to.of(other.which);
  if (target == nullptr) return;
  target += 2ll * other.lane * to.step;
  const int hop = 2 * lanes * to.step;
#pragma unroll
  for (int i = 0; i < RADIX; ++i) write<STORE>(target + i * hop, v[i]);
}

// ---- launches

// Divides by the length of the transform, 2^log.
__device__ __forceinline__ void divide(Complex (&v)[RADIX], int log) {
  if constexpr (DIVIDED) {
    const float scale = __int_as_float((127 - log) << 23);
#pragma unroll
    for (int i = 0; i < RADIX; ++i) v[i] = scaled(v[i], scale);
  }
}

// Transforms of fewer than RADIX numbers, one a thread.
__global__ void __launch_bounds__(128) transform_few(const float* x, float* y, long long batch, int log) {
  const long long which = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
  if (which >= batch) return;
  const auto of = [&](auto length) {
    constexpr int kLength = decltype(length)::value;
    Complex v[RADIX];
#pragma unroll
    for (int i = 0; i < kLength; ++i) v[i] = read<ak::Cache::plain>(x + 2 * (which * kLength + i));
    transform<kLength, 1>(v);
#pragma unroll
    for (int i = kLength; i < RADIX; ++i) v[i] = make_float2(0.0f, 0.0f);
    divide(v, log);
#pragma unroll
    for (int i = 0; i < kLength; ++i) write<ak::Cache::plain>(y + 2 * (which * kLength + i), v[i]);
  };
  if (log == 1) of(Number<2>());
  if (log == 2) of(Number<4>());
  if (LOG_RADIX == 4 && log == 3) of(Number<8>());
}

// 2^log_many transforms a block.
__global__ void __launch_bounds__(MOST, BLOCKS_PER_SM)
    transform_whole(const float* x, float* y, long long batch, int log, int log_many) {
  extern __shared__ __align__(16) Complex memory[];
  const long long first = static_cast<long long>(blockIdx.x) << log_many;
  transform_block<true, true, HINT>(
      memory, log, log_many,
      numbers(1, [&](int which) { return first + which < batch ? x + ((first + which) << (log + 1)) : nullptr; }),
      numbers(1, [&](int which) { return first + which < batch ? y + ((first + which) << (log + 1)) : nullptr; }),
      [&](Complex(&v)[RADIX], int, int) { divide(v, log); });
}

// Columns of 2^log1 numbers, 2^log_many a block, of matrices with 2^log2 of them. What they leave is read again soon.
__global__ void __launch_bounds__(LONG)
    transform_columns(const float* x, float* between, int log1, int log2, int log_many) {
  extern __shared__ __align__(16) Complex memory[];
  const int log_blocks = log2 - log_many, block = static_cast<int>(blockIdx.x);
  const int column = (block & ((1 << log_blocks) - 1)) << log_many;
  const long long start = (static_cast<long long>(block >> log_blocks) << (log1 + log2)) + column;
  transform_block<false, false, ak::Cache::plain>(
      memory, log1, log_many, numbers(1 << log2, [&](int which) { return x + 2 * (start + which); }),
      numbers(1 << log2, [&](int which) { return between + 2 * (start + which); }),
      [&](Complex(&v)[RADIX], int which, int lane) {
        // Result i of the thread is number lane + i 2^log1 / RADIX of the column.
        multiply_by_powers(v, column + which, RADIX << log2);
        const Complex all = root((column + which) * lane, 1 << (log1 + log2));
#pragma unroll
        for (int i = 0; i < RADIX; ++i) v[i] = multiply(v[i], all);
      });
}

// Rows of 2^log2 numbers, 2^log_many a block, of matrices with 2^log1 of them; results transposed.
__global__ void __launch_bounds__(LONG)
    transform_rows(const float* between, float* y, int log1, int log2, int log_many) {
  extern __shared__ __align__(16) Complex memory[];
  const int log_blocks = log1 - log_many, block = static_cast<int>(blockIdx.x);
  const int row = (block & ((1 << log_blocks) - 1)) << log_many;
  const long long start = static_cast<long long>(block >> log_blocks) << (log1 + log2);
  transform_block<true, false, HINT>(
      memory, log2, log_many,
      numbers(1, [&](int which) { return between + 2 * (start + (static_cast<long long>(row + which) << log2)); }),
      numbers(1 << log1, [&](int which) { return y + 2 * (start + row + which); }),
      [&](Complex(&v)[RADIX], int, int) { divide(v, log1 + log2); });
}
