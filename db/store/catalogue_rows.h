// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/evaluation.h"
#include "core/store.h"
#include "db/sqlite.h"

namespace ak::db {

// What many rows refer to: environments, devices, definitions and workloads. Each function returns the id of the
// row with this content and adds it where there is none. All throw SqliteError and belong into a transaction of
// the caller.

/// This machine with the device's driver and this version of AlphaKernel.
RowId put_environment(Connection& connection, const DeviceFacts& device, const std::string& version);

RowId put_device(Connection& connection, const DeviceFacts& device);

/// @param problem its family: "softmax"
RowId put_definition(Connection& connection, const Definition& definition, const std::string& problem,
                     const Json& params);
RowId put_definition(Connection& connection, const ProblemInstance& problem);

/// A shape as a row keeps it. One whose formulas, weight or roles were changed is another row: what was measured
/// keeps the figures it was measured with.
struct WorkloadRow {
  std::string uid, name, tier;  ///< uid: that of FlashInfer-Bench, which is not the row's
  AxisValues axes;
  double weight = 1;
  bool checked = true, timed = true;
  std::optional<std::int64_t> flops, bytes_read, bytes_written;  ///< nothing: the formula has no value
};
RowId put_workload(Connection& connection, RowId definition, const WorkloadRow& workload);
RowId put_workload(Connection& connection, RowId definition, const ProblemInstance& problem,
                   const Workload& workload);

}  // namespace ak::db
