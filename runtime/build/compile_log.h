// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"

namespace ak::runtime {

/// Errors and warnings in NVRTC's log, and what ptxas reports of a loss of performance. Line and column are of `file_name` (the
/// candidate); messages about another file name it in their text and have line 0. At most 50, errors first.
[[nodiscard]] std::vector<Diagnostic> parse_compile_log(std::string_view log, std::string_view file_name);

/// A warning of ptxas: the program is right, and slower than its source looks, as when wgmma runs one by one.
[[nodiscard]] bool is_slow_code(const Diagnostic& diagnostic);

/// The log without ptxas's report and NVRTC's own remarks, control characters stripped, capped.
[[nodiscard]] std::string clean_compile_log(std::string_view log);

}  // namespace ak::runtime
