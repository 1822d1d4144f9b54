// SPDX-License-Identifier: Apache-2.0
#include "db/store/evaluation_rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/text/hash.h"
#include "db/rows.h"
#include "db/store/catalogue_rows.h"
#include "db/store/stored_values.h"
#include "db/utc.h"

namespace ak::db {
namespace {

Json diagnostics_json(const std::vector<Diagnostic>& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& d : diagnostics) {
    json.push_back(
        {{"severity", d.severity}, {"line", d.line}, {"column", d.column}, {"message", d.message}});
    if (!d.details.empty()) json.back()["details"] = parse_json(d.details);
  }
  return json;
}

/// What was asked for beyond candidate, arch, depth and seed, which have their own columns.
Json request_json(const EvaluationRequest& request) {
  Json json{{"workloads", request.workloads},
            {"incumbent_ns", request.champion_score_ns ? Json(*request.champion_score_ns) : Json(nullptr)},
            {"deadline_ms", request.deadline.count()},
            {"priority", request.priority},
            {"tag", request.tag}};
  if (!request.library.empty()) json["library"] = request.library;
  return json;
}

}  // namespace

RowId EvaluationRows::workload(const std::string& name) const {
  if (const auto known = search.workloads.find(name); known != search.workloads.end()) return known->second;
  AK_ASSERT(record.request->problem, "a request carries the problem of its workloads");
  const ProblemInstance& problem = *record.request->problem;
  const auto found = std::ranges::find(problem.workloads, name, &Workload::name);
  AK_ASSERT(found != problem.workloads.end(), "results are of workloads of the request's problem");
  return put_workload(connection, search.definition, problem, *found);
}

void put_evaluation(EvaluationRows& rows, RowId proposal, std::optional<RowId> build) {
  const EvaluationRecord& record = rows.record;
  const EvaluationResult& result = *record.result;
  const StageTimes& times = result.stage_times;
  const auto ended = std::chrono::system_clock::now();
  const auto started = ended - std::chrono::milliseconds(std::llround(times.total_ms));
  const RowId device = record.device ? put_device(rows.connection, *record.device) : rows.search.device;
  rows.evaluation = insert(
      rows.connection, "evaluations",
      {{"uid", random_uid()},
       {"search_id", record.search},
       {"proposal_id", proposal},
       {"variant_id", rows.variant},
       {"build_id", build},
       {"device_id", device},
       {"depth", stored_name(record.request->depth)},
       {"input_seed", as_signed(record.request->seed)},
       {"status", to_string(result.outcome.status)},
       {"stage", to_string(result.outcome.stage)},
       {"message", result.outcome.message},
       {"gate", result.outcome.gate ? std::optional(to_string(*result.outcome.gate)) : std::nullopt},
       {"diagnostics", stored_json(diagnostics_json(result.outcome.diagnostics))},
       {"score_ns", result.score_ns},
       {"shared_bytes", result.shared_bytes},
       {"occupancy_ratio", result.occupancy ? std::optional(result.occupancy->ratio) : std::nullopt},
       {"occupancy_limiter", result.occupancy ? std::optional(result.occupancy->limiter) : std::nullopt},
       {"cache_hit", result.build && result.build->cache_hit},
       {"queue_ms", times.queue_ms},
       {"build_ms", times.build_ms},
       {"device_wait_ms", times.device_wait_ms},
       {"check_ms", times.check_ms},
       {"time_ms", times.time_ms},
       {"gpu_busy_ms", times.gpu_busy_ms},
       {"total_ms", times.total_ms},
       {"request", stored_json(request_json(*record.request))},
       {"started_at", utc(started)},
       {"ended_at", utc(ended)}});
}

void put_journal(const EvaluationRows& rows) {
  const JournalRecord* journal = rows.record.journal;
  if (!journal) return;
  insert(rows.connection, "journal",
         {{"evaluation_id", rows.evaluation}, {"request_key", journal->key}, {"result", journal->result}});
}

void put_measurements(const EvaluationRows& rows) {
  for (const Measurement& m : rows.record.result->measurements) {
    insert(
        rows.connection, "measurements",
        {{"uid", random_uid()},
         {"evaluation_id", rows.evaluation},
         {"workload_id", rows.workload(m.workload)},
         {"role", to_string(m.role)},
         {"label", m.label},
         {"method", m.method},
         {"cold", m.cold},
         {"samples", little_endian(m.samples_ns)},
         {"launches_per_sample", m.launches_per_sample},
         {"truncated", m.truncated},
         {"median_ns", positive(m.median_ns)},
         {"ci_low_ns", positive(m.ci_low_ns)},
         {"ci_high_ns", positive(m.ci_high_ns)},
         {"sm_clock_mhz", positive(m.sm_clock_mhz)},
         {"memory_clock_mhz", positive(m.memory_clock_mhz)},
         {"temperature_c", positive(m.temperature_c)},
         {"throttle_reasons", m.throttle_reasons},
         {"power_w", positive(m.power_w)},
         {"throttled", m.throttled.empty() ? std::nullopt : std::optional(stored_json(Json(m.throttled)))}});
  }
}

void put_predictions(const EvaluationRows& rows) {
  const PredictedScore* predicted = rows.record.predicted;
  if (!predicted) return;
  for (const PredictedTime& time : predicted->times) {
    insert(rows.connection, "predictions",
           {{"uid", random_uid()},
            {"variant_id", rows.variant},
            {"workload_id", rows.workload(time.workload)},
            {"device_id", rows.search.device},
            {"model", predicted->model},
            {"predicted_ns", time.time.value()},
            {"evaluation_id", rows.evaluation},
            {"low_ns", time.low.value()},
            {"high_ns", time.high.value()},
            {"limiter", time.limiter}});
  }
}

}  // namespace ak::db
