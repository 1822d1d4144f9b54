// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/build.h"
#include "core/device/arch.h"
#include "core/plan/candidate.h"
#include "core/plan/problem.h"
#include "core/result.h"

namespace ak::codegen {

/// What makes a piece of source host code, as a sentence; null when nothing does. @param code comments
/// and strings blanked
[[nodiscard]] const char* host_mistake(std::string_view code);
/// A header of a library that runs on the host.
[[nodiscard]] bool is_host_header(std::string_view name);

/// A header that may be included by candidates and declares something for the device: ours, or the toolkit's.
[[nodiscard]] bool is_toolkit_header(std::string_view name);

/// Static checks before anything is compiled: host code (with a sentence for a model), includes that
/// are not on the allow-list (docs/candidate.md), names that clash with axes or tensors, a plan that
/// refers to unknown tensors. Empty when nothing is wrong. The text check only words the message;
/// Landlock enforces includes.
[[nodiscard]] std::vector<Diagnostic> pre_check(const ProblemInstance& problem, const Candidate& candidate);

/// Candidate source with prelude, shims, device headers and constants inserted, ready for NVRTC. Messages name the
/// candidate's file or a header's, and its line there.
/// Errors: a broken plan (an option not on the allow-list, a tunable without a value).
[[nodiscard]] Result<TranslationUnit> assemble(const ProblemInstance& problem, const Candidate& candidate,
                                               const Arch& arch);

/// What reference.cu is compiled as. `exact`: accumulates in fp64, floating outputs are double. `twin`:
/// the honest low-precision version (AK_TWIN), outputs have the definition's dtype. A mutation adds its
/// macro to `twin`.
enum class ReferenceMode : std::uint8_t { exact, twin };
[[nodiscard]] Result<TranslationUnit> assemble_reference(const ProblemInstance& problem, const Arch& arch,
                                                         ReferenceMode mode,
                                                         const Mutation* mutation = nullptr);

/// A translation unit with this text and the device headers that it includes, the shims and the standard options: tests
/// and harness kernels.
[[nodiscard]] TranslationUnit assemble_plain(std::string file_name, std::string source, const Arch& arch);

}  // namespace ak::codegen
