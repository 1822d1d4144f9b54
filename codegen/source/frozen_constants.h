// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/launch_plan.h"
#include "core/plan/problem.h"

namespace ak::codegen {

/// What the harness tells a candidate (docs/candidate.md, "Constants in the source"), for files that are
/// compiled without it.
struct FrozenConstants {
  std::vector<std::pair<std::string, std::int64_t>>
      integers;                      ///< params, fixed axes, tunables; upper-case names
  std::vector<std::string> flags;    ///< "AK_DTYPE_FLOAT32"
  std::vector<std::string> choices;  ///< "AK_DTYPE_": how those begin of which one alone is defined
  std::optional<DType> scalar;       ///< what scalar_t is; absent without a param dtype
};
[[nodiscard]] FrozenConstants frozen_constants(const ProblemInstance& problem, const TunableValues& tunables);

/// `#define` lines for those AK_ macros that `code` mentions.
[[nodiscard]] std::string macro_lines(const FrozenConstants& constants, std::string_view code);
/// `constexpr` and `using scalar_t` lines for those names that `code` mentions.
[[nodiscard]] std::string declaration_lines(const FrozenConstants& constants, std::string_view code);

/// The source with its `#ifndef ALPHAKERNEL` defaults of known names replaced by these values. Applying it
/// twice gives the same text.
[[nodiscard]] std::string with_constants(std::string_view source, const FrozenConstants& constants);

/// The source without its `#ifndef ALPHAKERNEL` defaults of known names.
[[nodiscard]] std::string without_defaults(std::string_view source, const FrozenConstants& constants);

/// True when `word` occurs in `text` as a whole identifier.
[[nodiscard]] bool mentions(std::string_view text, std::string_view word);

}  // namespace ak::codegen
