// SPDX-License-Identifier: Apache-2.0
#include "app/explain/stored_prediction.h"

#include <fmt/format.h>

#include <vector>

#include "app/predict/database_cells.h"
#include "app/predict/predicted_score.h"

namespace ak::app {

std::optional<PredictedScore> stored_prediction(const std::filesystem::path& database, RowId evaluation) {
  const std::string sql = fmt::format(
      "SELECT w.name, p.model, p.limiter, w.weight, p.predicted_ns, p.low_ns, p.high_ns FROM predictions p "
      "JOIN workloads w ON w.id = p.workload_id WHERE p.evaluation_id = {} AND p.low_ns IS NOT NULL ORDER BY "
      "p.id",
      evaluation);
  std::string model;
  std::vector<PredictedTime> times;
  std::vector<double> weights;
  for (const auto& row : db::query(database, sql, 0, kQueryPatience).rows) {
    const auto real = [&row](std::size_t column) { return std::get<double>(row[column]); };
    model = text(row[1]);
    times.push_back({.workload = text(row[0]),
                     .time_ns = real(4),
                     .low_ns = real(5),
                     .high_ns = real(6),
                     .limiter = text(row[2])});
    weights.push_back(real(3));
  }
  return predicted_score(std::move(model), std::move(times), weights);
}

}  // namespace ak::app
