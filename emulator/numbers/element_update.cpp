// SPDX-License-Identifier: Apache-2.0
#include "emulator/numbers/element_update.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>

#include "emulator/numbers/rounding.h"
#include "emulator/numbers/small_floats.h"

namespace ak::emulator {
namespace {

template <class T, class F>
void update(std::byte* to, const std::byte* from) {
  T old, operand;
  std::memcpy(&old, to, sizeof old);
  std::memcpy(&operand, from, sizeof operand);
  const T now = F{}(old, operand);
  std::memcpy(to, &now, sizeof now);
}

struct CountUp {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const {
    return old >= limit ? 0 : old + 1;
  }
};
struct CountDown {
  std::uint32_t operator()(std::uint32_t old, std::uint32_t limit) const {
    return old == 0 || old > limit ? limit : old - 1;
  }
};
struct FlushedSum {
  float operator()(float a, float b) const { return canonical(flush(flush(a) + flush(b))); }
};

// A sum of two halves is exact enough in a float that rounding it again rounds once.
struct HalfSum {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(float_to_f16(f16_to_float(a) + f16_to_float(b)));
  }
};
struct BfloatSum {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(float_to_bf16(bf16_to_float(a) + bf16_to_float(b)));
  }
};

/// A number wins against a NaN; -0 is less than +0.
template <float (*kWiden)(std::uint32_t), bool kGreatest>
struct ChosenHalf {
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    const float x = kWiden(a), y = kWiden(b);
    if (x != x) return y != y ? static_cast<std::uint16_t>(kCanonicalHalfNan) : b;
    if (y != y) return a;
    const bool first_is_less = x != y ? x < y : (a & 0x8000u) != 0;
    return first_is_less != kGreatest ? a : b;
  }
};

struct Entry {
  std::string_view operation;
  Type type;
  ElementUpdate update;
};
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
constexpr Entry kEntries[] = {
    {"add", Type::u32, update<U32, std::plus<>>},
    {"add", Type::s32, update<U32, std::plus<>>},
    {"add", Type::u64, update<U64, std::plus<>>},
    {"add", Type::s64, update<U64, std::plus<>>},
    {"add", Type::f16, update<U16, HalfSum>},
    {"add", Type::bf16, update<U16, BfloatSum>},
    {"add", Type::f32, update<float, FlushedSum>},
    {"add", Type::f64, update<double, std::plus<>>},
    {"min", Type::u32, update<U32, Least>},
    {"min", Type::s32, update<std::int32_t, Least>},
    {"min", Type::u64, update<U64, Least>},
    {"min", Type::s64, update<std::int64_t, Least>},
    {"min", Type::f16, update<U16, ChosenHalf<f16_to_float, false>>},
    {"min", Type::bf16, update<U16, ChosenHalf<bf16_to_float, false>>},
    {"max", Type::u32, update<U32, Greatest>},
    {"max", Type::s32, update<std::int32_t, Greatest>},
    {"max", Type::u64, update<U64, Greatest>},
    {"max", Type::s64, update<std::int64_t, Greatest>},
    {"max", Type::f16, update<U16, ChosenHalf<f16_to_float, true>>},
    {"max", Type::bf16, update<U16, ChosenHalf<bf16_to_float, true>>},
    {"inc", Type::u32, update<U32, CountUp>},
    {"dec", Type::u32, update<U32, CountDown>},
    {"and", Type::b32, update<U32, std::bit_and<>>},
    {"and", Type::b64, update<U64, std::bit_and<>>},
    {"or", Type::b32, update<U32, std::bit_or<>>},
    {"or", Type::b64, update<U64, std::bit_or<>>},
    {"xor", Type::b32, update<U32, std::bit_xor<>>},
    {"xor", Type::b64, update<U64, std::bit_xor<>>},
};

}  // namespace

ElementUpdate element_update(std::string_view operation, Type type) {
  for (const Entry& entry : kEntries) {
    if (entry.operation == operation && entry.type == type) return entry.update;
  }
  return nullptr;
}

}  // namespace ak::emulator
