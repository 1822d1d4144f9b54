// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/outcome.h"

namespace ak::runtime {

/// Replaces Landlock where the kernel has none: the first directive or operator in `source` by which a
/// compiler could open a file outside its include folders, or nothing. Deliberately strict: it reads comments
/// and strings as code, and refuses what it cannot judge (#include of a macro, __has_include, #embed, "..").
[[nodiscard]] std::optional<Diagnostic> find_unsafe_include(std::string_view source);

}  // namespace ak::runtime
