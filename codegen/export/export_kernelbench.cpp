// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/export/export_parts.h"
#include "codegen/export/export_text.h"

namespace ak::codegen {
namespace {

/// Empty where a module of Python can call the kernel.
std::string why_no_module(const ProblemInstance& problem) {
  if (!problem.python || problem.python->kind != "kernelbench")
    return "it is no KernelBench task: its problem was not made from a file with class Model";
  if (problem.python->source.find("class Model(") == std::string::npos)
    return "its file has no class Model, which ModelNew would take the place of";
  return "";
}

/// Next to each other, so that each finds the one that it includes.
std::string python_files(const ExportSubject& subject, const std::vector<ExportedFile>& files) {
  std::string text;
  for (const ExportedFile& file : files)
    text += fmt::format("    {}: {},\n", python_text(file.path), python_text(file.text));
  return text + fmt::format("    {}: {},\n", python_text(subject.name + "_binding.cpp"),
                            python_text(module_binding(subject)));
}

std::string python_names(const ExportSubject& subject) {
  std::vector<std::string> names;
  for (const ExportedTensor& tensor : subject.tensors)
    if (tensor.input) names.push_back(python_text(tensor.spec->name));
  return fmt::format("[{}]", fmt::join(names, ", "));
}

}  // namespace

Result<std::vector<ExportedFile>> kernelbench_files(const ProblemInstance& problem,
                                                    const Candidate& candidate, const Arch& arch,
                                                    const ExportFacts& facts, const std::string& name) {
  if (const std::string why = why_no_module(problem); !why.empty()) return InputError{why};
  const ExportSubject subject = export_subject(problem, candidate, arch, name);
  const Result<std::vector<ExportedFile>> files = export_sources(subject);
  if (!files) return files.error();
  if (!sizes_without_input(subject).empty())
    return InputError{fmt::format("no input has the size {}, which a module cannot give it",
                                  fmt::join(sizes_without_input(subject), ", "))};
  return std::vector<ExportedFile>{
      {"model_new.py", export_text("model_new.py", {{"definition", problem.definition.name},
                                                    {"version", facts.version},
                                                    {"reference", problem.python->source},
                                                    {"inputs", python_names(subject)},
                                                    {"files", python_files(subject, *files)},
                                                    {"name", subject.name},
                                                    {"arch_list", torch_arch(arch)},
                                                    {"nvcc_options", target_flags(subject)}})}};
}

}  // namespace ak::codegen
