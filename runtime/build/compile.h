// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/build.h"
#include "runtime/build/precompiled_headers.h"
#include "runtime/cuda/cuda_toolkit.h"
#include "runtime/cuda/nvrtc.h"

namespace ak::runtime {

/// Compiles translation units with NVRTC in this process: one call gives PTX and cubin. Not protected against
/// hostile sources in any way; compile workers are. Used by one thread.
class Compiler {
 public:
  /// @param pch_folder where precompiled headers may be written; empty: none are used.
  Compiler(Nvrtc nvrtc, CudaToolkit toolkit, std::filesystem::path pch_folder = {});

  /// Never throws for what the unit contains: that is the outcome.
  [[nodiscard]] BuildResult compile(const TranslationUnit& unit);

 private:
  struct Attempt;
  [[nodiscard]] Attempt run(const TranslationUnit& unit, const std::optional<PchPrefix>& prefix) const;
  [[nodiscard]] std::vector<std::string> options_for(const TranslationUnit& unit,
                                                     const std::optional<PchPrefix>& prefix) const;
  [[nodiscard]] bool knows(const Arch& arch) const;

  Nvrtc nvrtc_;
  CudaToolkit toolkit_;
  std::vector<Arch> archs_;
  std::optional<PrecompiledHeaders> pch_;
};

}  // namespace ak::runtime
