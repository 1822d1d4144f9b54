// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/candidate.h"
#include "core/plan/definition.h"
#include "core/store.h"

namespace ak::db {

// Rows as other programs exchange them (app/exchange). All throw Error(database).

struct ExchangedDefinition {
  RowId id = 0;
  std::string name, problem;  ///< family
  Json params, definition;
};
/// The latest of every name, by name.
[[nodiscard]] std::vector<ExchangedDefinition> exchanged_definitions(const std::filesystem::path& file);

struct ExchangedWorkload {
  std::string uid, name, tier;
  AxisValues axes;
  double weight = 1;
  bool checked = true, timed = true;
  std::optional<std::int64_t> flops, bytes_read, bytes_written;
};
/// The latest of every identity, in the order they were first stored.
[[nodiscard]] std::vector<ExchangedWorkload> exchanged_workloads(const std::filesystem::path& file,
                                                                 RowId definition);

struct ExchangedVariant {
  RowId id = 0;
  std::string hash, name, source;
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
  std::optional<double> median_ns, baseline_ns;  ///< baseline: `naive`, else the slowest of the session
};
[[nodiscard]] std::vector<ExchangedResult> exchanged_results(const std::filesystem::path& file,
                                                             RowId variant);

/// Adds rows in one transaction; what is there already is left as it is.
class ExchangeWriter {
 public:
  /// Creates and migrates the file as open_store() does.
  explicit ExchangeWriter(const std::filesystem::path& file);
  ~ExchangeWriter();
  ExchangeWriter(const ExchangeWriter&) = delete;
  ExchangeWriter& operator=(const ExchangeWriter&) = delete;

  RowId put_definition(const Definition& definition, const std::string& problem, const Json& params);
  void put_workload(RowId definition, const ExchangedWorkload& workload);
  void put_variant(RowId definition, const Candidate& candidate, const Json& params);
  void commit();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ak::db
