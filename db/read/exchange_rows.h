// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store.h"
#include "core/text/json.h"
#include "db/store/catalogue_rows.h"

namespace ak::db {

// Rows as other programs exchange them (app/exchange). All throw Error(database).

struct ExchangedDefinition {
  RowId id = 0;
  std::string name, problem;  ///< family
  Json params, definition;
};
/// The latest of every name, by name.
[[nodiscard]] std::vector<ExchangedDefinition> exchanged_definitions(const std::filesystem::path& file);

/// The latest of every identity, in the order they were first stored.
[[nodiscard]] std::vector<WorkloadRow> exchanged_workloads(const std::filesystem::path& file,
                                                           RowId definition);

struct ExchangedVariant {
  RowId id = 0;
  std::string hash, name, source, headers;
  Json tunables;
  std::string arch;                  ///< of its latest evaluation on a GPU; empty: it ran on none
  std::vector<std::string> devices;  ///< GPUs that it ran on
};
/// Those that passed on a GPU, or with `all` every one that ran there.
[[nodiscard]] std::vector<ExchangedVariant> exchanged_variants(const std::filesystem::path& file,
                                                               RowId definition, bool all);

/// The result of a variant on a shape, on a GPU.
struct ExchangedResult {
  std::string workload_uid, status, message, device, version, ended_at;
  std::int64_t driver_version = 0;
  std::optional<double> max_error;       ///< largest relative error of all checks on the shape
  std::optional<double> absolute_error;  ///< of the worst element of these
  bool checked = false;
  std::optional<double> median_ns, baseline_ns;  ///< baseline: `naive`, else the slowest of the search
};
[[nodiscard]] std::vector<ExchangedResult> exchanged_results(const std::filesystem::path& file,
                                                             RowId variant);

}  // namespace ak::db
