// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/emit/emit.h"
#include "codegen/emit/stand_alone_commands.h"
#include "codegen/export/export_parts.h"

namespace ak::codegen {
namespace {

// Names that the launch function has for itself.
constexpr std::array<std::string_view, 5> kOwnNames{"shape", "stream", "workspace", "workspace_bytes",
                                                    "call"};

std::string parameter_name(const std::string& tensor) {
  return std::ranges::find(kOwnNames, tensor) == kOwnNames.end() ? tensor : tensor + "_";
}

ExportSubject subject_of(const ProblemInstance& problem, const Candidate& candidate, const Arch& arch) {
  ExportSubject subject{.problem = problem,
                        .candidate = candidate,
                        .arch = arch,
                        .name = export_name(problem.definition),
                        .axes = {},
                        .tensors = {}};
  for (const Axis& axis : problem.definition.axes)
    if (!axis.value) subject.axes.push_back(&axis);
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

/// Empty where the definition can be exported.
std::string refusal_reason(const ExportSubject& subject) {
  for (const ExportedTensor& tensor : subject.tensors)
    if (!tensor.spec->shape) return fmt::format("{} is a scalar and no tensor", tensor.spec->name);
  if (subject.parameters().empty() || !subject.tensors.front().input) return "it has no inputs";
  return "";
}

std::string cmake_file(const ExportSubject& subject) {
  std::vector<std::string> options;
  for (const std::string& option : subject.candidate.plan.options) options.push_back(nvcc_flag(option));
  return fmt::format(
      R"(# {0} as a library, and its benchmark:
#   cmake -S . -B build && cmake --build build && build/{0}_benchmark
cmake_minimum_required(VERSION 3.18)
project({0} LANGUAGES CXX CUDA)

if(NOT DEFINED CMAKE_BUILD_TYPE OR CMAKE_BUILD_TYPE STREQUAL "")
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({0} STATIC {0}_launch.cu)
target_include_directories({0} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_features({0} PUBLIC cuda_std_17)
set_target_properties({0} PROPERTIES CUDA_ARCHITECTURES OFF CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  POSITION_INDEPENDENT_CODE ON)
# -gencode by itself: CUDA_ARCHITECTURES would compile for a plain target, too.
target_compile_options({0} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:{1}>)

add_executable({0}_benchmark {0}_benchmark.cu)
set_target_properties({0}_benchmark PROPERTIES CUDA_ARCHITECTURES OFF CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON)
target_compile_options({0}_benchmark PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:{2}>)
target_link_libraries({0}_benchmark PRIVATE {0})
)",
      subject.name,
      fmt::format("SHELL:-gencode arch=compute_{0},code=sm_{0}{1}{2}", subject.arch.sm().substr(3),
                  options.empty() ? "" : " ", fmt::join(options, " ")),
      fmt::format("SHELL:-gencode arch=compute_{0},code=sm_{0}", subject.arch.sm().substr(3)));
}

std::string tensor_rows(const ExportSubject& subject) {
  std::string text = "| tensor | | type and shape | |\n|---|---|---|---|\n";
  for (const ExportedTensor& tensor : subject.tensors)
    text += fmt::format("| `{}` | {} | {} | {} |\n", tensor.spec->name, tensor.input ? "input" : "output",
                        shape_text(*tensor.spec),
                        tensor.alias.empty() ? tensor.spec->description
                                             : fmt::format("takes the place of `{}`", tensor.alias));
  return text;
}

std::string axis_rows(const ExportSubject& subject) {
  std::string text = "| axis | value | |\n|---|---|---|\n";
  for (const Axis& axis : subject.problem.definition.axes)
    text += fmt::format("| `{}` | {} | {} |\n", axis.name, axis.value ? std::to_string(*axis.value) : "any",
                        axis.description);
  return text;
}

std::string limits_text(const ExportSubject& subject) {
  std::string text;
  for (const std::string& one : subject.problem.definition.constraints)
    text += fmt::format("- `{}` (of the problem)\n", one);
  for (const Expression& one : subject.candidate.plan.constraints)
    text += fmt::format("- `{}` (of the kernel)\n", one.text());
  return text.empty() ? "None but that every size is at least 1.\n" : text;
}

std::string arguments_text(const ExportSubject& subject) {
  std::vector<std::string> names;
  for (const ExportedTensor* tensor : subject.parameters()) names.push_back(tensor->name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string readme(const ExportSubject& subject, const ExportFacts& facts) {
  const Definition& definition = subject.problem.definition;
  std::vector<std::string> sizes, inputs;
  for (const Axis* axis : subject.axes) sizes.push_back(axis->name);
  for (const ExportedTensor& tensor : subject.tensors)
    if (tensor.input) inputs.push_back(tensor.name);
  return fmt::format(
      R"(# {0}

{1}

{2}
{3}
Tensors are contiguous, the last axis the fastest. Compiled for `{4}`; it runs on no other target.

## Limits

{5}
`{6}_refusal(shape)` says why a shape is not taken. Sizes that are not among those measured below were not timed.

## Measured

{7}
## Use it from C++

```cpp
#include "{6}.h"

const {6}_shape shape{{{8}}};
void* workspace = nullptr;  // {6}_workspace_bytes(shape) bytes of device memory
{6}_launch(shape, {9}, workspace, {6}_workspace_bytes(shape), stream);
```

`CMakeLists.txt` builds the library `{6}` and `{6}_benchmark`, which checks the function against the problem's reference
and times it: `cmake -S . -B build && cmake --build build && build/{6}_benchmark`.

## Use it from PyTorch

```sh
cd torch && pip install --no-build-isolation .    # or: python3 check.py
```
```python
from {6} import {6}
result = {6}({10})
```

`{6}_out(...)` writes into tensors that it is given. There is no derivative. `python3 torch/check.py` builds the
operators and compares them with `torch/reference.py` on the problem's shapes.

## Files

| file | is |
|---|---|
| `{6}.cu` | the kernel with its tunables fixed; `alphakernel evaluate {6}.cu` measures it again |
| `{6}.h`, `{6}_launch.cu` | the launch function |
| `{6}_benchmark.cu`, `CMakeLists.txt` | check and benchmark |
| `torch/` | the PyTorch operators |

## Licence

The host code was written by AlphaKernel {11} and may be used under Apache-2.0. {12}
)",
      definition.name,
      definition.description.empty() ? "A kernel for " + definition.name + "." : definition.description,
      tensor_rows(subject), axis_rows(subject), subject.arch.sm(), limits_text(subject), subject.name,
      facts.measured, fmt::join(sizes, ", "), arguments_text(subject), fmt::join(inputs, ", "), facts.version,
      facts.origin);
}

}  // namespace

std::string export_name(const Definition& definition) {
  std::string name;
  for (const char c : definition.name) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += word ? c : '_';
  }
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "kernel_" + name : name;
}

Result<std::vector<ExportedFile>> export_files(const ProblemInstance& problem, const Candidate& candidate,
                                               const Arch& arch, const ExportFacts& facts) {
  const ExportSubject subject = subject_of(problem, candidate, arch);
  if (const std::string why = refusal_reason(subject); !why.empty()) return InputError{why};
  const Result<std::string> launcher = export_launcher(subject);
  if (!launcher) return launcher.error();
  std::vector<ExportedFile> files{
      {subject.name + ".cu", emit_kernel(problem, candidate)},
      {subject.name + ".h", export_header(subject)},
      {subject.name + "_launch.cu", *launcher},
      {subject.name + "_benchmark.cu", emit_exported_benchmark(problem, candidate, arch, subject.name)},
      {"CMakeLists.txt", cmake_file(subject)},
      {"README.md", readme(subject, facts)}};
  for (ExportedFile& file : export_torch(subject)) files.push_back(std::move(file));
  return files;
}

}  // namespace ak::codegen
