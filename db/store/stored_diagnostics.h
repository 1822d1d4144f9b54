// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/outcome.h"

namespace ak::db {

/// The column evaluations.diagnostics, read back.
[[nodiscard]] std::vector<Diagnostic> stored_diagnostics(const std::string& stored);

}  // namespace ak::db
