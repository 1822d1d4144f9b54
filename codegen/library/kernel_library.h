// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "codegen/export/export.h"
#include "core/build.h"
#include "core/text/json.h"

namespace ak::codegen {

/// A kernel that becomes an operator of a library.
struct LibraryKernel {
  std::string name;  ///< of the operator
  const ProblemInstance& problem;
  const Candidate& candidate;
  /// Of every target that it was built for, one at least; what has no name there is never launched.
  std::vector<BuildResult> builds;
  std::vector<Arch> archs;  ///< of `builds`
};

/// Its host code, for any compiler of C++20 next to library_sources(). Files are below the folder that is compiled.
struct LibraryOperator {
  std::vector<ExportedFile> sources;  ///< compiled
  std::vector<ExportedFile> headers;  ///< for users of C++, too
  std::vector<ExportedFile> images;   ///< machine code, which the sources include
  Json description;                   ///< what library.json says of it
  std::string reference;              ///< Python with run(); empty where it has none
};
/// @param library  name of the library, which what the host code defines begins with
/// Errors say why a kernel can be no operator.
[[nodiscard]] Result<LibraryOperator> library_operator(const LibraryKernel& kernel,
                                                       const std::string& library);

/// What does not depend on the operators: the launcher, and the module for Python.
/// @param archs for messages: "sm_90a, sm_100a"
[[nodiscard]] std::vector<ExportedFile> library_sources(const std::string& library,
                                                        const std::vector<std::string>& operators,
                                                        const std::string& archs);
/// "module.cpp": the one of library_sources() that is linked into a file of its own.
inline constexpr const char* kLibraryModule = "module.cpp";

/// What surrounds the compiled files: Python, CMake, README.md; below the folder that pip takes.
/// @param description  of the whole library: "name", "version", "operators"
[[nodiscard]] std::vector<ExportedFile> library_package(const Json& description);

}  // namespace ak::codegen
