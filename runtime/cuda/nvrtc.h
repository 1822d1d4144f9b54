// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvrtc.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/device/arch.h"
#include "core/result.h"

// clang-format off
#define AK_NVRTC_FUNCTIONS(X)                                                                   \
  X(nvrtcVersion) X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs) X(nvrtcGetErrorString) \
  X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcAddNameExpression) X(nvrtcCompileProgram) \
  X(nvrtcGetLoweredName) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetPTXSize)     \
  X(nvrtcGetPTX) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)
// clang-format on

namespace ak::runtime {

/// NVRTC's functions, loaded at run time. Lives as long as the process: NVRTC cannot be unloaded safely.
struct Nvrtc {
#define AK_NVRTC_MEMBER(name) decltype(&::name) name = nullptr;
  AK_NVRTC_FUNCTIONS(AK_NVRTC_MEMBER)
#undef AK_NVRTC_MEMBER
  int major = 0, minor = 0;

  [[nodiscard]] std::string version() const;  ///< "13.0"
  /// Precompiled headers came with CUDA 12.8.
  [[nodiscard]] bool has_pch() const { return major > 12 || (major == 12 && minor >= 8); }
  /// Every real architecture it builds for, with the architecture-specific ('a', from 9.0) and
  /// family-specific ('f', from 10.0, NVRTC 12.9 and later) variants.
  [[nodiscard]] std::vector<Arch> archs() const;
};

/// The error names the library or function that is missing.
[[nodiscard]] Result<Nvrtc> load_nvrtc(const std::filesystem::path& library);

}  // namespace ak::runtime
