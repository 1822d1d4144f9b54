// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "emulator/parse/parser_module.h"

namespace ak::emulator {

/// ".global" -> Space::global for the spaces a variable is declared in.
[[nodiscard]] std::optional<Space> variable_space(std::string_view directive);

/// A variable and the view of its name in the text.
struct DeclaredVariable {
  Variable variable;
  std::string_view name;
};

/// Reads a parameter after its `.param`: `.align 8 .b8 name[16]`, `.u64 .ptr .global .align 4 name`.
bool parse_parameter(ModuleState& state, DeclaredVariable& declared);

/// Reads `.align 4 .b8 name[16] = {...}` up to the semicolon behind it; the space is given.
bool parse_variable(ModuleState& state, Space space, DeclaredVariable& declared);

/// Skips the parentheses of `.attribute(...)`.
bool skip_attribute(TokenStream& tokens);

/// The lengths of an array from the outermost on; 0 for the first where it is `[]`.
struct Shape {
  std::vector<std::uint64_t> lengths;
  std::uint64_t element_bytes = 1;
};

/// Reads what is behind the `=` of a variable into contents and relocations; sets the bytes of `[]`.
bool parse_initializer(ModuleState& state, const Shape& shape, Variable& variable);

}  // namespace ak::emulator
