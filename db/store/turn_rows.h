// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>

#include "core/baseline_turns.h"
#include "core/store.h"

namespace ak::db {

/// Adds turns of a kernel with baselines to the evaluation that they follow, in one transaction. Turns on a workload
/// that the evaluation did not time are left out. Throws Error(database).
void store_turns(const std::filesystem::path& file, RowId evaluation, std::span<const BaselineTurns> turns);

}  // namespace ak::db
