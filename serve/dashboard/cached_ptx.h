// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ak::dashboard {

/// PTX of one kernel as the build cache in `folder` still has it: from its .entry to the end of its body. Empty where
/// the cache has no such build, or the build no such kernel. Nothing is written.
/// @param build_key `builds.build_key`
/// @param symbol `build_kernels.lowered_name`
[[nodiscard]] std::string cached_ptx(const std::filesystem::path& folder, std::string_view build_key,
                                     std::string_view symbol);

}  // namespace ak::dashboard
