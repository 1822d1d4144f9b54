// SPDX-License-Identifier: Apache-2.0
#include "db/pool/pool_rows.h"

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

void put_calibration(Connection& connection, RowId search, const CalibrationRecord& record) {
  insert(connection, "calibrations",
         {{"uid", random_uid()},
          {"search_id", search},
          {"device_id", put_device(connection, *record.device)},
          {"place", record.place},
          {"compute_ns", record.calibration.compute_ns},
          {"copy_ns", record.calibration.copy_ns},
          {"memory_errors", record.calibration.memory_errors},
          {"sm_clock_mhz", positive(record.calibration.sm_clock_mhz)},
          {"drift", record.drift},
          {"objection", not_empty(record.objection)},
          {"calibrated_at", utc_now()}});
}

void put_place(Connection& connection, RowId search, std::int64_t number, const PoolPlace& place) {
  std::optional<RowId> device;
  if (place.device) device = put_device(connection, *place.device);
  insert(connection, "pool_places",
         {{"search_id", search},
          {"number", number},
          {"place", place.place},
          {"device_id", device},
          {"doing", place.doing},
          {"breaker", to_string(place.breaker)},
          {"reason", not_empty(place.reason)},
          {"sm_clock_mhz", positive(place.sm_clock_mhz)},
          {"answers", std::int64_t{place.answers}},
          {"present_s", std::chrono::duration<double>(place.present).count()},
          {"noted_at", utc_now()}});
}

}  // namespace

void put_pool(Connection& connection, RowId search, const PoolReport& report) {
  for (const CalibrationRecord& record : report.calibrations) put_calibration(connection, search, record);
  if (report.places.empty()) return;
  run(connection, "DELETE FROM pool_places WHERE search_id = :search", {{"search", search}});
  std::int64_t number = 0;
  for (const PoolPlace& place : report.places) put_place(connection, search, ++number, place);
}

}  // namespace ak::db
