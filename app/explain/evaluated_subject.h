// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/evaluate/kernel_choice.h"
#include "app/explain/explanation.h"
#include "app/setup/config.h"
#include "core/store.h"

namespace ak::app {

/// A kernel that is to be described.
struct KernelSubject {
  std::shared_ptr<const ProblemInstance> problem;
  KernelChoice choice;
  std::string file;  ///< as the command line names it
};

/// How it is to be evaluated where it must be.
struct EvaluationOptions {
  std::string device, arch;  ///< flags; both may be empty
  std::string command;       ///< stored with the search
  bool unaudited = false;
};

/// The kernel with what the database has of it, once it was evaluated: now, where it never was or the wish
/// names a device. Throws Error as evaluate_once() and choose_target() do.
[[nodiscard]] StoredKernel evaluated_kernel(const KernelSubject& subject,
                                            const EvaluationOptions& evaluation_options, const Config& config,
                                            const std::filesystem::path& database);

}  // namespace ak::app
