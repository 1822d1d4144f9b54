// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "app/kernel_library/model_operators.h"
#include "runtime/reference/python_installation.h"

namespace ak::app {

/// What a PyTorch model runs on its own inputs.
struct TracedModel {
  ModelStep step;  ///< "forward", of no batch and no length but the file's
  std::vector<std::string> notes;
};

/// Longer than a model of a few layers takes on a CPU, patterns and their checks included (chosen).
inline constexpr std::chrono::minutes kTraceLimit{5};

/// Runs a file with a PyTorch module and inputs (docs/python.md#bringing-a-module) once in a confined reference process, and
/// finds the library's operators in what it ran, by patterns.json: each was compared there with what it replaces. Throws
/// Error(bad_input) with what is wrong with the file, Error(environment) where the process does not start.
[[nodiscard]] TracedModel trace_model(const std::filesystem::path& file,
                                      const runtime::PythonInstallation& python);

}  // namespace ak::app
