// SPDX-License-Identifier: Apache-2.0
#include "core/device/energy_metrics.h"
#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/evaluation_rows.h"
#include "db/store/line_metrics.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

struct Metric {
  std::string_view kernel, name, unit;  ///< kernel: empty where it is of all of them
  double value = 0;
};

/// Metrics of one workload.
class WorkloadMetrics {
 public:
  WorkloadMetrics(const EvaluationRows& rows, const std::string& workload)
      : rows_(rows), workload_(rows.workload(workload)) {}

  void put(const Metric& metric) const {
    insert(rows_.connection, "metrics",
           {{"uid", random_uid()},
            {"evaluation_id", rows_.evaluation},
            {"workload_id", workload_},
            {"kernel", metric.kernel},
            {"name", metric.name},
            {"unit", metric.unit},
            {"value", metric.value}});
  }

 private:
  const EvaluationRows& rows_;
  RowId workload_;
};

void put_measured(const EvaluationRows& rows, const Measurement& measurement) {
  const WorkloadMetrics metrics(rows, measurement.workload);
  for (const auto& [name, value] : measurement.counts)
    metrics.put(
        {.kernel = "", .name = name, .unit = unit_of_count(name), .value = static_cast<double>(value)});
  if (measurement.role == MeasurementRole::candidate && measurement.prepared_bytes > 0 && measurement.cold) {
    metrics.put({.kernel = "", .name = kPrepareTime, .unit = "ns", .value = measurement.prepare_ns});
    metrics.put({.kernel = "",
                 .name = kPrepareBytes,
                 .unit = "bytes",
                 .value = static_cast<double>(measurement.prepared_bytes)});
  }
  if (!measurement.energy) return;
  for (const EnergyMetric& metric : energy_metrics(*rows.record.request->problem, measurement))
    metrics.put({.kernel = "", .name = metric.name, .unit = metric.unit, .value = metric.value});
}

void put_launch(const WorkloadMetrics& metrics, const Profile& profile, const LaunchProfile& launch) {
  for (const auto& [name, value] : launch.metrics) {
    const auto unit = profile.units.find(name);
    metrics.put({.kernel = launch.kernel,
                 .name = name,
                 .unit = unit == profile.units.end() ? std::string_view() : unit->second,
                 .value = value});
  }
  for (const LineSamples& line : launch.lines)
    for (const auto& [reason, samples] : line.samples)
      metrics.put({.kernel = launch.kernel,
                   .name = line_metric(line.line, reason),
                   .unit = "samples",
                   .value = static_cast<double>(samples)});
}

}  // namespace

void put_metrics(const EvaluationRows& rows) {
  for (const Measurement& measurement : rows.record.result->measurements)
    if (measurement.role == MeasurementRole::candidate) put_measured(rows, measurement);
  for (const Profile& profile : rows.record.result->profiles) {
    const WorkloadMetrics metrics(rows, profile.workload);
    for (const LaunchProfile& launch : profile.launches) put_launch(metrics, profile, launch);
  }
}

}  // namespace ak::db
