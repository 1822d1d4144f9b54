// SPDX-License-Identifier: Apache-2.0
#include "emulator/numbers/element_update.h"

#include <cstdint>
#include <cstring>
#include <functional>

#include "emulator/numbers/element_operations.h"

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

struct Entry {
  std::string_view operation;
  Type type;
  ElementUpdate update;
};
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
constexpr Entry kEntries[] = {
    {"add", Type::u32, update<U32, std::plus<>>},    {"add", Type::s32, update<U32, std::plus<>>},
    {"add", Type::u64, update<U64, std::plus<>>},    {"add", Type::s64, update<U64, std::plus<>>},
    {"add", Type::f16, update<U16, HalfSum>},        {"add", Type::bf16, update<U16, BfloatSum>},
    {"add", Type::f32, update<float, FlushedSum>},   {"add", Type::f64, update<double, std::plus<>>},
    {"min", Type::u32, update<U32, Least>},          {"min", Type::s32, update<std::int32_t, Least>},
    {"min", Type::u64, update<U64, Least>},          {"min", Type::s64, update<std::int64_t, Least>},
    {"min", Type::f16, update<U16, LeastHalf>},      {"min", Type::bf16, update<U16, LeastBfloat>},
    {"max", Type::u32, update<U32, Greatest>},       {"max", Type::s32, update<std::int32_t, Greatest>},
    {"max", Type::u64, update<U64, Greatest>},       {"max", Type::s64, update<std::int64_t, Greatest>},
    {"max", Type::f16, update<U16, GreatestHalf>},   {"max", Type::bf16, update<U16, GreatestBfloat>},
    {"inc", Type::u32, update<U32, CountUp>},        {"dec", Type::u32, update<U32, CountDown>},
    {"and", Type::b32, update<U32, std::bit_and<>>}, {"and", Type::b64, update<U64, std::bit_and<>>},
    {"or", Type::b32, update<U32, std::bit_or<>>},   {"or", Type::b64, update<U64, std::bit_or<>>},
    {"xor", Type::b32, update<U32, std::bit_xor<>>}, {"xor", Type::b64, update<U64, std::bit_xor<>>},
};

}  // namespace

ElementUpdate element_update(std::string_view operation, Type type) {
  for (const Entry& entry : kEntries) {
    if (entry.operation == operation && entry.type == type) return entry.update;
  }
  return nullptr;
}

}  // namespace ak::emulator
