// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "db/database.h"
#include "serve/dashboard/dashboard_server.h"

namespace ak::dashboard {

/// Figures of the searches that run, and of the devices of their pools, in Prometheus' text format: of a database as it
/// is now. Devices are called by their product and the number of their place in the pool, so that no command, path or
/// address is in it. A database that cannot be read is 503 with a sentence.
[[nodiscard]] PageResponse metrics(const std::filesystem::path& database,
                                   std::chrono::milliseconds time_limit);

/// The samples of one metric: every row one, with the columns before the last for labels, and the last for its value.
/// Rows whose value is NULL are left out.
[[nodiscard]] std::string metric_samples(std::string_view name, const db::Table& table);

}  // namespace ak::dashboard
