// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/reference_types.h"

#include <fmt/format.h>

namespace ak::codegen {
namespace {

std::string_view result_type(DType dtype, bool exact) {
  const DTypeInfo& type = info(dtype);
  if (!exact) return type.cuda_type;
  return type.floating ? "double" : "long long";
}

}  // namespace

std::string reference_types(const ProblemInstance& problem, bool exact) {
  const DType first = problem.definition.outputs.front().dtype;
  const std::string_view accum = !info(first).floating ? "long long" : exact ? "double" : "float";
  std::string lines =
      fmt::format("using accum_t = {};\nusing out_t = {};\n", accum, result_type(first, exact));
  for (const auto* outputs : {&problem.definition.outputs, &problem.absent_outputs}) {
    for (const TensorSpec& output : *outputs)
      lines += fmt::format("using out_t_{} = {};\n", output.name, result_type(output.dtype, exact));
  }
  return lines;
}

}  // namespace ak::codegen
