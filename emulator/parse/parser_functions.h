// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "emulator/parse/parser_module.h"

namespace ak::emulator {

/// Reads a function after its `.func` or `.entry`: a declaration or a definition.
bool parse_function(ModuleState& state, bool is_entry);

}  // namespace ak::emulator
