// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/export/export.h"

namespace ak::codegen {

/// What torch.utils.cpp_extension defines: it takes the arithmetic of small types away, which kernels use.
inline constexpr std::array<std::string_view, 6> kTakenAway{
    "__CUDA_NO_HALF_OPERATORS__",     "__CUDA_NO_HALF_CONVERSIONS__",     "__CUDA_NO_HALF2_OPERATORS__",
    "__CUDA_NO_BFLOAT16_OPERATORS__", "__CUDA_NO_BFLOAT16_CONVERSIONS__", "__CUDA_NO_BFLOAT162_OPERATORS__"};

/// A tensor as the launch function takes it.
struct ExportedTensor {
  const TensorSpec* spec = nullptr;
  std::string name;  ///< of the parameter
  bool input = false;
  std::string alias;  ///< of an output: parameter of the input whose memory it shares; else empty

  [[nodiscard]] bool scalar() const { return spec->is_scalar(); }
};

/// What every exported file mentions.
struct ExportSubject {
  const ProblemInstance& problem;
  const Candidate& candidate;
  Arch arch;
  std::string name;                     ///< of functions, files, target and package
  bool named = false;                   ///< by its user; else it is export_name()
  std::string kernel_file;              ///< that the launcher includes
  std::vector<const Axis*> axes;        ///< those that vary
  std::vector<const Axis*> derived;     ///< those that follow from others
  std::vector<ExportedTensor> tensors;  ///< inputs first
  bool loaded = false;  ///< machine code is loaded; else the kernel is compiled with its launcher

  /// Those that are parameters: all except outputs that share an input's memory.
  [[nodiscard]] std::vector<const ExportedTensor*> parameters() const;
  [[nodiscard]] std::vector<const ExportedTensor*> weights() const;
};

/// What every file mentions of a kernel; refers to `problem` and `candidate`.
/// @param name  empty: export_name()
[[nodiscard]] ExportSubject export_subject(const ProblemInstance& problem, const Candidate& candidate,
                                           const Arch& arch, const std::string& name = "");

/// NAME.cu, NAME.h and NAME_launch.cu. Errors as export_files().
[[nodiscard]] Result<std::vector<ExportedFile>> export_sources(const ExportSubject& subject);

/// "float32 [M, N]"; "float32, a scalar".
[[nodiscard]] std::string shape_text(const TensorSpec& tensor);

/// "N and K": axes that what prepares weights depends on; "no axis" where there is none.
[[nodiscard]] std::string prepared_axes_text(const ExportSubject& subject);

/// NAME.h.
[[nodiscard]] std::string export_header(const ExportSubject& subject);
/// NAME_launch.cu: the launch plan as host code. Errors as export_files().
[[nodiscard]] Result<std::string> export_launcher(const ExportSubject& subject);
/// The kernels that a launch plan calls, each once: their places are those in which a loaded launcher asks for them.
[[nodiscard]] std::vector<std::string> loaded_kernels(const LaunchPlan& plan);
/// C++ that returns the member of a set that takes `shape` (0: it is one kernel) after what it is computed from.
struct ChosenMember {
  std::string definitions, value;
};
/// Errors as export_files().
[[nodiscard]] Result<ChosenMember> exported_member(const ExportSubject& subject);
/// Axes on which prepared weights depend; those of prepared_axes_text().
[[nodiscard]] std::vector<std::string> prepared_axes(const ExportSubject& subject);
/// Of tensors' beginnings, bytes.
[[nodiscard]] int alignment_bytes(const Arch& arch);

/// Both in one file, for one .cu file of a program.
[[nodiscard]] Result<std::string> export_launch_header(const ExportSubject& subject);

/// The namespace of its operators in PyTorch: the name that its user gave, else "alphakernel_1a2b3c4d", of the kernel's
/// text and target, so that two exports of one definition can be loaded into one process.
[[nodiscard]] std::string operator_space(const ExportSubject& subject);

/// torch/: the source of the operators, how it is built, and a check against the definition's reference.
[[nodiscard]] std::vector<ExportedFile> export_torch(const ExportSubject& subject);

/// A pybind11 module with the one function NAME(), which takes inputs and returns outputs, or with `writes_outputs` takes
/// these, too. NAME.h has to be next to it.
[[nodiscard]] std::string module_binding(const ExportSubject& subject, bool writes_outputs = false);

/// Axes that vary and are no size of an input: who calls a function of PyTorch has to give them.
[[nodiscard]] std::vector<std::string> sizes_without_input(const ExportSubject& subject);

/// Options of nvcc as a Python list.
[[nodiscard]] std::string target_flags(const ExportSubject& subject);
/// As TORCH_CUDA_ARCH_LIST names it: "9.0a".
[[nodiscard]] std::string torch_arch(const Arch& arch);
/// A text as a Python literal.
[[nodiscard]] std::string python_text(const std::string& text);

}  // namespace ak::codegen
