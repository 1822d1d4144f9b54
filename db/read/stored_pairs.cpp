// SPDX-License-Identifier: Apache-2.0
#include "db/read/stored_pairs.h"

#include <algorithm>

#include "db/read/evaluation_parts.h"
#include "db/rows.h"
#include "db/upgrade.h"

namespace ak::db {
namespace {

constexpr const char* kComparisons =
    "SELECT DISTINCT evaluation, device FROM comparisons WHERE challenger = :challenger AND champion = "
    ":champion AND status = 'ok' ORDER BY evaluation";

/// The candidate and the champion change places.
void turn(std::vector<Measurement>& measurements) {
  for (Measurement& m : measurements) {
    if (m.role == MeasurementRole::baseline) continue;
    m.role = m.role == MeasurementRole::candidate ? MeasurementRole::champion : MeasurementRole::candidate;
  }
}

}  // namespace

std::vector<StoredPairs> find_pairs(const std::filesystem::path& file, RowId first, RowId second) {
  Connection connection = open_to_read(file);
  std::vector<StoredPairs> list;
  for (const bool turned : {false, true}) {
    Rows row = select(connection, kComparisons,
                      {{"challenger", turned ? second : first}, {"champion", turned ? first : second}});
    while (row.next()) {
      StoredPairs& pairs = list.emplace_back();
      pairs.evaluation = row.integer("evaluation");
      pairs.device = row.text("device");
      pairs.result.outcome.status = Status::ok;
      pairs.result.measurements = select_measurements(connection, pairs.evaluation);
      if (turned) turn(pairs.result.measurements);
    }
  }
  std::ranges::sort(list, {}, &StoredPairs::evaluation);
  return list;
}

}  // namespace ak::db
