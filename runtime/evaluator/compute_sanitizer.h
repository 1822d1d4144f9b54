// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/evaluation.h"
#include "runtime/evaluator/local_evaluator.h"

namespace ak::runtime {

/// NVIDIA's program that watches every access of kernels on the GPU itself. Looks in the toolkit's folders
/// and in $PATH; empty where it is not installed.
[[nodiscard]] std::filesystem::path find_compute_sanitizer();

/// What one of its tools wrote to its log.
struct SanitizerLog {
  int errors = 0;       ///< warnings and notes are none
  std::string finding;  ///< the first, in its words; empty when there is none
};
/// Nothing when the log has neither a finding nor a summary: the tool did not get so far.
[[nodiscard]] std::optional<SanitizerLog> read_sanitizer_log(std::string_view text);

/// Runs every request under memcheck, racecheck and synccheck in turn, each with a device worker of its
/// own; the first finding ends it as `memory_error` or `race`. What the tools cannot do ends as
/// `unsupported`, in their words.
/// @param options of the search's evaluator on a GPU
/// @param program as find_compute_sanitizer() gives it
[[nodiscard]] std::unique_ptr<Evaluator> make_compute_sanitizer(EvaluatorOptions options,
                                                                SourceAssembler assembler,
                                                                std::filesystem::path program,
                                                                DeviceFacts device);

}  // namespace ak::runtime
