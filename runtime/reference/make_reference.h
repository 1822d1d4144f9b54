// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/reference/reference.h"

namespace ak::runtime {

/// The reference of run_context.problem, which must outlive it: its kernel, or the process of its Python file, which is
/// started here. Throws CudaError, Error(bad_input) where the file cannot be used, Error(environment).
[[nodiscard]] std::unique_ptr<Reference> make_reference(RunContext& run_context);

}  // namespace ak::runtime
