// SPDX-License-Identifier: Apache-2.0
#include "db/read/evaluation_parts.h"

#include "db/rows.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

WorkloadTier tier_of(const std::string& name) {
  if (name == "emulator") return WorkloadTier::emulator;
  return name == "deep" ? WorkloadTier::deep : WorkloadTier::gpu;
}

MeasurementRole role_of(const std::string& name) {
  if (name == "baseline") return MeasurementRole::baseline;
  return name == "champion" ? MeasurementRole::champion : MeasurementRole::candidate;
}

constexpr const char* kMeasurements = R"sql(
SELECT w.name AS workload, m.role AS role, m.label AS label, m.method AS method, m.cold AS cold, m.samples AS samples,
       m.launches_per_sample AS launches_per_sample, m.truncated AS truncated, m.median_ns AS median_ns,
       m.ci_low_ns AS ci_low_ns, m.ci_high_ns AS ci_high_ns, m.throttled AS throttled, m.sm_clock_mhz AS sm_clock_mhz,
       m.memory_clock_mhz AS memory_clock_mhz, m.temperature_c AS temperature_c, m.throttle_reasons AS throttle_reasons
FROM measurements m JOIN workloads w ON w.id = m.workload_id WHERE m.evaluation_id = :evaluation ORDER BY m.id)sql";

constexpr const char* kChecks = R"sql(
SELECT w.name AS workload, c.distribution AS distribution, c.tensor AS tensor, c.passed AS passed,
       c.max_error AS max_error, c.mean_error AS mean_error, c.tolerance AS tolerance,
       c.nonfinite_mismatches AS nonfinite_mismatches
FROM checks c JOIN workloads w ON w.id = c.workload_id WHERE c.evaluation_id = :evaluation ORDER BY w.id)sql";

constexpr const char* kShapes = R"sql(
SELECT name, workload_uid, axes, tier, weight, checked, timed FROM workloads
WHERE id IN (SELECT workload_id FROM evaluation_checks WHERE evaluation_id = :evaluation UNION
             SELECT workload_id FROM measurements WHERE evaluation_id = :evaluation) ORDER BY id)sql";

constexpr const char* kCounts = R"sql(
SELECT w.name AS workload, m.name AS name, m.value AS value FROM metrics m JOIN workloads w ON w.id = m.workload_id
WHERE m.evaluation_id = :evaluation AND m.kernel = '')sql";

Measurement measurement_of(const Rows& row) {
  Measurement m;
  m.workload = row.text("workload");
  m.role = role_of(row.text("role"));
  m.label = row.text("label");
  m.method = row.text("method");
  m.cold = row.flag("cold");
  m.samples_ns = samples_of(row.bytes("samples"));
  m.launches_per_sample = row.integer<int>("launches_per_sample");
  m.truncated = row.flag("truncated");
  m.median_ns = row.real("median_ns").value_or(0);
  m.ci_low_ns = row.real("ci_low_ns").value_or(0);
  m.ci_high_ns = row.real("ci_high_ns").value_or(0);
  if (const std::string json = row.text("throttled"); !json.empty())
    m.throttled = parse_json(json).get<std::vector<std::uint32_t>>();
  m.sm_clock_mhz = row.integer<int>("sm_clock_mhz");
  m.memory_clock_mhz = row.integer<int>("memory_clock_mhz");
  m.temperature_c = row.integer<int>("temperature_c");
  m.throttle_reasons = row.text("throttle_reasons");
  return m;
}

KernelFacts kernel_of(const Rows& row) {
  KernelFacts kernel{
      .expression = row.text("kernel"), .lowered_name = row.text("lowered_name"), .parameter_types = {}};
  kernel.registers = row.integer<int>("registers");
  kernel.static_shared_bytes = row.integer<int>("static_shared_bytes");
  kernel.spill_store_bytes = row.integer<int>("spill_store_bytes");
  kernel.spill_load_bytes = row.integer<int>("spill_load_bytes");
  kernel.stack_bytes = row.integer<int>("stack_bytes");
  return kernel;
}

}  // namespace

std::vector<Measurement> select_measurements(Connection& connection, RowId evaluation) {
  std::vector<Measurement> list;
  Rows row = select(connection, kMeasurements, {{"evaluation", evaluation}});
  while (row.next()) list.push_back(measurement_of(row));
  return list;
}

std::vector<CheckRecord> select_checks(Connection& connection, RowId evaluation) {
  std::vector<CheckRecord> list;
  Rows row = select(connection, kChecks, {{"evaluation", evaluation}});
  while (row.next()) {
    CheckRecord check{.workload = row.text("workload"),
                      .distribution = row.text("distribution"),
                      .tensor = row.text("tensor")};
    check.passed = row.flag("passed");
    check.max_error = row.real("max_error").value_or(0);
    check.mean_error = row.real("mean_error").value_or(0);
    check.tolerance = row.real("tolerance").value_or(0);
    check.nonfinite_mismatches = row.integer("nonfinite_mismatches");
    list.push_back(std::move(check));
  }
  return list;
}

std::vector<Workload> select_workloads(Connection& connection, RowId evaluation) {
  std::vector<Workload> list;
  Rows row = select(connection, kShapes, {{"evaluation", evaluation}});
  while (row.next()) {
    Workload workload{.name = row.text("name"),
                      .uid = row.text("workload_uid"),
                      .axes = parse_json(row.text("axes")).get<AxisValues>(),
                      .roles = {},
                      .tier = tier_of(row.text("tier")),
                      .weight = row.real("weight").value_or(1)};
    if (row.flag("checked")) workload.roles.push_back(WorkloadRole::check);
    if (row.flag("timed")) workload.roles.push_back(WorkloadRole::time);
    list.push_back(std::move(workload));
  }
  return list;
}

std::optional<BuildResult> select_build(Connection& connection, RowId build) {
  Rows row = select(connection, "SELECT build_key, nvrtc_version, status FROM builds WHERE id = :build",
                    {{"build", build}});
  if (!row.next()) return std::nullopt;
  BuildResult result;
  result.key = row.text("build_key");
  result.nvrtc_version = row.text("nvrtc_version");
  result.outcome.status = parse_status(row.text("status")).value_or(Status::infrastructure_error);
  Rows kernels =
      select(connection,
             "SELECT kernel, lowered_name, registers, static_shared_bytes, spill_store_bytes, "
             "spill_load_bytes, stack_bytes FROM build_kernels WHERE build_id = :build ORDER BY id",
             {{"build", build}});
  while (kernels.next()) result.kernels.push_back(kernel_of(kernels));
  return result;
}

void add_counts(Connection& connection, RowId evaluation, std::vector<Measurement>& measurements) {
  Rows row = select(connection, kCounts, {{"evaluation", evaluation}});
  while (row.next()) {
    const std::string workload = row.text("workload"), name = row.text("name");
    const double value = row.real("value").value_or(0);
    for (Measurement& m : measurements) {
      if (m.workload != workload || m.role != MeasurementRole::candidate) continue;
      if (name == kPrepareTime)
        m.prepare_ns = value;
      else if (name == kPrepareBytes)
        m.prepared_bytes = static_cast<std::int64_t>(value);
      else if (m.method == kEmulatedMethod)
        m.counts[name] = static_cast<std::uint64_t>(value);
    }
  }
}

}  // namespace ak::db
