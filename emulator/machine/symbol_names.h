// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace ak::emulator {

/// "scale(float*, int)" for "_Z5scalePfi"; nothing for a name that is not mangled.
[[nodiscard]] std::optional<std::string> demangled(const std::string& symbol);

}  // namespace ak::emulator
