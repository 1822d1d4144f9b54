// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result.h"
#include "emulator/parse/ast.h"
#include "emulator/parse/lexer.h"

namespace ak::emulator {

/// Reads a PTX module as NVRTC writes it for compute_75 to compute_121, inline assembly included. Any
/// instruction of the general form is accepted: whether it can be run is decided later. Errors: what is not
/// PTX, an undeclared register, label or symbol, or text beyond the limits below; the InputError's line is a
/// line of `text`. Never throws, whatever the text.
[[nodiscard]] Result<Module> parse(std::string_view text);
/// As parse, but for source locations, which make up nearly half of a program's tokens.
[[nodiscard]] Result<Module> parse_code(const TokenizedText& text);

}  // namespace ak::emulator
