// SPDX-License-Identifier: Apache-2.0
#include "db/store/turn_rows.h"

#include "db/rows.h"
#include "db/schema.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

void put_turns(Connection& connection, RowId evaluation, RowId workload, const BaselineTurns& turns) {
  insert(connection, "turns",
         {{"uid", random_uid()},
          {"evaluation_id", evaluation},
          {"workload_id", workload},
          {"label", turns.label},
          {"time_column", to_string(turns.column)},
          {"ratio", turns.ratio},
          {"ci_low", turns.interval.low},
          {"ci_high", turns.interval.high},
          {"kernel_ns", turns.kernel_ns},
          {"baseline_ns", turns.baseline_ns},
          {"rounds", turns.rounds},
          {"kernel_late", turns.kernel_late},
          {"baseline_late", turns.baseline_late},
          {"kernel_peak_bytes", turns.kernel_peak_bytes},
          {"baseline_peak_bytes", turns.baseline_peak_bytes},
          {"settings", turns.settings.dump()},
          {"timed_at", utc_now()}});
}

}  // namespace

void store_turns(const std::filesystem::path& file, RowId evaluation, std::span<const BaselineTurns> turns) {
  Connection connection(file, OpenMode::create);
  prepare_database(connection, file);
  Transaction transaction(connection);
  for (const BaselineTurns& one : turns) {
    const auto workload =
        select_integer(connection,
                       "SELECT w.id FROM measurements m JOIN workloads w ON w.id = m.workload_id "
                       "WHERE m.evaluation_id = :evaluation AND w.name = :name",
                       {{"evaluation", evaluation}, {"name", one.workload}});
    if (workload) put_turns(connection, evaluation, *workload, one);
  }
  transaction.commit();
}

}  // namespace ak::db
