// SPDX-License-Identifier: Apache-2.0
//
// What inputs are drawn from: element i of a tensor from its key, its draw and i alone. One text for the host
// (core/plan/random_input.cpp), for the harness's kernels and for emitted tests, so that all draw the same bits. Integer
// arithmetic up to a few float operations, each of which rounds on its own.
#pragma once

#ifdef __CUDACC__
#define AK_DRAW __host__ __device__ static inline
#else
#define AK_DRAW static inline
#endif

namespace ak_random {

using u32 = unsigned int;
using u64 = unsigned long long;

// Names and meanings: core/plan/input_kind.cpp. Stored by name; the order is that of kInputKinds.
enum class Kind : int {
  normal,
  uniform,
  small_integer,
  zero_one,
  outliers,
  ramp,
  peaked,
  cauchy,
  rising,
  spiked,
  late_spike,
  row_scales,
  ascending,
  constant,
  choices,
  integers,
  lengths,
  permutation,
  offsets,
  even_offsets,
  skewed_offsets,
  single_offsets,
  row_pointers,
  row_columns,
  even_row_columns,
  prefixes,
  given  // not drawn here: by a problem's own generator
};

constexpr int kMaxChoices = 8;

// How one tensor of one workload is drawn.
struct Draw {
  Kind kind;
  float scale, shift;           // of floating kinds: value * scale + shift
  int choice_count;             // of `choices`; 1 of `constant` and `prefixes`
  double choices[kMaxChoices];
  long long low, high;          // of integers, both included; of `prefixes` how many of how many
  long long count;              // elements of the tensor
  long long row;                // values of its last axis, two an element where they are packed; of `permutation`: how
                                // many are distinct
  long long bound;              // of `row_pointers`: the most in a row; of `row_columns`: rows
};

// A tensor's stream.
struct Key {
  u32 x, y;
};

enum Stream : u32 { kValue, kSelection, kRow };

struct Words {
  u32 w[4];
};

// The compiler may not contract these into a fused multiply-add.
#ifdef __CUDA_ARCH__
AK_DRAW float multiply(float a, float b) { return __fmul_rn(a, b); }
AK_DRAW float add(float a, float b) { return __fadd_rn(a, b); }
AK_DRAW float divide(float a, float b) { return __fdiv_rn(a, b); }
#else
AK_DRAW float multiply(float a, float b) { return a * b; }
AK_DRAW float add(float a, float b) { return a + b; }
AK_DRAW float divide(float a, float b) { return a / b; }
#endif

// Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11), counter {index, stream, 0}.
AK_DRAW Words draw(Key key, u64 index, u32 stream) {
  u32 c0 = static_cast<u32>(index), c1 = static_cast<u32>(index >> 32), c2 = stream, c3 = 0;
  u32 k0 = key.x, k1 = key.y;
  for (int round = 0; round < 10; ++round) {
    const u64 product0 = static_cast<u64>(0xD2511F53u) * c0;
    const u64 product1 = static_cast<u64>(0xCD9E8D57u) * c2;
    c0 = static_cast<u32>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<u32>(product1);
    c2 = static_cast<u32>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<u32>(product0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Key of a tensor: its name (FNV-1a) mixed with all 64 bits of the seed.
AK_DRAW Key tensor_key(u64 seed, const char* name, u64 length) {
  u64 hash = 0xCBF29CE484222325ull;
  for (u64 i = 0; i < length; ++i) hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001B3ull;
  const Words mixed = draw(Key{static_cast<u32>(seed), static_cast<u32>(seed >> 32)}, hash, 0);
  return {mixed.w[0], mixed.w[1]};
}

// ---- real kinds ---------------------------------------------------------------------------------------------------

// Sum of the eight 16-bit halves (Irwin-Hall), centred; divided by its standard deviation 65536 * sqrt(8 / 12). Exact up
// to the one multiplication; reaches 4.9 standard deviations.
AK_DRAW float standard_normal(const Words& words) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<int>((words.w[i] & 0xFFFFu) + (words.w[i] >> 16));
  return multiply(static_cast<float>(sum - 4 * 65535), 1.8688124e-05f);
}

// Uniform in [0, bound).
AK_DRAW u32 below(u32 word, u32 bound) { return static_cast<u32>(static_cast<u64>(word) * bound >> 32); }

// The quotient of two normals, cut off at 4096 so that half precision holds it.
AK_DRAW float cauchy(Key key, u64 index) {
  const float below_line = standard_normal(draw(key, index, kSelection));
  const float value = divide(standard_normal(draw(key, index, kValue)), below_line == 0 ? 1.8688124e-05f : below_line);
  return value > 4096.0f ? 4096.0f : value < -4096.0f ? -4096.0f : value;
}

// Rises by 512 from one end of a row to the other, in steps of 0.5: exponentials relative to any earlier part overflow.
AK_DRAW float rise(u64 column, u64 row) {
  return multiply(static_cast<float>(static_cast<long long>(column * 1024 / row)), 0.5f);
}

// 256 at one column of every row, a random one or the last: no part of a row but the one that holds it knows of it.
AK_DRAW float spike(Key key, u64 column, u64 line, u64 row, bool late) {
  const Words words = draw(key, line, kRow);
  const u64 chosen = late ? row - 1 : (static_cast<u64>(words.w[0]) << 32 | words.w[1]) % row;
  return column == chosen ? 256.0f : 0.0f;
}

// 2^-8 to 2^8, one a row.
AK_DRAW float row_scale(Key key, u64 line) {
  const int exponent = static_cast<int>(below(draw(key, line, kRow).w[0], 17)) - 8;
  return exponent < 0 ? divide(1.0f, static_cast<float>(1 << -exponent)) : static_cast<float>(1 << exponent);
}

AK_DRAW float unscaled(Key key, u64 index, const Draw& of) {
  const Words words = draw(key, index, kValue);
  const u64 row = static_cast<u64>(of.row), column = index % row, line = index / row;
  switch (of.kind) {
    case Kind::uniform:
      return multiply(static_cast<float>(static_cast<int>(words.w[0] >> 8) - (1 << 23)), 0x1p-23f);
    case Kind::small_integer:
      return static_cast<float>(static_cast<int>(below(words.w[0], 7)) - 3);
    case Kind::outliers:
      return multiply(standard_normal(words), (draw(key, index, kSelection).w[0] & 1023u) == 0 ? 100.0f : 1.0f);
    case Kind::ramp:
      return multiply(static_cast<float>(static_cast<int>(index & 1023u) - 512), 0x1p-10f);
    case Kind::peaked:
      return add(standard_normal(words), (draw(key, index, kSelection).w[0] & 255u) == 0 ? 20.0f : 0.0f);
    case Kind::cauchy:
      return cauchy(key, index);
    case Kind::rising:
      return add(standard_normal(words), rise(column, row));
    case Kind::spiked:
    case Kind::late_spike:
      return add(standard_normal(words), spike(key, column, line, row, of.kind == Kind::late_spike));
    case Kind::row_scales:
      return multiply(standard_normal(words), row_scale(key, line));
    case Kind::ascending:
      return divide(static_cast<float>(index), static_cast<float>(of.count));
    default:
      return standard_normal(words);
  }
}

// ---- integer kinds ------------------------------------------------------------------------------------------------

// low to high, both included. A range of more than 2^32 values takes the remainder of 64 bits: its share of low values is
// too large by less than the range over 2^64.
AK_DRAW long long in_range(const Words& words, long long low, long long high) {
  const u64 span = static_cast<u64>(high) - static_cast<u64>(low) + 1;  // 0: all 64 bits
  u64 chosen = 0;
  if (span != 0 && span <= 0x100000000ull) {
    chosen = static_cast<u64>(words.w[0]) * span >> 32;
  } else {
    chosen = static_cast<u64>(words.w[0]) << 32 | words.w[1];
    if (span != 0) chosen %= span;
  }
  return static_cast<long long>(static_cast<u64>(low) + chosen);
}

// The longest, the shortest, then any; one in four of the others is one of the extremes.
AK_DRAW long long length(Key key, u64 index, long long low, long long high) {
  if (index < 2) return index == 0 ? high : low;
  const u32 word = draw(key, index, kSelection).w[0];
  if ((word & 3u) == 0) return (word & 4u) == 0 ? high : low;
  return in_range(draw(key, index, kValue), low, high);
}

// A permutation of [0, span): four Feistel rounds over the next even number of bits, again until the result is inside.
AK_DRAW u64 permuted(const Words& keys, u64 value, u64 span) {
  u32 half = 1;
  while (half < 32 && (span - 1) >> (2 * half) != 0) ++half;
  const u64 mask = (1ull << half) - 1;
  do {
    u64 left = value >> half, right = value & mask;
    for (int round = 0; round < 4; ++round) {
      u64 mixed = (right + keys.w[round]) * 0x9E3779B97F4A7C15ull;
      mixed ^= mixed >> 29;
      mixed *= 0xBF58476D1CE4E5B9ull;
      const u64 next = left ^ ((mixed >> 32) & mask);
      left = right;
      right = next;
    }
    value = left << half | right;
  } while (value >= span);
  return value;
}

// Every `row` elements are distinct as far as the range has as many values; every row has its own order.
AK_DRAW long long distinct(Key key, u64 index, const Draw& of) {
  const u64 span = static_cast<u64>(of.high) - static_cast<u64>(of.low) + 1, row = static_cast<u64>(of.row);
  return of.low + static_cast<long long>(permuted(draw(key, index / row, kSelection), index % row % span, span));
}

// From low to high, never falling: where parts of unequal size begin and the last one ends.
AK_DRAW long long offset(Key key, u64 index, const Draw& of) {
  const u64 last = static_cast<u64>(of.row) - 1, at = index % static_cast<u64>(of.row);
  if (at == 0) return of.low;
  if (at == last) return of.high;
  const u64 total = static_cast<u64>(of.high) - static_cast<u64>(of.low);
  const u64 part = total / last, rest = total % last;  // exact: at * total may not fit
  const u64 begin = at * part + at * rest / last, end = (at + 1) * part + (at + 1) * rest / last;
  return of.low + static_cast<long long>(begin + static_cast<u64>(in_range(draw(key, index, kValue), 0,
                                                                           static_cast<long long>(end - begin))));
}

// Where part `at` of `parts` equal ones begins; exact, although at * total may not fit.
AK_DRAW u64 even_share(u64 at, u64 parts, u64 total) { return at * (total / parts) + at * (total % parts) / parts; }

// The same of parts that grow with the square of their number: of 8 the last has a third.
AK_DRAW u64 growing_share(u64 at, u64 parts, u64 total) {
  return even_share(at, parts, even_share(at, parts, even_share(at, parts, total)));
}

// From low to high in parts that are equal, that grow from a random one on, or of which a random one has everything.
AK_DRAW long long shared_offset(Key key, u64 index, const Draw& of) {
  const u64 parts = static_cast<u64>(of.row) - 1, at = index % static_cast<u64>(of.row);
  const u64 total = static_cast<u64>(of.high) - static_cast<u64>(of.low);
  if (at == 0) return of.low;
  if (of.kind == Kind::even_offsets) return of.low + static_cast<long long>(even_share(at, parts, total));
  const u64 first = below(draw(key, index / static_cast<u64>(of.row), kRow).w[0], static_cast<u32>(parts));
  if (of.kind == Kind::single_offsets) return at > first ? of.high : of.low;
  const u64 before = growing_share(first, parts, total), to = first + at;
  const u64 begin = to <= parts ? growing_share(to, parts, total) - before
                                : total - before + growing_share(to - parts, parts, total);
  return of.low + static_cast<long long>(begin);
}

// Where a row of a sparse matrix begins among `total` entries, of which a row has at most `width`. Eight rows at a time
// share evenly; among them a row takes any number that leaves the others enough and not too many. There is no key: the
// pointers follow from the sizes, so that column indices, which are another tensor, can be drawn for them.
AK_DRAW u64 row_pointer(u64 row, u64 rows, u64 total, u64 width) {
  const u64 first = row / 8 * 8, after = first + 8 < rows ? first + 8 : rows;
  u64 pointer = even_share(first, rows, total), left = even_share(after, rows, total) - pointer;
  for (u64 at = first; at < row; ++at) {
    const u64 others = (after - at - 1) * width, least = left > others ? left - others : 0;
    const Words words = draw(Key{static_cast<u32>(total), static_cast<u32>(rows)}, at, kRow);
    const u64 taken = static_cast<u64>(in_range(words, static_cast<long long>(least),
                                                static_cast<long long>(left < width ? left : width)));
    pointer += taken;
    left -= taken;
  }
  return pointer;
}

// The column of entry `index`: rising within a row, one at random out of each of as many equal parts of the width.
AK_DRAW long long row_column(Key key, u64 index, const Draw& of) {
  const u64 rows = static_cast<u64>(of.bound), total = static_cast<u64>(of.row);
  const u64 width = static_cast<u64>(of.high) - static_cast<u64>(of.low) + 1;
  const bool even = of.kind == Kind::even_row_columns;
  const u64 entry = index % total;
  u64 row = 0, beyond = rows;  // the last row that begins at or before the entry lies in [row, beyond)
  while (beyond - row > 1) {
    const u64 middle = row + (beyond - row) / 2;
    const u64 begin = even ? even_share(middle, rows, total) : row_pointer(middle, rows, total, width);
    (begin <= entry ? row : beyond) = middle;
  }
  const u64 begin = even ? even_share(row, rows, total) : row_pointer(row, rows, total, width);
  const u64 end = even ? even_share(row + 1, rows, total) : row_pointer(row + 1, rows, total, width);
  const u64 low = even_share(entry - begin, end - begin, width), high = even_share(entry - begin + 1, end - begin, width);
  return of.low + in_range(draw(key, index, kValue), static_cast<long long>(low), static_cast<long long>(high) - 1);
}

// One of the listed numbers.
AK_DRAW double chosen(Key key, u64 index, const Draw& of) {
  return of.choices[below(draw(key, index, kValue).w[0], static_cast<u32>(of.choice_count))];
}

// Whether an element is among the first `low` of `high`: of the others nothing is drawn.
AK_DRAW bool in_prefix(u64 index, const Draw& of) {
  return index % static_cast<u64>(of.high) < static_cast<u64>(of.low);
}

AK_DRAW long long integer_element(Key key, u64 index, const Draw& of) {
  switch (of.kind) {
    case Kind::prefixes:
      return in_prefix(index, of) ? static_cast<long long>(index) : static_cast<long long>(of.choices[0]);
    case Kind::lengths:
      return length(key, index, of.low, of.high);
    case Kind::permutation:
      return distinct(key, index, of);
    case Kind::offsets:
      return offset(key, index, of);
    case Kind::even_offsets:
    case Kind::skewed_offsets:
    case Kind::single_offsets:
      return shared_offset(key, index, of);
    case Kind::row_pointers: {
      const u64 rows = static_cast<u64>(of.row) - 1, row = index % static_cast<u64>(of.row);
      if (rows == 0) return of.low;
      const u64 total = static_cast<u64>(of.high) - static_cast<u64>(of.low);
      return of.low + static_cast<long long>(row_pointer(row, rows, total, static_cast<u64>(of.bound)));
    }
    case Kind::row_columns:
    case Kind::even_row_columns:
      return row_column(key, index, of);
    case Kind::ascending: {
      const u64 span = static_cast<u64>(of.high) - static_cast<u64>(of.low) + 1;
      return static_cast<long long>(static_cast<u64>(of.low) + (span == 0 ? index : index % span));
    }
    case Kind::constant:
    case Kind::choices:
      return static_cast<long long>(chosen(key, index, of));
    default:
      return in_range(draw(key, index, kValue), of.low, of.high);
  }
}

// Byte `index` of a packed tensor: two values of four bits, the first in the low ones.
AK_DRAW unsigned char packed_element(Key key, u64 index, const Draw& of) {
  const long long low = integer_element(key, 2 * index, of), high = integer_element(key, 2 * index + 1, of);
  return static_cast<unsigned char>((low & 15) | (high & 15) << 4);
}

// A listed number as float. NaN keeps its sign, which a GPU's conversions drop.
AK_DRAW float narrowed(double number) {
#ifdef __CUDA_ARCH__
  if (number != number) return __int_as_float(__double2hiint(number) < 0 ? static_cast<int>(0xFFC00000u) : 0x7FC00000);
#endif
  return static_cast<float>(number);
}

AK_DRAW float real_element(Key key, u64 index, const Draw& of) {
  if (of.kind == Kind::prefixes && !in_prefix(index, of)) return narrowed(of.choices[0]);
  switch (of.kind) {
    case Kind::zero_one:
      return static_cast<float>(draw(key, index, kValue).w[0] >> 31);
    case Kind::constant:
    case Kind::choices:
      return narrowed(chosen(key, index, of));
    case Kind::integers:
    case Kind::lengths:
    case Kind::permutation:
    case Kind::offsets:
    case Kind::even_offsets:
    case Kind::skewed_offsets:
    case Kind::single_offsets:
    case Kind::row_pointers:
    case Kind::row_columns:
    case Kind::even_row_columns:
      return static_cast<float>(integer_element(key, index, of));
    default:
      return add(multiply(unscaled(key, index, of), of.scale), of.shift);
  }
}

}  // namespace ak_random
