// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "emulator/lower/lowering.h"
#include "emulator/machine/lanes.h"

namespace ak::emulator {

// Handlers over integer types, picked by a PTX type. F is a function object with a template operator().

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Pick<Make, F>::of(type): Make<T, F>::run for the C++ type of a 16-, 32- or 64-bit integer or bit type;
/// null for others.
template <template <class, class> class Make, class F>
[[nodiscard]] Handler handler_for(Type type) {
  switch (type) {
    case Type::b16:
    case Type::u16:
      return Make<std::uint16_t, F>::run;
    case Type::s16:
      return Make<std::int16_t, F>::run;
    case Type::b32:
    case Type::u32:
      return Make<std::uint32_t, F>::run;
    case Type::s32:
      return Make<std::int32_t, F>::run;
    case Type::b64:
    case Type::u64:
      return Make<std::uint64_t, F>::run;
    case Type::s64:
      return Make<std::int64_t, F>::run;
    default:
      return nullptr;
  }
}

template <class T, class F>
struct Unary {
  static void run(Warp& warp, const Op& op) { map_lanes<T, T>(warp, op.d, F{}, op.a); }
};
template <class T, class F>
struct Binary {
  static void run(Warp& warp, const Op& op) { map_lanes<T, T, T>(warp, op.d, F{}, op.a, op.b); }
};
template <class T, class F>
struct Ternary {
  static void run(Warp& warp, const Op& op) { map_lanes<T, T, T, T>(warp, op.d, F{}, op.a, op.b, op.c); }
};
/// Counts and positions: a 32-bit result whatever the source.
template <class T, class F>
struct Counting {
  static void run(Warp& warp, const Op& op) { map_lanes<std::uint32_t, T>(warp, op.d, F{}, op.a); }
};

/// d and up to three sources of one type, from operands 0 ... 3.
[[nodiscard]] Op lower_plain(Lowering& lowering, Handler run, Type type);

}  // namespace ak::emulator
