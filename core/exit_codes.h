// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "core/error.h"

namespace ak {

/// An exit code as documentation shows it. Texts are Markdown.
struct ExitCodeInfo {
  ExitCode code;
  std::string_view name;      ///< the enumerator's
  std::string_view happened;  ///< what it means
  std::string_view remedy;    ///< what to do
};

/// All of them, by number.
[[nodiscard]] std::span<const ExitCodeInfo> exit_codes();

}  // namespace ak
