// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <vector>

#include "tests/emulator/differential/generator.h"

namespace ak::emulator::differential {
namespace {

using Values = std::vector<std::uint64_t>;

/// An IEEE-like format by its field widths.
struct Format {
  int exponent_bits, fraction_bits;
};

// How many values of float_values() are the first ones: zeros, subnormal numbers, the ends of the range,
// infinities and NaNs.
constexpr std::uint32_t kSpecials = 17;

// Zeros, ones, ends of the ranges, numbers halfway between two neighbours of narrower formats, infinities and
// NaNs of both kinds; the positive ones first, then in the same order the negative ones.
Values float_values(const Format& format) {
  const int f = format.fraction_bits;
  const std::uint64_t one = 1, fraction = (one << f) - 1, top = (one << format.exponent_bits) - 1;
  const std::uint64_t bias = top >> 1;
  Values values = {0, 1, 2, 3, fraction, fraction - 1, one << (f - 1), one << f, (one << f) | 1};
  values.insert(values.end(),
                {((top - 1) << f) | fraction, ((top - 1) << f) | (fraction - 1), (top - 1) << f});
  values.insert(values.end(), {top << f, (top << f) | 1, (top << f) | (one << (f - 1)), (top << f) | fraction,
                               (top << f) | (one << (f - 1)) | 5});
  // Small whole numbers, halves, thirds, and what conversions to integers find at their ends.
  for (const int exponent : {-30, -15, -14, -3, -2, -1, 0,  1,  2,  3,  6,  7,  8,  10,
                             14,  15,  16,  23, 24, 30, 31, 32, 52, 53, 62, 63, 64, 126}) {
    if (exponent > static_cast<int>(bias) || -exponent >= static_cast<int>(bias)) continue;
    const std::uint64_t power = (bias + static_cast<std::uint64_t>(exponent)) << f;
    values.insert(values.end(),
                  {power, power + 1, power - 1, power | (one << (f - 1)), power | (3 * (one << f) / 4)});
    for (const int narrow : {1, 2, 3, 7, 10, 23}) {
      if (narrow >= f) continue;
      const std::uint64_t tie = one << (f - narrow - 1);
      values.insert(values.end(), {power | tie, power | (tie * 3), (power | tie) + 1, (power | tie) - 1});
    }
  }
  const std::uint64_t sign = one << (f + format.exponent_bits);
  const std::size_t positive = values.size();
  for (std::size_t i = 0; i < positive; ++i) values.push_back(values[i] | sign);
  return values;
}

Values integer_values(int bits) {
  const std::uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  Values values = {
      0, 1, 2, 3, 5, 7, 10, 100, all, all - 1, all - 2, all - 9, all >> 1, (all >> 1) + 1, (all >> 1) - 1};
  for (int i = 2; i < bits; i += bits / 8) {
    const std::uint64_t power = 1ull << i;
    values.insert(values.end(), {power, power - 1, power + 1, ~power & all, (0 - power) & all});
  }
  values.insert(values.end(),
                {0x5555555555555555ull & all, 0xaaaaaaaaaaaaaaaaull & all, 0x0123456789abcdefull & all});
  return values;
}

Values shift_values() {
  Values values;
  for (std::uint64_t i = 0; i < 34; ++i) values.push_back(i);
  for (const std::uint64_t value : {47, 48, 63, 64, 65, 127, 128, 255, 256, 257}) values.push_back(value);
  values.insert(values.end(), {0x80000000ull, 0xffffffffull, 0x7fffffffull, 0x100ull, 0x10001ull});
  return values;
}

const std::map<std::string, Values, std::less<>>& tables() {
  static const std::map<std::string, Values, std::less<>> all = [] {
    return std::map<std::string, Values, std::less<>>{
        {"8", integer_values(8)},       {"16", integer_values(16)},      {"32", integer_values(32)},
        {"64", integer_values(64)},     {"f16", float_values({5, 10})},  {"bf16", float_values({8, 7})},
        {"f32", float_values({8, 23})}, {"f64", float_values({11, 52})}, {"shift", shift_values()}};
  }();
  return all;
}

/// What the types of integers are called in tables().
std::string_view table_name(std::string_view type) {
  if (type.starts_with('f') || type.starts_with('b') ? tables().contains(type) : type == "shift") return type;
  return type.substr(1);
}

}  // namespace

int register_bits_of(std::string_view type) {
  if (type.ends_with("64")) return 64;
  if (type.ends_with("x2") && type.starts_with('e')) return 16;
  if (type == "f16" || type == "bf16" || type == "below_one_f16" || type.ends_with('8') ||
      (type.ends_with("16") && !type.ends_with("x16")))
    return 16;
  return 32;
}

Number number_of(std::string_view type) {
  static const std::map<std::string, Number, std::less<>> kFloats = {
      {"f16", Number::f16},       {"f16x2", Number::f16x2}, {"bf16", Number::bf16},
      {"bf16x2", Number::bf16x2}, {"f32", Number::f32},     {"f64", Number::f64}};
  if (const auto found = kFloats.find(type); found != kFloats.end()) return found->second;
  if (type == "flag") return Number::bits8;
  const int bits = register_bits_of(type);
  return bits == 64 ? Number::bits64 : bits == 32 ? Number::bits32 : Number::bits16;
}

std::uint64_t value_of(std::string_view type, Random& random) {
  const int bits = register_bits_of(type);
  const std::uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (type == "angle") {  // within 2 pi, where the error of sin and cos is stated as a difference
    const float value = (static_cast<float>(random.below(1u << 24)) / (1u << 23) - 1.0f) * 6.28f;
    return std::bit_cast<std::uint32_t>(value);
  }
  if (type == "subnormal") return random.bits() & 0x807fffffu;
  // Ranges outside of which PTX leaves the result open.
  if (type == "field") return random.chance(60) ? random.below(66) : random.below(256);
  if (type == "lane") return random.below(32);
  if (type == "nth") return static_cast<std::uint32_t>(static_cast<int>(random.below(81)) - 40);
  if (type == "below_one") return 0x3f800000u - random.below(5);
  if (type == "above_one") return 0x3f800000u + random.below(5);
  if (type == "below_one_f16") return 0x3c00u - random.below(5);
  if (type.starts_with('e') || random.chance(20)) return random.bits() & all;
  if (type.ends_with("16x2")) {
    const std::uint64_t low = value_of(type.substr(0, type.size() - 2), random);
    return low | value_of(type.substr(0, type.size() - 2), random) << 16;
  }
  const Values& table = tables().at(std::string(table_name(type)));
  const bool is_float = type == table_name(type) && type != "shift";
  // Operations on two special values are what formats differ in, so they must not be rare.
  if (is_float && random.chance(30))
    return table[random.below(kSpecials) + (random.chance(50) ? table.size() / 2 : 0)];
  return random.pick(table);
}

}  // namespace ak::emulator::differential
