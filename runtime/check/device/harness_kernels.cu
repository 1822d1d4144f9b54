// SPDX-License-Identifier: Apache-2.0
//
// The harness's own kernels: filling inputs, comparing results, guard bands, hashes, flushing L2. Compiled at run time
// for the target like any candidate; runtime/check/harness_kernels.h is the host's side.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "element_checks.cuh"
#include "random_input.cuh"

using namespace ak_check;

constexpr int kThreads = 256;  // kHarnessThreads of runtime/check/harness_kernels.cpp

__device__ u64 first_index() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ u64 index_stride() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// ---- inputs -------------------------------------------------------------------------------------------------------

template <class T>
__device__ void fill(T* out, ak_random::Key key, const ak_random::Draw& draw) {
  const u64 count = static_cast<u64>(draw.count);
  for (u64 i = first_index(); i < count; i += index_stride()) out[i] = random_element<T>(key, i, draw);
}

// ---- comparison ---------------------------------------------------------------------------------------------------

__device__ void merge(BlockComparison& into, const BlockComparison& from) {
  const bool into_nan = into.max_error != into.max_error, from_nan = from.max_error != from.max_error;
  const bool equal = from.max_error == into.max_error || (into_nan && from_nan);
  const bool larger = equal ? from.worst < into.worst : !into_nan && !(from.max_error <= into.max_error);
  if (from.worst != ~0ull && (into.worst == ~0ull || larger)) into.max_error = from.max_error, into.worst = from.worst;
  into.sum_error += from.sum_error;
  into.sum_square += from.sum_square;
  into.wrong += from.wrong;
  into.far += from.far;
  into.unequal += from.unequal;
  into.nonfinite += from.nonfinite;
  into.unwritten += from.unwritten;
  if (from.first_nonfinite < into.first_nonfinite) into.first_nonfinite = from.first_nonfinite;
  if (from.first_unwritten < into.first_unwritten) into.first_unwritten = from.first_unwritten;
  if (from.first_wrong < into.first_wrong) into.first_wrong = from.first_wrong;
  if (from.last_wrong > into.last_wrong) into.last_wrong = from.last_wrong;
  if (from.first_column < into.first_column) into.first_column = from.first_column;
  if (from.last_column > into.last_column) into.last_column = from.last_column;
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

template <class T>
__device__ void compare_floating(const T* got, const double* expected, const T* twin, u64 count, ErrorScale scale,
                                 ErrorLimits limits, unsigned char poison, BlockComparison* out) {
  BlockComparison own = nothing_yet();
  for (u64 i = first_index(); i < count; i += index_stride()) {
    note_unwritten(own, i, got[i], poison);
    note_floating(own, i, got[i], expected[i], twin[i], scale, limits);
  }
  store_block(own, out);
}

template <class T>
__device__ void compare_integer(const T* got, const long long* expected, u64 count, ErrorScale scale,
                                unsigned char poison, BlockComparison* out) {
  BlockComparison own = nothing_yet();
  for (u64 i = first_index(); i < count; i += index_stride()) {
    note_unwritten(own, i, got[i], poison);
    note_integer(own, i, got[i], expected[i], scale);
  }
  store_block(own, out);
}

// The sums of a block's threads, in parts[k][0].
template <int COUNT>
__device__ void add_up(double (&parts)[COUNT][kThreads], const double (&own)[COUNT]) {
  __syncthreads();
  for (int k = 0; k < COUNT; ++k) parts[k][threadIdx.x] = own[k];
  __syncthreads();
  for (unsigned int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      for (int k = 0; k < COUNT; ++k) parts[k][threadIdx.x] += parts[k][threadIdx.x + half];
    }
    __syncthreads();
  }
}

// Per block: sum of squares of the finite elements, and how many they are.
template <class T>
__device__ void sum_squares(const T* values, u64 count, double* out) {
  double sums[2] = {};
  for (u64 i = first_index(); i < count; i += index_stride()) note_square(sums, wide(values[i]));
  __shared__ double parts[2][kThreads];
  add_up(parts, sums);
  if (threadIdx.x < 2) out[2 * blockIdx.x + threadIdx.x] = parts[threadIdx.x][0];
}

extern "C" __global__ void sum_squares_double(const double* values, u64 count, double* out) { sum_squares(values, count, out); }
extern "C" __global__ void sum_squares_integer(const long long* values, u64 count, double* out) { sum_squares(values, count, out); }

// out[r] = root mean square of the finite elements of row r.
template <class T>
__device__ void row_rms(const T* values, u64 rows, u64 row, double* out) {
  __shared__ double parts[2][kThreads];
  for (u64 r = blockIdx.x; r < rows; r += gridDim.x) {
    double sums[2] = {};
    for (u64 i = threadIdx.x; i < row; i += kThreads) note_square(sums, wide(values[r * row + i]));
    add_up(parts, sums);
    if (threadIdx.x == 0) out[r] = parts[1][0] > 0 ? sqrt(parts[0][0] / parts[1][0]) : 0;
  }
}

extern "C" __global__ void row_rms_double(const double* values, u64 rows, u64 row, double* out) { row_rms(values, rows, row, out); }
extern "C" __global__ void row_rms_integer(const long long* values, u64 rows, u64 row, double* out) { row_rms(values, rows, row, out); }

// Per block: the largest rounding error of the finite elements, the sum of squares of the largest errors of each, and
// how many they are. Relative like other errors.
extern "C" __global__ void rounding_steps(const double* expected, u64 count, ErrorScale scale, double roundoff, double* out) {
  double largest = 0, sums[2] = {};
  for (u64 i = first_index(); i < count; i += index_stride()) {
    const double x = expected[i];
    if (kind_of(x) != Kind::finite) continue;
    const double error = relative_error(x + half_step(x, roundoff), x, scale_at(scale, i));
    largest = fmax(largest, error);
    note_square(sums, error);
  }
  __shared__ double parts[2][kThreads], maxima[kThreads];
  maxima[threadIdx.x] = largest;
  add_up(parts, sums);
  if (threadIdx.x != 0) return;
  for (int i = 1; i < kThreads; ++i) largest = fmax(largest, maxima[i]);
  out[3 * blockIdx.x] = largest;
  out[3 * blockIdx.x + 1] = parts[0][0];
  out[3 * blockIdx.x + 2] = parts[1][0];
}

// ---- results whose order is free, and indices --------------------------------------------------------------------------

// out[row r] = the values of row r in ascending order, NaN last.
extern "C" __global__ void sort_rows(const double* values, u64 rows, u64 row, double* out) {
  for (u64 i = first_index(); i < rows * row; i += index_stride()) {
    const u64 start = i / row * row;
    const double x = values[i];
    u64 rank = 0;
    for (u64 j = start; j < start + row; ++j) {
      const double y = values[j];
      const bool before = x != x ? y == y || j < i : y < x || (y == x && j < i);
      rank += before;
    }
    out[start + rank] = x;
  }
}

// `bytes` is negative for unsigned types.
__device__ long long index_at(const void* indices, int bytes, u64 i) {
  if (bytes == 8) return static_cast<const long long*>(indices)[i];
  if (bytes == -4) return static_cast<const unsigned int*>(indices)[i];
  if (bytes == -1) return static_cast<const unsigned char*>(indices)[i];
  if (bytes == 4) return static_cast<const int*>(indices)[i];
  return bytes == 2 ? static_cast<const short*>(indices)[i] : static_cast<const signed char*>(indices)[i];
}

// out[i] = what index i selects from the same row of `source`; NaN for an index that is out of range or that its row
// has already.
template <class T>
__device__ void gather(const void* indices, int index_bytes, u64 rows, u64 row, const T* source, u64 source_row,
                       double* out) {
  for (u64 i = first_index(); i < rows * row; i += index_stride()) {
    const u64 start = i / row * row;
    const long long index = index_at(indices, index_bytes, i);
    bool valid = index >= 0 && static_cast<u64>(index) < source_row;
    for (u64 j = start; valid && j < i; ++j) valid = index_at(indices, index_bytes, j) != index;
    out[i] = valid ? wide(source[i / row * source_row + index]) : __longlong_as_double(0x7ff8000000000000ll);
  }
}

template <class T>
__device__ void widen(const T* values, u64 count, double* out) {
  for (u64 i = first_index(); i < count; i += index_stride()) out[i] = wide(values[i]);
}

#define AK_FILL(NAME, T)                                                                                         \
  extern "C" __global__ void fill_##NAME(T* out, ak_random::Key key, ak_random::Draw draw) {                     \
    fill<T>(out, key, draw);                                                                                     \
  }
// Only where an output is judged by them (harness_source).
#ifdef AK_WITH_VIEWS
#define AK_VIEWS(NAME, STORED)                                                                                   \
  extern "C" __global__ void widen_##NAME(const STORED* values, u64 count, double* out) {                        \
    widen<STORED>(values, count, out);                                                                           \
  }                                                                                                              \
  extern "C" __global__ void gather_##NAME(const void* indices, int index_bytes, u64 rows, u64 row,              \
                                           const STORED* source, u64 source_row, double* out) {                  \
    gather<STORED>(indices, index_bytes, rows, row, source, source_row, out);                                    \
  }
#else
#define AK_VIEWS(NAME, STORED)
#endif
#define AK_FLOATING(NAME, T)                                                                                     \
  AK_FILL(NAME, T)                                                                                               \
  AK_VIEWS(NAME, T)                                                                                              \
  extern "C" __global__ void compare_##NAME(const T* got, const double* expected, const T* twin, u64 count,      \
                                            ErrorScale scale, ErrorLimits limits, unsigned char poison,          \
                                            BlockComparison* out) {                                              \
    compare_floating<T>(got, expected, twin, count, scale, limits, poison, out);                                 \
  }
// A boolean is compared as its byte: anything but 0 and 1 is wrong.
#define AK_INTEGER(NAME, T, STORED)                                                                              \
  AK_FILL(NAME, T)                                                                                               \
  AK_VIEWS(NAME, STORED)                                                                                         \
  extern "C" __global__ void compare_##NAME(const STORED* got, const long long* expected, const STORED* twin,    \
                                            u64 count, ErrorScale scale, ErrorLimits limits,                     \
                                            unsigned char poison, BlockComparison* out) {                        \
    compare_integer<STORED>(got, expected, count, scale, poison, out);                                           \
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
#ifdef AK_USE_uint32
AK_INTEGER(uint32, unsigned int, unsigned int)
#endif
#ifdef AK_USE_uint8
AK_INTEGER(uint8, unsigned char, unsigned char)
#endif
#ifdef AK_USE_bool
AK_INTEGER(bool, bool, unsigned char)
#endif
#ifdef AK_USE_int4x2
AK_INTEGER(int4x2, ak_random::PackedByte, unsigned char)
#endif
#ifdef AK_USE_uint4x2
AK_INTEGER(uint4x2, ak_random::PackedByte, unsigned char)
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

// *first = lowest index of an 8-byte word in which the buffers differ; *first holds ~0 before.
extern "C" __global__ void first_difference(const unsigned char* a, const unsigned char* b, u64 count, u64* first) {
  for (u64 i = first_index(); 8 * i < count; i += index_stride()) {
    if (word_at(a, count, i) != word_at(b, count, i)) {
      atomicMin(first, i);
      return;
    }
  }
}

// *sum += a position-dependent hash of every word: independent of the order in which threads add.
extern "C" __global__ void hash_bytes(const unsigned char* bytes, u64 count, u64* sum) {
  u64 own = 0;
  for (u64 i = first_index(); 8 * i < count; i += index_stride()) {
    own += word_hash(bytes, count, i);
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
