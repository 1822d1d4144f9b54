// SPDX-License-Identifier: Apache-2.0
//
// What is said of one element or word: whether it is right, how far off it is, what it adds to a sum or a hash. One text
// for the harness's kernels and for what the host computes on the CPU device (runtime/check/host_checks.cpp), which
// includes <cmath> and <cstring> before.
#pragma once

#ifdef __CUDACC__
#define AK_CHECK __device__ static inline
#else
#define AK_CHECK static inline
#endif

namespace ak_check {

using u64 = unsigned long long;

// One block's share of a comparison; the host adds the blocks up in order, so results are reproducible.
// Same layout as BlockComparison of runtime/check/harness_kernels.h.
struct BlockComparison {
  double max_error, sum_error, sum_square;
  u64 worst, wrong, far, unequal, nonfinite, first_nonfinite, unwritten, first_unwritten;
  u64 first_wrong, last_wrong, first_column, last_column;
};

// What errors are relative to. Same layout as ErrorScale of runtime/check/harness_kernels.h.
struct ErrorScale {
  double rms;             // of the expected tensor
  const double* row_rms;  // of each of its rows, where these have scales of their own; else null
  u64 row;                // elements of a row
};
// Same layout as ErrorLimits of runtime/check/harness_kernels.h.
struct ErrorLimits {
  double element, far;
};

template <class T>
AK_CHECK double wide(T x) { return static_cast<double>(static_cast<float>(x)); }
AK_CHECK double wide(double x) { return x; }
AK_CHECK double wide(long long x) { return static_cast<double>(x); }
AK_CHECK double wide(int x) { return static_cast<double>(x); }
AK_CHECK double wide(unsigned int x) { return static_cast<double>(x); }

enum class Kind { finite, nan, positive_infinity, negative_infinity };
AK_CHECK Kind kind_of(double x) {
  if (x != x) return Kind::nan;
  if (x - x == 0) return Kind::finite;
  return x > 0 ? Kind::positive_infinity : Kind::negative_infinity;
}

template <class T>
AK_CHECK bool is_poison(T x, unsigned char poison) {
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&x);
  for (unsigned int i = 0; i < sizeof(T); ++i) {
    if (bytes[i] != poison) return false;
  }
  return true;
}

AK_CHECK double scale_at(const ErrorScale& scale, u64 i) {
  return scale.row_rms == nullptr ? scale.rms : scale.row_rms[i / scale.row];
}

AK_CHECK void note_wrong(BlockComparison& own, u64 i, u64 row) {
  const u64 column = row == 0 ? 0 : i % row;
  if (own.wrong == 0 || i < own.first_wrong) own.first_wrong = i;
  if (own.wrong == 0 || i > own.last_wrong) own.last_wrong = i;
  if (own.wrong == 0 || column < own.first_column) own.first_column = column;
  if (own.wrong == 0 || column > own.last_column) own.last_column = column;
  ++own.wrong;
}

// |got - expected| / (|expected| + rms of what is expected); 0 where both are equal.
AK_CHECK double relative_error(double got, double expected, double rms) {
  const double difference = fabs(got - expected);
  return difference == 0 ? 0 : difference / (fabs(expected) + rms);
}

template <class T>
AK_CHECK void note_floating(BlockComparison& own, u64 i, T got_value, double expected, T twin_value, const ErrorScale& scale,
                              const ErrorLimits& limits) {
  const double got = wide(got_value);
  const Kind kind = kind_of(got);
  // Where sums overflow on the way, the twin has an infinity or a NaN that another right order of summation has not.
  if (kind != kind_of(wide(twin_value)) && kind != kind_of(wide(static_cast<T>(expected)))) {
    if (own.nonfinite++ == 0) own.first_nonfinite = i;
    note_wrong(own, i, scale.row);
    return;
  }
  if (kind != Kind::finite) return;
  own.unequal += got != wide(static_cast<T>(expected));
  const double error = relative_error(got, expected, scale_at(scale, i));
  own.sum_error += error;
  own.sum_square += error * error;
  if (!(error <= limits.element)) note_wrong(own, i, scale.row);
  own.far += !(error <= limits.far);
  const bool nan_before = own.max_error != own.max_error;  // the first one stays
  if (!nan_before && (!(error <= own.max_error) || own.worst == ~0ull)) own.max_error = error, own.worst = i;
}

template <class T>
AK_CHECK void note_integer(BlockComparison& own, u64 i, T got_value, long long expected, const ErrorScale& scale) {
  const long long got = static_cast<long long>(got_value);
  const bool equal = got == expected;
  double error = relative_error(static_cast<double>(got), static_cast<double>(expected), scale_at(scale, i));
  if (!equal && error == 0) error = 1e-300;  // beyond what a double tells apart
  own.sum_error += error;
  own.sum_square += error * error;
  if (!equal) note_wrong(own, i, scale.row);
  own.unequal += !equal;
  const u64 apart = got > expected ? static_cast<u64>(got) - static_cast<u64>(expected)
                                   : static_cast<u64>(expected) - static_cast<u64>(got);
  own.far += apart > 1;
  if (error > own.max_error || own.worst == ~0ull) own.max_error = error, own.worst = i;
}

AK_CHECK BlockComparison nothing_yet() { return {0, 0, 0, ~0ull, 0, 0, 0, 0, ~0ull, 0, ~0ull, ~0ull, 0, ~0ull, 0}; }

template <class T>
AK_CHECK void note_unwritten(BlockComparison& own, u64 i, T value, unsigned char poison) {
  if (!is_poison(value, poison)) return;
  if (own.unwritten++ == 0) own.first_unwritten = i;
}

AK_CHECK void note_square(double (&sums)[2], double x) {
  if (kind_of(x) == Kind::finite) sums[0] += x * x, sums[1] += 1;
}

// Half the distance between values next to x, of a type with that roundoff and without bounds to its exponents.
AK_CHECK double half_step(double x, double roundoff) {
  u64 bits;
  memcpy(&bits, &x, sizeof bits);
  bits &= 0x7ff0000000000000ull;
  memcpy(&x, &bits, sizeof x);
  return roundoff * x;
}

// The bytes [8 i, 8 i + 8) of a buffer of `count` bytes that starts at a multiple of 8; missing ones are 0.
AK_CHECK u64 word_at(const unsigned char* bytes, u64 count, u64 i) {
  if (8 * i + 8 <= count) return reinterpret_cast<const u64*>(bytes)[i];
  u64 word = 0;
  for (u64 k = 8 * i; k < count; ++k) word |= static_cast<u64>(bytes[k]) << (8 * (k - 8 * i));
  return word;
}

// Finaliser of splitmix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
AK_CHECK u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// What word i adds to the hash of its buffer.
AK_CHECK u64 word_hash(const unsigned char* bytes, u64 count, u64 i) {
  return mix(word_at(bytes, count, i) ^ mix((i + 1) * 0x9e3779b97f4a7c15ull));
}

}  // namespace ak_check
