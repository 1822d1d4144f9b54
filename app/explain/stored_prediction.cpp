// SPDX-License-Identifier: Apache-2.0
#include "app/explain/stored_prediction.h"

#include <fmt/format.h>

#include <vector>

#include "app/predict/database_cells.h"
#include "app/predict/predicted_score.h"
#include "db/read/table_rows.h"

namespace ak::app {

std::optional<PredictedScore> stored_prediction(const std::filesystem::path& database, RowId evaluation) {
  const std::string sql = fmt::format(
      "SELECT w.name AS workload, p.model, p.limiter, w.weight, p.predicted_ns, p.low_ns, p.high_ns FROM "
      "predictions p "
      "JOIN workloads w ON w.id = p.workload_id WHERE p.evaluation_id = {} AND p.low_ns IS NOT NULL ORDER BY "
      "p.id",
      evaluation);
  std::string model;
  std::vector<PredictedTime> times;
  std::vector<double> weights;
  const db::Table table = db::query(database, sql, 0, kQueryPatience);
  for (const db::TableRow& row : db::rows_of(table)) {
    model = row.text("model");
    times.push_back({.workload = row.text("workload"),
                     .time = Nanoseconds(row.real("predicted_ns")),
                     .low = Nanoseconds(row.real("low_ns")),
                     .high = Nanoseconds(row.real("high_ns")),
                     .limiter = row.text("limiter")});
    weights.push_back(row.real("weight"));
  }
  return predicted_score(std::move(model), std::move(times), weights);
}

}  // namespace ak::app
