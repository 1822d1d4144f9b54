// SPDX-License-Identifier: Apache-2.0
#include "db/store/catalogue_rows.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cmath>

#include "core/plan/work.h"
#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/stored_values.h"

namespace ak::db {
namespace {

std::optional<std::int64_t> formula(const Expression& expression, const ProblemInstance& problem,
                                    const Workload& workload) {
  const Result<double> value = amount_of(expression, problem, workload);
  return value ? std::optional(std::llround(*value)) : std::nullopt;
}

Json number_or_null(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(); }

/// The order of the fields is part of the hash: never changed.
std::string content_hash(const WorkloadRow& workload) {
  return sha256_hex(
      stored_json({workload.name, workload.uid, workload.axes, workload.tier, workload.checked,
                   workload.weight, workload.timed, number_or_null(workload.flops),
                   number_or_null(workload.bytes_read), number_or_null(workload.bytes_written)}));
}

}  // namespace

RowId put_environment(Connection& connection, const DeviceFacts& device, const std::string& version) {
  utsname system = {};
  uname(&system);
  const std::string os = fmt::format("{} {}", system.sysname, system.release);
  const std::string hash =
      sha256_hex(fmt::format("{}\n{}\n{}\n{}", system.nodename, os, device.driver_version, version));
  if (const auto row = find(connection, "environments", {{"content_hash", hash}})) return *row;
  return insert(connection, "environments",
                {{"uid", random_uid()},
                 {"content_hash", hash},
                 {"host", system.nodename},
                 {"operating_system", os},
                 {"driver_version", device.driver_version},
                 {"alphakernel_version", version}});
}

RowId put_device(Connection& connection, const DeviceFacts& device) {
  const std::string_view kind = to_string(device.kind);
  const std::string arch = device.arch.major > 0 ? device.arch.sm() : "";
  if (const auto row = find(connection, "devices",
                            {{"kind", kind}, {"name", device.name}, {"uuid", device.uuid}, {"arch", arch}}))
    return *row;
  return insert(connection, "devices",
                {{"uid", random_uid()},
                 {"kind", kind},
                 {"name", device.name},
                 {"uuid", device.uuid},
                 {"arch", arch},
                 {"sm_count", device.sm_count},
                 {"l2_bytes", device.l2_bytes},
                 {"memory_bytes", device.memory_bytes},
                 {"peak_bandwidth_gbps", positive(device.peak_bandwidth().per_nanosecond())},
                 {"facts", stored_json(to_json(device))}});
}

RowId put_definition(Connection& connection, const Definition& definition, const std::string& problem,
                     const Json& params) {
  const std::string hash = definition.hash();
  if (const auto row = find(connection, "definitions", {{"content_hash", hash}})) return *row;
  return insert(connection, "definitions",
                {{"uid", random_uid()},
                 {"content_hash", hash},
                 {"name", definition.name},
                 {"problem", problem},
                 {"params", stored_json(params)},
                 {"definition", stored_json(to_json(definition))}});
}

RowId put_definition(Connection& connection, const ProblemInstance& problem) {
  return put_definition(connection, problem.definition, problem.problem, params_json(problem.params));
}

RowId put_workload(Connection& connection, RowId definition, const WorkloadRow& workload) {
  const std::string hash = content_hash(workload);
  if (const auto row = find(connection, "workloads", {{"definition_id", definition}, {"content_hash", hash}}))
    return *row;
  return insert(connection, "workloads",
                {{"uid", random_uid()},
                 {"definition_id", definition},
                 {"name", workload.name},
                 {"workload_uid", workload.uid},
                 {"content_hash", hash},
                 {"axes", stored_json(Json(workload.axes))},
                 {"tier", workload.tier},
                 {"weight", workload.weight},
                 {"checked", workload.checked},
                 {"timed", workload.timed},
                 {"flops", workload.flops},
                 {"bytes_read", workload.bytes_read},
                 {"bytes_written", workload.bytes_written}});
}

RowId put_workload(Connection& connection, RowId definition, const ProblemInstance& problem,
                   const Workload& workload) {
  return put_workload(connection, definition,
                      WorkloadRow{.uid = workload.uid,
                                  .name = workload.name,
                                  .tier = std::string(stored_name(workload.tier)),
                                  .axes = workload.axes,
                                  .weight = workload.weight,
                                  .checked = workload.has(WorkloadRole::check),
                                  .timed = workload.has(WorkloadRole::time),
                                  .flops = formula(problem.flops, problem, workload),
                                  .bytes_read = formula(problem.bytes_read, problem, workload),
                                  .bytes_written = formula(problem.bytes_written, problem, workload)});
}

}  // namespace ak::db
