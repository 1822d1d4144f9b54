// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "emulator/parse/type.h"

namespace ak::emulator {

/// What an asynchronous reduction does with one element in memory: `to = to OP from`, elements not aligned.
using ElementUpdate = void (*)(std::byte* to, const std::byte* from);

/// All there are.
inline constexpr std::string_view kReductions[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

/// The update by `operation` ("add", "min", "inc" ...) of elements of `type`; null where PTX has none. Sums of
/// f32 flush subnormals, those of f16 and bf16 keep them (PTX ISA 9.0, cp.reduce.async.bulk); integers wrap.
[[nodiscard]] ElementUpdate element_update(std::string_view operation, Type type);

}  // namespace ak::emulator
