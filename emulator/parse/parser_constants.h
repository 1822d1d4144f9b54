// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "emulator/parse/parser_tokens.h"

namespace ak::emulator {

/// An integer constant as PTX computes with it: 64 bits, signed or not (PTX ISA 9.0, section 4.5).
struct Constant {
  std::uint64_t bits = 0;
  bool is_unsigned = false;
};

/// Whether a constant expression may begin here.
[[nodiscard]] bool at_constant(const TokenStream& tokens);

/// Reads a constant expression: C's operators and precedence, casts to .s64 and .u64, WARP_SZ.
bool parse_constant(TokenStream& tokens, Constant& value);

/// Reads a floating-point constant with an optional minus, as it was written: f32 for 0f..., f64 otherwise.
[[nodiscard]] bool at_real(const TokenStream& tokens);
bool parse_real(TokenStream& tokens, Type& type, std::uint64_t& bits);

}  // namespace ak::emulator
