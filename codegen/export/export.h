// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "codegen/export/export_name.h"
#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/result.h"

namespace ak::codegen {

/// A file of an exported kernel.
struct ExportedFile {
  std::string path;  ///< below the folder
  std::string text;
};

/// What the README says in addition to what the kernel computes; Markdown.
struct ExportFacts {
  std::string version;   ///< of AlphaKernel
  std::string measured;  ///< where, how fast, what was checked
  std::string origin;    ///< where its source came from, for the licence note
};

/// A kernel as a folder that is used without AlphaKernel: NAME.cu, NAME.h and NAME_launch.cu, a benchmark, a
/// PyTorch extension, CMakeLists.txt, README.md. The errors say why a kernel cannot be exported.
/// @param name  of files, functions, CMake target, Python package and its operators' namespace, without objection
///              (export_name.h); empty: export_name(), and a namespace of the kernel's own
[[nodiscard]] Result<std::vector<ExportedFile>> export_files(const ProblemInstance& problem,
                                                             const Candidate& candidate, const Arch& arch,
                                                             const ExportFacts& facts,
                                                             const std::string& name = "");

/// model_new.py: class ModelNew for KernelBench's evaluator, with the task's own file in it. The errors say why there is
/// none, for example that the problem was not made from such a task.
/// @param name  as export_files() takes it
[[nodiscard]] Result<std::vector<ExportedFile>> kernelbench_files(const ProblemInstance& problem,
                                                                  const Candidate& candidate,
                                                                  const Arch& arch, const ExportFacts& facts,
                                                                  const std::string& name = "");

/// A finished kernel as a function of C++: k.launch.cuh, which one .cu file of a program includes, or which is
/// compiled by itself. Errors as export_files().
/// @param kernel_file next to it, as emit_kernel() writes it
[[nodiscard]] Result<std::string> launch_header(const ProblemInstance& problem, const Candidate& candidate,
                                                const Arch& arch, const std::string& kernel_file);

/// A kernel as a solution for an evaluator of FlashInfer-Bench's data sets, which compiles files with PyTorch's
/// extension builder and its defaults.
struct ExportedSolution {
  std::vector<ExportedFile> files;  ///< the kernel with its launch plan first
  std::string entry;                ///< FILE::FUNCTION
  bool writes_outputs = true;       ///< the function takes outputs after inputs; else it returns them
};
/// Errors as export_files(), and where the function would need a size that no input has.
[[nodiscard]] Result<ExportedSolution> solution_files(const ProblemInstance& problem,
                                                      const Candidate& candidate, const Arch& arch);

}  // namespace ak::codegen
