// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/export/export.h"

namespace ak::codegen {

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
  std::string name;                     ///< export_name()
  std::string kernel_file;              ///< that the launcher includes
  std::vector<const Axis*> axes;        ///< those that vary
  std::vector<const Axis*> derived;     ///< those that follow from others
  std::vector<ExportedTensor> tensors;  ///< inputs first

  /// Those that are parameters: all except outputs that share an input's memory.
  [[nodiscard]] std::vector<const ExportedTensor*> parameters() const;
};

/// "float32 [M, N]"; "float32, a scalar".
[[nodiscard]] std::string shape_text(const TensorSpec& tensor);

/// NAME.h.
[[nodiscard]] std::string export_header(const ExportSubject& subject);
/// NAME_launch.cu: the launch plan as host code. Errors as export_files().
[[nodiscard]] Result<std::string> export_launcher(const ExportSubject& subject);
/// Both in one file, for one .cu file of a program.
[[nodiscard]] Result<std::string> export_launch_header(const ExportSubject& subject);

/// torch/: the source of the operators, how it is built, and a check against the definition's reference.
[[nodiscard]] std::vector<ExportedFile> export_torch(const ExportSubject& subject);

}  // namespace ak::codegen
