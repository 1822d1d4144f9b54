// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/export/export_parts.h"

namespace ak::codegen {
namespace {

/// The evaluator makes outputs from the sizes of inputs: an axis that only outputs have it cannot know.
bool sizes_are_of_inputs(const Definition& definition) {
  const auto has = [](const TensorSpec& tensor, const std::string& axis) {
    return !tensor.is_scalar() && std::ranges::find(*tensor.shape, axis) != tensor.shape->end();
  };
  return std::ranges::all_of(definition.axes, [&](const Axis& axis) {
    return axis.value || std::ranges::any_of(definition.inputs,
                                             [&](const TensorSpec& input) { return has(input, axis.name); });
  });
}

/// The evaluator's builder takes no options: what it defines is undone where no header was read yet.
std::string without_definitions(const std::string& source) {
  std::string text;
  for (const std::string_view taken : kTakenAway) text += fmt::format("#undef {}\n", taken);
  return text + source;
}

}  // namespace

Result<ExportedSolution> solution_files(const ProblemInstance& problem, const Candidate& candidate,
                                        const Arch& arch) {
  ExportSubject subject = export_subject(problem, candidate, arch);
  if (const auto given = sizes_without_input(subject); !given.empty())
    return InputError{
        fmt::format("no input has the size {}, which an evaluator cannot give it", fmt::join(given, ", "))};
  // The builder compiles every .cu file by itself.
  subject.kernel_file = subject.name + ".cuh";
  Result<std::vector<ExportedFile>> sources = export_sources(subject);
  if (!sources) return sources.error();
  ExportedSolution solution{.files = *std::move(sources),
                            .entry = fmt::format("{0}_binding.cpp::{0}", subject.name),
                            .writes_outputs = sizes_are_of_inputs(problem.definition)};
  for (ExportedFile& file : solution.files) {
    if (file.path == subject.name + ".cu") file.path = subject.kernel_file;
    if (file.path == subject.name + "_launch.cu") file.text = without_definitions(file.text);
  }
  solution.files.push_back({subject.name + "_binding.cpp", module_binding(subject, solution.writes_outputs)});
  return solution;
}

}  // namespace ak::codegen
