// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "core/result.h"

namespace ak::runtime {

/// Where NVRTC and the headers that candidates may include are.
struct CudaToolkit {
  std::filesystem::path nvrtc_library;  ///< absolute, or a bare name for the dynamic linker to find
  std::vector<std::filesystem::path>
      include_dirs;  ///< existing folders; empty when only the library was found
};

/// Looks in $CUDA_HOME, $CUDA_PATH, /usr/local/cuda, /usr/local/cuda-NN.M (newest first) and the dynamic
/// linker's path. The error says how to get a toolkit.
[[nodiscard]] Result<CudaToolkit> find_cuda_toolkit();

/// Folders where a toolkit may be, the one to prefer first: $CUDA_HOME, $CUDA_PATH, /usr/local/cuda,
/// /usr/local/cuda-NN.M (newest first). They need not exist.
[[nodiscard]] std::vector<std::filesystem::path> cuda_roots();

}  // namespace ak::runtime
