// SPDX-License-Identifier: Apache-2.0
#include "codegen/problem/tensor_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ak::codegen {

std::string tensor_text(const TensorSpec& tensor) {
  const std::string_view type = info(tensor.dtype).name;
  if (tensor.is_scalar()) {
    const bool constant = tensor.values.size() == 1;
    return fmt::format("{}, a scalar by value: {}{}", type, constant ? "always " : "one of ",
                       fmt::join(tensor.values, ", "));
  }
  return fmt::format(
      "{} [{}]{}{}{}", type, fmt::join(*tensor.shape, ", "),
      info(tensor.dtype).values > 1 ? ", an element is a byte with two values, the first in the low four bits"
                                    : "",
      tensor.zeroed ? ", holds zeros before every call" : "",
      tensor.weight ? ", a weight: \"prepare\" may lay it out anew, outside of what is timed" : "");
}

std::string axis_text(const Axis& axis) {
  if (axis.derived) return " = " + axis.derived->text();
  return axis.value ? fmt::format(" = {}", *axis.value) : "";
}

}  // namespace ak::codegen
