// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/build.h"
#include "core/result.h"

namespace ak::runtime {

// What a compile worker may say. A candidate may have taken it over: nothing in its answers is believed that the
// request or the parent's own knowledge can tell, and what does not fit the request is an error in words.

/// What the workers run on.
struct CompilerFacts {
  std::string nvrtc_version;       ///< "13.0"
  std::vector<std::string> archs;  ///< "sm_90a", ...
  int landlock_abi = 0;
  std::string degradation;  ///< protection that this system does not offer; empty when complete
};

/// The facts of a worker's first message; the error is its reason why it cannot work, or what is wrong with them.
[[nodiscard]] Result<CompilerFacts> read_compiler_facts(const Json& hello);

/// The result of building `unit`. Its key and NVRTC's version are the parent's own, whatever the worker sent.
[[nodiscard]] Result<BuildResult> read_built(const Json& body, const TranslationUnit& unit,
                                             const std::string& nvrtc_version);

/// Why `result` cannot come from building `unit`; nothing where it can.
[[nodiscard]] std::optional<std::string> contradiction(const BuildResult& result,
                                                       const TranslationUnit& unit);

}  // namespace ak::runtime
