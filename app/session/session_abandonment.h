// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/store.h"

namespace ak::app {

/// Gives up a session that does not run: what its searches asked is withdrawn, those that are not done are skipped, and
/// it is finished. Kernels that were found, and all that was measured, stay. Throws Error(usage) where it runs or has
/// ended for good.
void abandon_session(const std::filesystem::path& database, RowId session);

}  // namespace ak::app
