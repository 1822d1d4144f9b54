// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/text/file.h"

namespace ak::app {

/// A path that no other run of this machine chooses while `claim` lives.
struct ClaimedOutput {
  std::filesystem::path path;
  FileDescriptor claim = {};  ///< empty where the path was not chosen: a user named it
};

/// The path that nobody named: `wanted` ("softmax_bf16.cu") where none of the files of a run is there and no run that
/// is under way has chosen it, else the first of "softmax_bf16_2.cu", "softmax_bf16_3.cu", ... of which that is so.
/// Kernels are overwritten only where a user names them.
[[nodiscard]] ClaimedOutput free_output(const std::filesystem::path& wanted);

}  // namespace ak::app
