// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <utility>

#include "app/explain/evaluated_subject.h"

namespace ak::app {

/// Two kernels for one problem as they can be compared. Where the options name a device, both are evaluated
/// on it now and, on a GPU, timed alternately; else they are as the database has them, on one device where it
/// has such, and what was never evaluated is evaluated. Throws Error(usage) where the device runs no kernels,
/// else as evaluated_kernel().
[[nodiscard]] std::pair<StoredKernel, StoredKernel> compared_kernels(
    const KernelSubject& first, const KernelSubject& second, const EvaluationOptions& evaluation_options,
    const Config& config, const std::filesystem::path& database);

}  // namespace ak::app
