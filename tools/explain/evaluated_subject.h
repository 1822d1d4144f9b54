// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/store.h"
#include "tools/config.h"
#include "tools/explain/explanation.h"
#include "tools/kernel_choice.h"

namespace ak::tools {

/// A kernel that is to be spoken of.
struct KernelSubject {
  std::shared_ptr<const ProblemInstance> problem;
  KernelChoice choice;
  std::string file;  ///< as the command line names it
};

/// How it is to be evaluated where it must be.
struct EvaluationWish {
  std::string device, arch;  ///< flags; both may be empty
  std::string command;       ///< stored with the session
  bool unaudited = false;
};

/// The kernel with what the database has of it, once it was evaluated: now, where it never was or the wish
/// names a device. Throws Error as evaluate_once() and choose_target() do.
[[nodiscard]] StoredKernel evaluated_kernel(const KernelSubject& subject, const EvaluationWish& wish,
                                            const Config& config, const std::filesystem::path& database);

}  // namespace ak::tools
