// SPDX-License-Identifier: Apache-2.0
#include "app/board/blank_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "core/text/json.h"

namespace ak::app {

std::string blank_kernel(const ProblemInstance& problem) {
  Json arguments = Json::array();
  std::vector<std::string> parameters;
  std::set<std::string> headers;
  const auto take = [&](const TensorSpec& tensor, const char* form) {
    const DTypeInfo& type = info(tensor.dtype);
    arguments.push_back(tensor.name);
    parameters.push_back(fmt::format(fmt::runtime(form), type.cuda_type, tensor.name));
    if (!type.cuda_header.empty()) headers.insert(fmt::format("#include <{}>\n", type.cuda_header));
  };
  // With endings: names of problems may be words of C++.
  for (const TensorSpec& input : problem.definition.inputs)
    take(input, input.is_scalar() ? "{} {}_in" : "const {}* {}_in");
  for (const TensorSpec& output : problem.definition.outputs) take(output, "{}* {}_out");
  const Json launch{{"kernel", "blank"}, {"grid", {1}}, {"block", {1}}, {"args", arguments}};
  return fmt::format(
      "/* alphakernel\n{}\n*/\n{}// It computes nothing yet.\n__global__ void blank({}) {{}}\n",
      Json{{"launches", Json::array({launch})}}.dump(2), fmt::join(headers, ""), fmt::join(parameters, ", "));
}

}  // namespace ak::app
