// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "core/plan/candidate.h"
#include "core/plan/definition.h"
#include "core/store.h"
#include "db/sqlite.h"
#include "db/store/catalogue_rows.h"

namespace ak::db {

/// Adds rows that other programs made, in one transaction; what is there already is left as it is. Without
/// commit() nothing is added. Throws Error(database).
class ExchangeWriter {
 public:
  /// Creates and migrates the file as open_store() does.
  explicit ExchangeWriter(const std::filesystem::path& file);

  RowId put_definition(const Definition& definition, const std::string& problem, const Json& params);
  void put_workload(RowId definition, const WorkloadRow& workload);
  void put_variant(RowId definition, const Candidate& candidate, const Json& params);
  void commit() { transaction_.commit(); }

 private:
  Connection connection_;
  Transaction transaction_;
};

}  // namespace ak::db
