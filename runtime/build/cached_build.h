// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

#include "core/build.h"
#include "runtime/build/build_key.h"

namespace ak::runtime {

/// What a build cache in `folder` holds of `key`, or nothing: for those who only read, as it touches no file. An entry
/// of more than `limit_bytes`, or one that is damaged, counts as absent.
[[nodiscard]] std::optional<BuildResult> read_cached_build(const std::filesystem::path& folder,
                                                           const BuildKey& key, std::size_t limit_bytes);

}  // namespace ak::runtime
