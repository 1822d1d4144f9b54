// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/emit/emit.h"
#include "codegen/emit/finished_plan.h"
#include "codegen/emit/markdown.h"
#include "codegen/emit/stand_alone_commands.h"
#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"

namespace ak::codegen {
namespace {

// Names that the launch function has for itself.
constexpr std::array<std::string_view, 7> kOwnNames{
    "shape", "stream", "workspace", "workspace_bytes", "prepared", "prepared_bytes", "call"};

std::string parameter_name(const std::string& tensor) {
  return std::ranges::find(kOwnNames, tensor) == kOwnNames.end() ? tensor : tensor + "_";
}

/// The benchmark is a program with the reference in it, which has to be a kernel.
bool has_benchmark(const ExportSubject& subject) { return !subject.problem.python; }

std::string cmake_file(const ExportSubject& subject) {
  std::vector<std::string> options;
  for (const std::string& option : subject.candidate.plan.options) options.push_back(nvcc_flag(option));
  const std::string target =
      fmt::format("SHELL:-gencode arch=compute_{0},code=sm_{0}", subject.arch.sm().substr(3));
  const bool benchmark = has_benchmark(subject);
  return export_text(
      "CMakeLists.txt",
      {{"name", subject.name},
       {"kernel_options", fmt::format("{}{}{}", target, options.empty() ? "" : " ", fmt::join(options, " "))},
       {"and_benchmark", benchmark ? ", and its benchmark" : ""},
       {"run_benchmark", benchmark ? fmt::format(" && build/{}_benchmark", subject.name) : ""},
       {"benchmark", benchmark ? export_text("benchmark_target.txt",
                                             {{"name", subject.name}, {"benchmark_options", target}})
                               : ""}});
}

std::string tensor_rows(const ExportSubject& subject) {
  std::string text = "| tensor | | type and shape | |\n|---|---|---|---|\n";
  for (const ExportedTensor& tensor : subject.tensors)
    text += fmt::format("| `{}` | {} | {} | {} |\n", tensor.spec->name, tensor.input ? "input" : "output",
                        shape_text(*tensor.spec),
                        !tensor.alias.empty() ? fmt::format("takes the place of `{}`", tensor.alias)
                        : tensor.spec->zeroed ? "has to hold zeros; " + tensor.spec->description
                                              : tensor.spec->description);
  return text;
}

std::string axis_value(const Axis& axis) {
  if (axis.derived) return markdown_code(axis.derived->text());
  return axis.value ? std::to_string(*axis.value) : "any";
}

std::string axis_rows(const ExportSubject& subject) {
  std::string text = "| axis | value | |\n|---|---|---|\n";
  for (const Axis& axis : subject.problem.definition.axes)
    text += fmt::format("| `{}` | {} | {} |\n", axis.name, axis_value(axis), axis.description);
  return text;
}

std::string limits_text(const ExportSubject& subject) {
  std::string text;
  for (const std::string& one : subject.problem.definition.constraints)
    text += fmt::format("- `{}` (of the problem)\n", one);
  for (const Expression& one : subject.candidate.plan.constraints)
    text += fmt::format("- `{}` (of the kernel)\n", one.text());
  return text.empty() ? "Only that every size is at least 1.\n" : text;
}

std::string arguments_text(const ExportSubject& subject) {
  std::vector<std::string> names;
  for (const ExportedTensor* tensor : subject.parameters()) names.push_back(tensor->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// How weights are prepared from C++; empty where nothing does.
std::string prepare_example(const ExportSubject& subject) {
  if (subject.candidate.plan.prepare.empty()) return "";
  std::vector<std::string> weights;
  for (const ExportedTensor* weight : subject.weights()) weights.push_back(weight->name);
  return fmt::format(
      "void* prepared = nullptr;   // {0}_prepared_bytes(shape) bytes of device memory\n"
      "// Once for a set of weights; calls that have {1} in common can share it.\n"
      "{0}_prepare(shape, {2}, prepared, {0}_prepared_bytes(shape), stream);\n",
      subject.name, prepared_axes_text(subject), fmt::join(weights, ", "));
}

/// What a launch is given of it.
std::string prepared_arguments(const ExportSubject& subject) {
  return subject.candidate.plan.prepare.empty()
             ? ""
             : fmt::format("prepared, {}_prepared_bytes(shape), ", subject.name);
}

std::string prepared_operators(const ExportSubject& subject) {
  if (subject.candidate.plan.prepare.empty()) return "";
  return fmt::format(
      " Both prepare the weights in every call. `{0}_prepare(...)`, which takes what `{0}` takes, gives the "
      "prepared weights as a tensor, and `{0}_prepared_out(prepared, ...)` takes them.",
      subject.name);
}

std::string build_text(const ExportSubject& subject) {
  if (!has_benchmark(subject))
    return fmt::format(
        "`CMakeLists.txt` builds the library `{}`: `cmake -S . -B build && cmake --build build`. The "
        "reference is a "
        "Python file, so what checks the kernel is `torch/check.py`.",
        subject.name);
  return fmt::format(
      "`CMakeLists.txt` builds the library `{0}` and `{0}_benchmark`, which checks the function against the "
      "problem's "
      "reference\nand times it: `cmake -S . -B build && cmake --build build && build/{0}_benchmark`.",
      subject.name);
}

std::string build_row(const ExportSubject& subject) {
  return has_benchmark(subject)
             ? fmt::format("| `{}_benchmark.cu`, `CMakeLists.txt` | check and benchmark |", subject.name)
             : "| `CMakeLists.txt` | the library |";
}

std::string readme(const ExportSubject& subject, const ExportFacts& facts) {
  const Definition& definition = subject.problem.definition;
  std::vector<std::string> sizes, inputs;
  for (const Axis* axis : subject.axes) sizes.push_back(axis->name);
  for (const ExportedTensor& tensor : subject.tensors)
    if (tensor.input) inputs.push_back(tensor.name);
  const std::string kernel_for = "A kernel for " + definition.name + ".";
  return export_text("README.md",
                     {{"definition", definition.name},
                      {"description", definition.description.empty() ? kernel_for : definition.description},
                      {"tensors", tensor_rows(subject)},
                      {"axes", axis_rows(subject)},
                      {"target", subject.arch.sm()},
                      {"limits", limits_text(subject)},
                      {"name", subject.name},
                      {"measured", facts.measured},
                      {"sizes", fmt::format("{}", fmt::join(sizes, ", "))},
                      {"arguments", arguments_text(subject)},
                      {"prepare", prepare_example(subject)},
                      {"prepared", prepared_arguments(subject)},
                      {"prepared_operators", prepared_operators(subject)},
                      {"inputs", fmt::format("{}", fmt::join(inputs, ", "))},
                      {"build", build_text(subject)},
                      {"build_row", build_row(subject)},
                      {"version", facts.version},
                      {"origin", facts.origin}});
}

/// Empty where the definition can be exported.
std::string refusal_reason(const ExportSubject& subject) {
  const bool any = std::ranges::any_of(
      subject.tensors, [](const ExportedTensor& tensor) { return tensor.input && !tensor.scalar(); });
  return any ? "" : "it has no input tensors";
}

}  // namespace

ExportSubject export_subject(const ProblemInstance& problem, const Candidate& candidate, const Arch& arch,
                             const std::string& name) {
  const std::string own = name.empty() ? export_name(problem.definition) : name;
  ExportSubject subject{.problem = problem,
                        .candidate = candidate,
                        .arch = arch,
                        .name = own,
                        .named = !name.empty(),
                        .kernel_file = own + ".cu",
                        .axes = {},
                        .derived = {},
                        .tensors = {}};
  for (const Axis& axis : problem.definition.axes) {
    if (axis.varies()) subject.axes.push_back(&axis);
    if (axis.derived) subject.derived.push_back(&axis);
  }
  for (const auto* list : {&problem.definition.inputs, &problem.definition.outputs}) {
    for (const TensorSpec& tensor : *list) {
      const auto alias = problem.aliases.find(tensor.name);
      subject.tensors.push_back(
          {.spec = &tensor,
           .name = parameter_name(tensor.name),
           .input = list == &problem.definition.inputs,
           .alias = alias == problem.aliases.end() ? "" : parameter_name(alias->second)});
    }
  }
  return subject;
}

Result<std::vector<ExportedFile>> export_sources(const ExportSubject& subject) {
  if (const std::string why = refusal_reason(subject); !why.empty()) return InputError{why};
  const Result<std::string> launcher = export_launcher(subject);
  if (!launcher) return launcher.error();
  return std::vector<ExportedFile>{{subject.name + ".cu", emit_kernel(subject.problem, subject.candidate)},
                                   {subject.name + ".h", export_header(subject)},
                                   {subject.name + "_launch.cu", *launcher}};
}

Result<std::vector<ExportedFile>> export_files(const ProblemInstance& problem, const Candidate& candidate,
                                               const Arch& arch, const ExportFacts& facts,
                                               const std::string& name) {
  const ExportSubject subject = export_subject(problem, candidate, arch, name);
  Result<std::vector<ExportedFile>> sources = export_sources(subject);
  if (!sources) return sources;
  std::vector<ExportedFile> files = *std::move(sources);
  if (has_benchmark(subject))
    files.push_back(
        {subject.name + "_benchmark.cu", emit_exported_benchmark(problem, candidate, arch, subject.name)});
  files.push_back({"CMakeLists.txt", cmake_file(subject)});
  files.push_back({"README.md", readme(subject, facts)});
  for (ExportedFile& file : export_torch(subject)) files.push_back(std::move(file));
  return files;
}

Result<std::string> launch_header(const ProblemInstance& problem, const Candidate& candidate,
                                  const Arch& arch, const std::string& kernel_file) {
  Candidate finished = candidate;
  finished.plan = finished_plan(problem, candidate);
  ExportSubject subject = export_subject(problem, finished, arch);
  subject.kernel_file = kernel_file;
  if (const std::string why = refusal_reason(subject); !why.empty()) return InputError{why};
  return export_launch_header(subject);
}

}  // namespace ak::codegen
