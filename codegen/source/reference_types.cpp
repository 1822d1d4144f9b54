// SPDX-License-Identifier: Apache-2.0
#include "codegen/source/reference_types.h"

#include <fmt/format.h>

#include <regex>

#include "codegen/source/mutation_branches.h"
#include "core/plan/device_headers.h"
#include "core/plan/include_scan.h"

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

std::string twin_as_kernel(const ProblemInstance& problem) {
  // What the reference says of itself for where there is no harness: that it is the exact one.
  static const std::regex own_words(
      R"(\n[ \t]*(using (accum_t|out_t|out_t_\w+) = [^;\n]*;|#[ \t]*define[ \t]+AK_EXACT\b[^\n]*))");
  const std::string source = without_mutations(std::regex_replace(problem.reference_cu, own_words, "\n"));
  const int last_line = end_of_includes(source);
  const std::size_t split =
      last_line > 0 ? offset_behind_line(source, last_line) : source.find("*/") + 2;  // behind the plan
  return fmt::format("{}\n// The reference's twin: what it computes with.\n#define AK_TWIN 1\n{}{}",
                     source.substr(0, split), reference_types(problem, false), source.substr(split));
}

}  // namespace ak::codegen
