// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>

#include "db/database.h"

namespace ak::db {

// What models of times learn from (docs/prediction.md). The columns have the names of what they hold. All
// throw as query().

/// Every variant on every workload that a GPU timed, once a device: mean of the medians in nanoseconds, facts of the
/// device, resources of the kernels as JSON.
[[nodiscard]] Table measured_call_rows(const std::filesystem::path& file, std::chrono::milliseconds limit);

/// A row a count: the CPU device counted the variant of that hash on some shape. Rows of one evaluation and
/// shape are neighbours.
[[nodiscard]] Table emulated_count_rows(const std::filesystem::path& file, std::chrono::milliseconds limit);

/// The definitions and sources that those rows name.
[[nodiscard]] Table definition_rows(const std::filesystem::path& file, std::chrono::milliseconds limit);
[[nodiscard]] Table source_rows(const std::filesystem::path& file, std::chrono::milliseconds limit);

}  // namespace ak::db
