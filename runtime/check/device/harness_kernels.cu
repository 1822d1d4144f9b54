// SPDX-License-Identifier: Apache-2.0
//
// The harness's own kernels: filling inputs, comparing results, guard bands, hashes, flushing L2. Compiled at run time
// for the target like any candidate; runtime/check/harness_kernels.h is the host's side.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "random_input.cuh"

using u64 = unsigned long long;

constexpr int kThreads = 256;  // kHarnessThreads of runtime/check/harness_kernels.cpp

__device__ u64 first_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 index_stride() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// ---- inputs -------------------------------------------------------------------------------------------------------

template <class T>
__device__ void fill(T* out, u64 count, uint2 key, int kind, float scale, float shift) {
  for (u64 i = first_index(); i < count; i += index_stride()) out[i] = random_element<T>(key, i, kind, scale, shift);
}

// ---- comparison ---------------------------------------------------------------------------------------------------

// One block's share of a comparison; the host adds the blocks up in order, so results are reproducible.
// Same layout as BlockComparison of runtime/check/harness_kernels.h.
struct BlockComparison {
  double max_error, sum_error;
  u64 worst, wrong, nonfinite, first_nonfinite, unwritten, first_unwritten;
};

template <class T> __device__ double wide(T x) { return static_cast<double>(static_cast<float>(x)); }
__device__ double wide(double x) { return x; }
__device__ double wide(long long x) { return static_cast<double>(x); }
__device__ double wide(int x) { return static_cast<double>(x); }

enum class Kind { finite, nan, positive_infinity, negative_infinity };
__device__ Kind kind_of(double x) {
  if (x != x) return Kind::nan;
  if (x - x == 0) return Kind::finite;
  return x > 0 ? Kind::positive_infinity : Kind::negative_infinity;
}

template <class T>
__device__ bool is_poison(T x, unsigned char poison) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&x);
  for (unsigned int i = 0; i < sizeof(T); ++i) {
    if (bytes[i] != poison) return false;
  }
  return true;
}

// |got - expected| / (|expected| + rms of the expected tensor); 0 where both are equal.
__device__ double relative_error(double got, double expected, double rms) {
  const double difference = fabs(got - expected);
  return difference == 0 ? 0 : difference / (fabs(expected) + rms);
}

template <class T>
__device__ void note_floating(BlockComparison& own, u64 i, T got_value, double expected, T twin_value, double rms,
                              double tolerance) {
  const double got = wide(got_value);
  const Kind kind = kind_of(wide(twin_value));
  if (kind_of(got) != kind) {
    if (own.nonfinite++ == 0) own.first_nonfinite = i;
    ++own.wrong;
    return;
  }
  if (kind != Kind::finite) return;
  const double error = relative_error(got, expected, rms);
  own.sum_error += error;
  if (!(error <= tolerance)) ++own.wrong;
  if (!(error <= own.max_error) || own.worst == ~0ull) own.max_error = error, own.worst = i;
}

template <class T>
__device__ void note_integer(BlockComparison& own, u64 i, T got, long long expected, double rms) {
  const bool equal = static_cast<long long>(got) == expected;
  double error = relative_error(static_cast<double>(got), static_cast<double>(expected), rms);
  if (!equal && error == 0) error = 1e-300;  // beyond what a double tells apart
  own.sum_error += error;
  own.wrong += !equal;
  if (error > own.max_error || own.worst == ~0ull) own.max_error = error, own.worst = i;
}

__device__ void merge(BlockComparison& into, const BlockComparison& from) {
  const bool larger = !(from.max_error <= into.max_error) || (from.max_error == into.max_error && from.worst < into.worst);
  if (from.worst != ~0ull && (into.worst == ~0ull || larger)) into.max_error = from.max_error, into.worst = from.worst;
  into.sum_error += from.sum_error;
  into.wrong += from.wrong;
  into.nonfinite += from.nonfinite;
  into.unwritten += from.unwritten;
  if (from.first_nonfinite < into.first_nonfinite) into.first_nonfinite = from.first_nonfinite;
  if (from.first_unwritten < into.first_unwritten) into.first_unwritten = from.first_unwritten;
}

__device__ void store_block(BlockComparison own, BlockComparison* out) {
  __shared__ BlockComparison parts[kThreads];
  parts[threadIdx.x] = own;
  __syncthreads();
  for (unsigned int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) merge(parts[threadIdx.x], parts[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

__device__ BlockComparison nothing_yet() { return {0, 0, ~0ull, 0, 0, ~0ull, 0, ~0ull}; }

template <class T>
__device__ void note_unwritten(BlockComparison& own, u64 i, T value, unsigned char poison) {
  if (!is_poison(value, poison)) return;
  if (own.unwritten++ == 0) own.first_unwritten = i;
}

template <class T>
__device__ void compare_floating(const T* got, const double* expected, const T* twin, u64 count, double rms,
                                 double tolerance, unsigned char poison, BlockComparison* out) {
  BlockComparison own = nothing_yet();
  for (u64 i = first_index(); i < count; i += index_stride()) {
    note_unwritten(own, i, got[i], poison);
    note_floating(own, i, got[i], expected[i], twin[i], rms, tolerance);
  }
  store_block(own, out);
}

template <class T>
__device__ void compare_integer(const T* got, const long long* expected, u64 count, double rms, unsigned char poison,
                                BlockComparison* out) {
  BlockComparison own = nothing_yet();
  for (u64 i = first_index(); i < count; i += index_stride()) {
    note_unwritten(own, i, got[i], poison);
    note_integer(own, i, got[i], expected[i], rms);
  }
  store_block(own, out);
}

// Per block: sum of squares of the finite elements, how many they are, and how many are not finite.
template <class T>
__device__ void sum_squares(const T* values, u64 count, double* out) {
  double sums[2] = {};
  for (u64 i = first_index(); i < count; i += index_stride()) {
    const double x = wide(values[i]);
    if (kind_of(x) == Kind::finite) sums[0] += x * x, sums[1] += 1;
  }
  __shared__ double parts[2][kThreads];
  for (int k = 0; k < 2; ++k) parts[k][threadIdx.x] = sums[k];
  __syncthreads();
  for (unsigned int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      for (int k = 0; k < 2; ++k) parts[k][threadIdx.x] += parts[k][threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x < 2) out[2 * blockIdx.x + threadIdx.x] = parts[threadIdx.x][0];
}

extern "C" __global__ void sum_squares_double(const double* values, u64 count, double* out) { sum_squares(values, count, out); }
extern "C" __global__ void sum_squares_integer(const long long* values, u64 count, double* out) { sum_squares(values, count, out); }

#define AK_FILL(NAME, T)                                                                                         \
  extern "C" __global__ void fill_##NAME(T* out, u64 count, uint2 key, int kind, float scale, float shift) {     \
    fill<T>(out, count, key, kind, scale, shift);                                                                \
  }
#define AK_FLOATING(NAME, T)                                                                                     \
  AK_FILL(NAME, T)                                                                                               \
  extern "C" __global__ void compare_##NAME(const T* got, const double* expected, const T* twin, u64 count,      \
                                            double rms, double tolerance, unsigned char poison,                  \
                                            BlockComparison* out) {                                              \
    compare_floating<T>(got, expected, twin, count, rms, tolerance, poison, out);                                \
  }
// A boolean is compared as its byte: anything but 0 and 1 is wrong.
#define AK_INTEGER(NAME, T, STORED)                                                                              \
  AK_FILL(NAME, T)                                                                                               \
  extern "C" __global__ void compare_##NAME(const STORED* got, const long long* expected, const STORED* twin,    \
                                            u64 count, double rms, double tolerance, unsigned char poison,       \
                                            BlockComparison* out) {                                              \
    compare_integer<STORED>(got, expected, count, rms, poison, out);                                             \
  }
// Only the dtypes a problem has are compiled (harness_source): all of them take seconds.
#ifdef AK_USE_float64
AK_FLOATING(float64, double)
#endif
#ifdef AK_USE_float32
AK_FLOATING(float32, float)
#endif
#ifdef AK_USE_float16
AK_FLOATING(float16, __half)
#endif
#ifdef AK_USE_bfloat16
AK_FLOATING(bfloat16, __nv_bfloat16)
#endif
#ifdef AK_USE_float8_e4m3fn
AK_FLOATING(float8_e4m3fn, __nv_fp8_e4m3)
#endif
#ifdef AK_USE_float8_e5m2
AK_FLOATING(float8_e5m2, __nv_fp8_e5m2)
#endif
#ifdef AK_USE_int64
AK_INTEGER(int64, long long, long long)
#endif
#ifdef AK_USE_int32
AK_INTEGER(int32, int, int)
#endif
#ifdef AK_USE_int16
AK_INTEGER(int16, short, short)
#endif
#ifdef AK_USE_int8
AK_INTEGER(int8, signed char, signed char)
#endif
#ifdef AK_USE_bool
AK_INTEGER(bool, bool, unsigned char)
#endif

// ---- bytes --------------------------------------------------------------------------------------------------------

// *first = lowest index of a byte that is not `expected`; *first holds ~0 before.
extern "C" __global__ void scan_bytes(const unsigned char* bytes, u64 count, unsigned char expected, u64* first) {
  for (u64 i = first_index(); i < count; i += index_stride()) {
    if (bytes[i] != expected) {
      atomicMin(first, i);
      return;
    }
  }
}

// The bytes [8 i, 8 i + 8) of a buffer of `count` bytes that starts at a multiple of 8; missing ones are 0.
__device__ u64 word_at(const unsigned char* bytes, u64 count, u64 i) {
  if (8 * i + 8 <= count) return reinterpret_cast<const u64*>(bytes)[i];
  u64 word = 0;
  for (u64 k = 8 * i; k < count; ++k) word |= static_cast<u64>(bytes[k]) << (8 * (k - 8 * i));
  return word;
}

// *first = lowest index of an 8-byte word in which the buffers differ; *first holds ~0 before.
extern "C" __global__ void first_difference(const unsigned char* a, const unsigned char* b, u64 count, u64* first) {
  for (u64 i = first_index(); 8 * i < count; i += index_stride()) {
    if (word_at(a, count, i) != word_at(b, count, i)) {
      atomicMin(first, i);
      return;
    }
  }
}

// Finaliser of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
__device__ u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// *sum += a position-dependent hash of every word: independent of the order in which threads add.
extern "C" __global__ void hash_bytes(const unsigned char* bytes, u64 count, u64* sum) {
  u64 own = 0;
  for (u64 i = first_index(); 8 * i < count; i += index_stride()) {
    own += mix(word_at(bytes, count, i) ^ mix((i + 1) * 0x9e3779b97f4a7c15ull));
  }
  for (int offset = 16; offset > 0; offset /= 2) own += __shfl_down_sync(0xffffffffu, own, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}

// ---- timing -------------------------------------------------------------------------------------------------------

extern "C" __global__ void flush_write(uint4* words, u64 count, unsigned int value) {
  for (u64 i = first_index(); i < count; i += index_stride()) words[i] = make_uint4(value, value, value, value);
}

// Ends a flush with reads, so that what is left in L2 is clean and the timed kernel pays for no write-back but its own.
extern "C" __global__ void flush_read(const uint4* words, u64 count, unsigned int* sink) {
  unsigned int sum = 0;
  for (u64 i = first_index(); i < count; i += index_stride()) sum ^= words[i].x ^ words[i].w;
  if (sum == 0x12345678u) *sink = sum;  // keeps the loads alive
}

// Keeps the stream busy while the host enqueues what follows.
extern "C" __global__ void spin(u64 duration_ns) {
  u64 start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < duration_ns);
}
