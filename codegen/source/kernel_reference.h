// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/source/signature.h"
#include "core/plan/dtype.h"
#include "core/text/json.h"

namespace ak::codegen {

/// A tensor of a kernel that is to be its own reference.
struct ReferenceTensor {
  std::string name;
  DType dtype = DType::float32;
  bool output = false;
  bool zeroed = false;   ///< of an output: the kernel adds to it
  std::string elements;  ///< an expression over axes
};

/// A kernel that its owner takes for right, and how it is launched.
struct TrustedKernel {
  KernelSignature signature;
  std::string code;  ///< of the device alone
  std::string name;  ///< with template arguments, types among them written "float"
  Json launch;       ///< its entry in a launch plan
  Json let;          ///< of that plan; null: none
  std::vector<ReferenceTensor> tensors;
  std::map<std::string, std::string>
      scalars;                  ///< floating parameters by value -> "float" or "double", as they are passed
  bool guessed_launch = false;  ///< grid and block are not the owner's
};

/// reference.cu made of it: floating types are replaced by double in the exact version and by float in the twin; inputs
/// are widened first and results rounded at the end. Throws Error(bad_input) naming what has no version in fp64, such
/// as vector types and inline assembly.
[[nodiscard]] std::string reference_of_kernel(const TrustedKernel& kernel);

}  // namespace ak::codegen
