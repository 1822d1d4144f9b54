// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "emulator/parse/type.h"

namespace ak::emulator {

// Products of small dense matrices, row-major: a is m x k, b is k x n, c is m x n. m is a multiple of 4 and
// n of 8.
//
// How tensor cores add up is not defined: neither the order of the k products nor how much of a sum is cut
// off before the next addition. Here products of the narrow formats are exact, their sum with c is kept in
// double, and the caller rounds it once.

void multiply_add(const double* a, const double* b, double* c, int m, int n, int k);
/// One fused multiply-add after the other in the order of k, as f64 wants it.
void multiply_add_fused(const double* a, const double* b, double* c, int m, int n, int k);
/// Sums wrap around at 32 bits.
void multiply_add(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, int m, int n, int k);
/// c += number of ones in a & b (or a ^ b), 32 elements of a row of a and a column of b a word.
void multiply_add_bits(const std::uint32_t* a, const std::uint32_t* b, std::int32_t* c, int m, int n,
                       int words, bool exclusive_or);

/// Turns `count` elements, packed as in memory and registers (a multiple of 8 elements), into numbers.
template <class T>
using Decoder = void (*)(const std::byte* from, int count, T* to);
/// f16, bf16, tf32, e4m3, e5m2, e2m1 (two to a byte), f64; null for other types.
[[nodiscard]] Decoder<double> float_decoder(Type type);
/// Of elements of 8, 6 and 4 bits that are kept one to a byte: e4m3, e5m2, e3m2, e2m3, e2m1.
[[nodiscard]] Decoder<double> byte_decoder(Type type);
/// s8, u8, s4, u4; null for other types.
[[nodiscard]] Decoder<std::int32_t> integer_decoder(Type type);

}  // namespace ak::emulator
