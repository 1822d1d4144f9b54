// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ak::codegen {

/// A parameter of a kernel as its source declares it.
struct KernelParameter {
  std::string type;  ///< without const, volatile, pointers and __restrict__: "float", "long long"
  std::string name;  ///< "arg2" when the source gives none
  bool pointer = false;
  bool const_data = false;  ///< `const T*`: read only
};

/// The first __global__ function of a CUDA source.
struct KernelSignature {
  std::string name;
  std::vector<std::string>
      template_parameters;  ///< as written: "typename T", "int BLOCK"; empty for a plain function
  std::vector<KernelParameter> parameters;
  int line = 0;  ///< 1-based, of __global__
};

/// Reads it, past comments, attributes, launch bounds, templates and default arguments. Nothing when
/// there is none.
[[nodiscard]] std::optional<KernelSignature> first_kernel(std::string_view source);

}  // namespace ak::codegen
