// SPDX-License-Identifier: Apache-2.0
#include "db/store/sqlite_store.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <set>

#include "core/device/energy_metrics.h"
#include "core/text/hash.h"
#include "core/text/print_stderr.h"
#include "db/database.h"
#include "db/schema.h"
#include "db/store/line_metrics.h"
#include "db/utc.h"

namespace ak::db {
namespace {

using Uid = std::array<unsigned char, 16>;

using std::chrono::system_clock;

/// Seeds are unsigned 64-bit values, SQLite integers are signed: the same bits.
std::int64_t as_signed(std::uint64_t value) { return std::bit_cast<std::int64_t>(value); }

/// SQLite has no NaN or infinity worth storing: unknown.
std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}
std::optional<double> positive(double value) {
  return value > 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}
std::optional<std::int64_t> known(int value) {
  return value > 0 ? std::optional<std::int64_t>(value) : std::nullopt;
}

/// JSON text that stays valid whatever bytes a candidate put into a message.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json params_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params) std::visit([&](const auto& v) { json[name] = v; }, value);
  return json;
}

Json diagnostics_json(const std::vector<Diagnostic>& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& d : diagnostics) {
    json.push_back(
        {{"severity", d.severity}, {"line", d.line}, {"column", d.column}, {"message", d.message}});
    if (!d.details.empty()) json.back()["details"] = parse_json(d.details);
  }
  return json;
}

// Spellings stored in the file: never renamed.
constexpr std::array<std::string_view, 3> kDepthNames{"build", "check", "time"};
constexpr std::array<std::string_view, 3> kTierNames{"emulator", "gpu", "deep"};

std::string_view to_string(Depth depth) { return kDepthNames.at(static_cast<std::size_t>(depth)); }
std::string_view to_string(WorkloadTier tier) { return kTierNames.at(static_cast<std::size_t>(tier)); }

/// What was asked for beyond candidate, arch, depth and seed, which have columns of their own.
Json request_json(const EvaluationRequest& request) {
  return {{"workloads", request.workloads},
          {"incumbent_ns", request.champion_score_ns ? Json(*request.champion_score_ns) : Json(nullptr)},
          {"deadline_ms", request.deadline.count()},
          {"priority", request.priority},
          {"tag", request.tag}};
}

/// Occupancy is known of the first launch only: of a kernel when no other is launched.
std::optional<double> kernel_occupancy(const EvaluationRecord& record, const KernelFacts& kernel) {
  if (!record.result->occupancy) return std::nullopt;
  const auto& launches = record.request->candidate.plan.launches;
  const auto same = [&](const LaunchPlanEntry& launch) { return launch.kernel == kernel.expression; };
  return std::all_of(launches.begin(), launches.end(), same) ? std::optional(record.result->occupancy->ratio)
                                                             : std::nullopt;
}

std::optional<std::int64_t> formula(const Expression& expression, const Environment& environment) {
  const Result<std::int64_t> value = expression.evaluate_integer(environment);
  return value ? std::optional(*value) : std::nullopt;
}

std::vector<unsigned char> little_endian(const std::vector<std::uint32_t>& samples) {
  std::vector<unsigned char> bytes;
  bytes.reserve(4 * samples.size());
  for (const std::uint32_t sample : samples) {
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<unsigned char>(sample >> shift));
  }
  return bytes;
}

}  // namespace

SqliteStore::SqliteStore(const std::filesystem::path& file, std::chrono::milliseconds busy_timeout)
    : file_(file), connection_(file, OpenMode::create, busy_timeout) {
  prepare_database(connection_, file);
}

std::optional<RowId> SqliteStore::find(Statement& query) {
  const std::optional<RowId> row = query.step() ? std::optional(query.integer(0)) : std::nullopt;
  query.reset();
  return row;
}

RowId SqliteStore::environment_row(const DeviceFacts& device, const std::string& version) {
  utsname system = {};
  uname(&system);
  const std::string os = fmt::format("{} {}", system.sysname, system.release);
  const std::string hash =
      sha256_hex(fmt::format("{}\n{}\n{}\n{}", system.nodename, os, device.driver_version, version));
  if (const auto row =
          find(connection_.prepare("SELECT id FROM environments WHERE content_hash = ?").bind(1, hash)))
    return *row;
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO environments (uid, content_hash, host, operating_system, driver_version, "
          "alphakernel_version) VALUES (?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, hash)
      .bind(3, system.nodename)
      .bind(4, os)
      .bind(5, device.driver_version)
      .bind(6, version)
      .run();
  return connection_.last_row_id();
}

RowId SqliteStore::device_row(const DeviceFacts& device) {
  const std::string kind(ak::to_string(device.kind));
  const std::string arch = device.arch.major > 0 ? device.arch.sm() : "";
  auto& query =
      connection_.prepare("SELECT id FROM devices WHERE kind = ? AND name = ? AND uuid = ? AND arch = ?");
  if (const auto row = find(query.bind(1, kind).bind(2, device.name).bind(3, device.uuid).bind(4, arch)))
    return *row;
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO devices (uid, kind, name, uuid, arch, sm_count, l2_bytes, memory_bytes, "
          "peak_bandwidth_gbps, facts) VALUES (?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, kind)
      .bind(3, device.name)
      .bind(4, device.uuid)
      .bind(5, arch)
      .bind(6, device.sm_count)
      .bind(7, device.l2_bytes)
      .bind(8, device.memory_bytes)
      .bind(9, positive(device.peak_bandwidth_gbps()))
      .bind(10, dump(to_json(device)))
      .run();
  return connection_.last_row_id();
}

RowId SqliteStore::definition_row(const ProblemInstance& problem) {
  const std::string hash = problem.definition.hash();
  if (const auto row =
          find(connection_.prepare("SELECT id FROM definitions WHERE content_hash = ?").bind(1, hash)))
    return *row;
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO definitions (uid, content_hash, name, problem, params, definition) VALUES "
          "(?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, hash)
      .bind(3, problem.definition.name)
      .bind(4, problem.problem)
      .bind(5, dump(params_json(problem.params)))
      .bind(6, dump(to_json(problem.definition)))
      .run();
  return connection_.last_row_id();
}

/// A workload whose formulas, weight or roles were changed since is another row: what was measured keeps the
/// figures it was measured with.
RowId SqliteStore::workload_row(RowId definition, const ProblemInstance& problem, const Workload& workload) {
  const Environment environment = problem.environment(workload.axes);
  const std::array formulas{formula(problem.flops, environment), formula(problem.bytes_read, environment),
                            formula(problem.bytes_written, environment)};
  const bool checked = workload.has(WorkloadRole::check), timed = workload.has(WorkloadRole::time);
  Json content{workload.name, workload.uid,    workload.axes, to_string(workload.tier),
               checked,       workload.weight, timed};
  for (const auto& value : formulas) content.push_back(value ? Json(*value) : Json(nullptr));
  const std::string hash = sha256_hex(dump(content));
  auto& query = connection_.prepare("SELECT id FROM workloads WHERE definition_id = ? AND content_hash = ?");
  if (const auto row = find(query.bind(1, definition).bind(2, hash))) return *row;
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO workloads (uid, definition_id, name, workload_uid, content_hash, axes, tier, weight, "
          "checked, timed, flops, bytes_read, bytes_written) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, definition)
      .bind(3, workload.name)
      .bind(4, workload.uid)
      .bind(5, hash)
      .bind(6, dump(Json(workload.axes)))
      .bind(7, to_string(workload.tier))
      .bind(8, workload.weight)
      .bind(9, checked)
      .bind(10, timed)
      .bind(11, formulas[0])
      .bind(12, formulas[1])
      .bind(13, formulas[2])
      .run();
  return connection_.last_row_id();
}

/// Shapes sampled after the session began are rows too, from the request's own problem.
RowId SqliteStore::workload_of(const std::string& name, const EvaluationRecord& record,
                               const OpenSession& session) {
  if (const auto known = session.workloads.find(name); known != session.workloads.end()) return known->second;
  AK_ASSERT(record.request->problem, "a request carries the problem of its workloads");
  const ProblemInstance& problem = *record.request->problem;
  const auto found = std::find_if(problem.workloads.begin(), problem.workloads.end(),
                                  [&](const Workload& workload) { return workload.name == name; });
  AK_ASSERT(found != problem.workloads.end(), "results are of workloads of the request's problem");
  return workload_row(session.definition, problem, *found);
}

/// Of all workloads: where it is the same, scores are of the same shapes with the same weights.
std::string SqliteStore::workloads_hash(const OpenSession& session) {
  std::string hashes;
  for (const auto& [name, row] : session.workloads) {
    Statement& query = connection_.prepare("SELECT content_hash FROM workloads WHERE id = ?").bind(1, row);
    if (query.step()) hashes += query.text(0);
    query.reset();
  }
  return sha256_hex(hashes);
}

/// The session of a campaign's search that began before. Throws Error(bad_input) where it cannot continue.
std::optional<RowId> SqliteStore::begun_session(const SessionRecord& session, const OpenSession& open,
                                                RowId environment, const Arch& arch) {
  if (!session.campaign_run) return std::nullopt;
  const auto begun =
      find(connection_.prepare("SELECT session_id FROM campaign_runs WHERE id = ? AND session_id IS NOT NULL")
               .bind(1, *session.campaign_run));
  if (!begun) return std::nullopt;
  const auto same = find(connection_
                             .prepare("SELECT 1 FROM sessions WHERE id = ? AND definition_id = ? AND "
                                      "device_id = ? AND environment_id = ? AND arch = ? AND "
                                      "workloads_hash = ?")
                             .bind(1, *begun)
                             .bind(2, open.definition)
                             .bind(3, open.device)
                             .bind(4, environment)
                             .bind(5, arch.sm())
                             .bind(6, workloads_hash(open)));
  if (!same) {
    fail(
        ExitCode::bad_input,
        "search {} cannot continue: its problem, shapes, device, driver or version of alphakernel is another "
        "now; start it again",
        *begun);
  }
  connection_
      .prepare(
          "UPDATE sessions SET status = 'running', reason = '', best_variant_id = NULL, ended_at = NULL "
          "WHERE id = ?")
      .bind(1, *begun)
      .run();
  return begun;
}

RowId SqliteStore::begin_session(const SessionRecord& session, const ProblemInstance& problem,
                                 const DeviceFacts& device, const Arch& arch) {
  if (!locks_) locks_.emplace(file_);
  Transaction transaction(connection_);
  close_dead_sessions();
  OpenSession open{.definition = definition_row(problem), .device = device_row(device), .workloads = {}};
  for (const Workload& workload : problem.workloads)
    open.workloads[workload.name] = workload_row(open.definition, problem, workload);
  const RowId environment = environment_row(device, session.version);
  RowId id = 0;
  if (const auto begun = begun_session(session, open, environment, arch)) {
    id = *begun;
  } else {
    id = session_row(session, open, environment, arch);
  }
  locks_->hold(id);  // before anyone sees the row
  transaction.commit();
  sessions_[id] = std::move(open);
  return id;
}

RowId SqliteStore::session_row(const SessionRecord& session, const OpenSession& open, RowId environment,
                               const Arch& arch) {
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO sessions (uid, definition_id, device_id, environment_id, arch, command, proposer, "
          "strategy, seed, budgets, status, reason, started_at, audited, resumed, workloads_hash) "
          "VALUES (?,?,?,?,?,?,?,?,?,?,'running','',?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, open.definition)
      .bind(3, open.device)
      .bind(4, environment)
      .bind(5, arch.sm())
      .bind(6, session.command)
      .bind(7, session.proposer)
      .bind(8, session.strategy)
      .bind(9, as_signed(session.seed))
      .bind(10, dump(session.budgets))
      .bind(11, utc_now())
      .bind(12, session.audited)
      .bind(13, session.resumed)
      .bind(14, workloads_hash(open))
      .run();
  const RowId id = connection_.last_row_id();
  if (session.campaign_run) {
    connection_.prepare("UPDATE campaign_runs SET session_id = ? WHERE id = ?")
        .bind(1, id)
        .bind(2, *session.campaign_run)
        .run();
  }
  return id;
}

void SqliteStore::close_dead_sessions() {
  std::vector<RowId> dead;
  auto& running = connection_.prepare("SELECT id FROM sessions WHERE status = 'running'");
  while (running.step()) {
    const RowId id = running.integer(0);
    if (!sessions_.contains(id) && !locks_->is_held(id)) dead.push_back(id);
  }
  running.reset();
  for (const RowId id : dead) {
    connection_
        .prepare(
            "UPDATE sessions SET status = 'interrupted', "
            "reason = 'its process ended without a word: it was killed, or the machine stopped', ended_at = "
            "coalesce((SELECT max(ended_at) FROM evaluations WHERE session_id = sessions.id), started_at) "
            "WHERE id = ?")
        .bind(1, id)
        .run();
    print_stderr("note: session {} was interrupted (its process was killed); all that it committed is kept\n",
                 id);
  }
}

RowId SqliteStore::source_row(const Candidate& candidate) {
  const std::string hash = candidate.source_hash();
  if (const auto row =
          find(connection_.prepare("SELECT id FROM sources WHERE content_hash = ?").bind(1, hash)))
    return *row;
  const Uid uid = random_uid();
  connection_.prepare("INSERT INTO sources (uid, content_hash, text) VALUES (?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, hash)
      .bind(3, candidate.source)
      .run();
  return connection_.last_row_id();
}

RowId SqliteStore::variant_row(RowId definition, const EvaluationRequest& request) {
  const Candidate& candidate = request.candidate;
  const std::string hash = candidate.variant_hash();
  auto& query = connection_.prepare("SELECT id FROM variants WHERE definition_id = ? AND variant_hash = ?");
  if (const auto row = find(query.bind(1, definition).bind(2, hash))) return *row;
  const RowId source = source_row(candidate);
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO variants (uid, definition_id, source_id, variant_hash, name, plan, params, tunables) "
          "VALUES (?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, definition)
      .bind(3, source)
      .bind(4, hash)
      .bind(5, candidate.name)
      .bind(6, dump(to_json(candidate.plan)))
      .bind(7, dump(params_json(request.problem ? request.problem->params : Params())))
      .bind(8, dump(Json(candidate.tunables)))
      .run();
  return connection_.last_row_id();
}

RowId SqliteStore::proposal_row(const EvaluationRecord& record, RowId variant) {
  const Uid uid = random_uid();
  const AskRecord* asked = record.asked;
  connection_
      .prepare(
          "INSERT INTO proposals (uid, session_id, variant_id, iteration, proposer, arm, member, asked_ms, "
          "ask_ns, llm_call_id) VALUES (?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, record.session)
      .bind(3, variant)
      .bind(4, record.iteration)
      .bind(5, record.proposer)
      .bind(6, record.arm)
      .bind(7, asked && !asked->member.empty() ? std::optional(asked->member) : std::nullopt)
      .bind(8, asked ? std::optional(asked->asked_ms) : std::nullopt)
      .bind(9, asked ? std::optional(asked->ask_ns) : std::nullopt)
      .bind(10, record.llm_call)
      .run();
  const RowId id = connection_.last_row_id();
  for (const RowId parent : record.parents) {
    connection_
        .prepare("INSERT INTO variant_parents (variant_id, parent_id) VALUES (?,?) ON CONFLICT DO NOTHING")
        .bind(1, variant)
        .bind(2, parent)
        .run();
  }
  return id;
}

std::optional<RowId> SqliteStore::build_row(RowId variant, const EvaluationRecord& record) {
  const auto& build = record.result->build;
  if (!build || build->key.empty()) return std::nullopt;
  auto& query = connection_.prepare("SELECT id FROM builds WHERE variant_id = ? AND build_key = ?");
  if (const auto row = find(query.bind(1, variant).bind(2, build->key))) return row;
  const Uid uid = random_uid();
  const bool built = !build->cubin.empty();
  connection_
      .prepare(
          "INSERT INTO builds (uid, variant_id, arch, build_key, options, nvrtc_version, status, "
          "cubin_hash, cubin_bytes, ptx_bytes, compile_ms, cache_hit, log) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, variant)
      .bind(3, record.request->arch.sm())
      .bind(4, build->key)
      .bind(5, dump(Json(record.request->candidate.plan.options)))
      .bind(6, build->nvrtc_version)
      .bind(7, ak::to_string(build->outcome.status))
      .bind(8, built ? std::optional(sha256_hex(build->cubin)) : std::nullopt)
      .bind(9, built ? std::optional<std::int64_t>(build->cubin.size()) : std::nullopt)
      .bind(10, built ? std::optional<std::int64_t>(build->ptx.size()) : std::nullopt)
      .bind(11, build->compile_ms)
      .bind(12, build->cache_hit)
      .bind(13, build->log)
      .run();
  const RowId id = connection_.last_row_id();
  kernel_rows(id, record);
  return id;
}

void SqliteStore::kernel_rows(RowId build, const EvaluationRecord& record) {
  for (const KernelFacts& kernel : record.result->build->kernels) {
    connection_
        .prepare(
            "INSERT INTO build_kernels (build_id, kernel, lowered_name, registers, static_shared_bytes, "
            "spill_store_bytes, spill_load_bytes, stack_bytes, occupancy_ratio) "
            "VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING")
        .bind(1, build)
        .bind(2, kernel.expression)
        .bind(3, kernel.lowered_name)
        .bind(4, kernel.registers)
        .bind(5, kernel.static_shared_bytes)
        .bind(6, kernel.spill_store_bytes)
        .bind(7, kernel.spill_load_bytes)
        .bind(8, kernel.stack_bytes)
        .bind(9, kernel_occupancy(record, kernel))
        .run();
  }
}

RowId SqliteStore::evaluation_row(const EvaluationRecord& record, const OpenSession& session, RowId variant,
                                  RowId proposal, std::optional<RowId> build) {
  const EvaluationResult& result = *record.result;
  const StageTimes& times = result.stage_times;
  const auto ended = system_clock::now();
  const auto started = ended - std::chrono::milliseconds(std::llround(times.total_ms));
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO evaluations (uid, session_id, proposal_id, variant_id, build_id, device_id, depth, "
          "input_seed, status, stage, message, diagnostics, "
          "score_ns, occupancy_ratio, occupancy_limiter, cache_hit, queue_ms, build_ms, device_wait_ms, "
          "check_ms, time_ms, gpu_busy_ms, total_ms, request, started_at, ended_at, shared_bytes, gate) "
          "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, record.session)
      .bind(3, proposal)
      .bind(4, variant)
      .bind(5, build)
      .bind(6, record.device != nullptr ? device_row(*record.device) : session.device)
      .bind(7, to_string(record.request->depth))
      .bind(8, as_signed(record.request->seed))
      .bind(9, ak::to_string(result.outcome.status))
      .bind(10, ak::to_string(result.outcome.stage))
      .bind(11, result.outcome.message)
      .bind(12, dump(diagnostics_json(result.outcome.diagnostics)))
      .bind(13, result.score_ns)
      .bind(14, result.occupancy ? std::optional(result.occupancy->ratio) : std::nullopt)
      .bind(15, result.occupancy ? std::optional(result.occupancy->limiter) : std::nullopt)
      .bind(16, result.build && result.build->cache_hit)
      .bind(17, times.queue_ms)
      .bind(18, times.build_ms)
      .bind(19, times.device_wait_ms)
      .bind(20, times.check_ms)
      .bind(21, times.time_ms)
      .bind(22, times.gpu_busy_ms)
      .bind(23, times.total_ms)
      .bind(24, dump(request_json(*record.request)))
      .bind(25, utc(started))
      .bind(26, utc(ended))
      .bind(27, result.shared_bytes)
      .bind(28, result.outcome.gate ? std::optional(to_string(*result.outcome.gate)) : std::nullopt)
      .run();
  return connection_.last_row_id();
}

void SqliteStore::journal_row(RowId evaluation, const EvaluationRecord& record) {
  if (record.journal == nullptr) return;
  connection_.prepare("INSERT INTO journal (evaluation_id, request_key, result) VALUES (?,?,?)")
      .bind(1, evaluation)
      .bind(2, record.journal->key)
      .bind(3, record.journal->result)
      .run();
}

void SqliteStore::check_rows(RowId evaluation, const EvaluationRecord& record, const OpenSession& session) {
  for (const CheckRecord& check : record.result->checks) {
    const Uid uid = random_uid();
    connection_
        .prepare(
            "INSERT INTO checks (uid, evaluation_id, workload_id, distribution, input_seed, tensor, passed, "
            "max_error, mean_error, tolerance, worst_index, "
            "worst_expected, worst_got, nonfinite_mismatches) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        .bind(1, Blob(uid))
        .bind(2, evaluation)
        .bind(3, workload_of(check.workload, record, session))
        .bind(4, check.distribution)
        .bind(5, as_signed(check.seed))
        .bind(6, check.tensor)
        .bind(7, check.passed)
        .bind(8, finite(check.max_error))
        .bind(9, finite(check.mean_error))
        .bind(10, finite(check.tolerance))
        .bind(11, check.worst_index >= 0 ? std::optional(check.worst_index) : std::nullopt)
        .bind(12, finite(check.worst_expected))
        .bind(13, finite(check.worst_got))
        .bind(14, check.nonfinite_mismatches)
        .run();
  }
}

void SqliteStore::measurement_rows(RowId evaluation, const EvaluationRecord& record,
                                   const OpenSession& session) {
  for (const Measurement& m : record.result->measurements) {
    const Uid uid = random_uid();
    const std::vector<unsigned char> samples = little_endian(m.samples_ns);
    connection_
        .prepare(
            "INSERT INTO measurements (uid, evaluation_id, workload_id, role, label, method, cold, samples, "
            "launches_per_sample, truncated, median_ns, ci_low_ns, "
            "ci_high_ns, sm_clock_mhz, memory_clock_mhz, temperature_c, throttle_reasons, power_w, "
            "throttled) VALUES "
            "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        .bind(1, Blob(uid))
        .bind(2, evaluation)
        .bind(3, workload_of(m.workload, record, session))
        .bind(4, ak::to_string(m.role))
        .bind(5, m.label)
        .bind(6, m.method)
        .bind(7, m.cold)
        .bind(8, Blob(samples))
        .bind(9, m.launches_per_sample)
        .bind(10, m.truncated)
        .bind(11, positive(m.median_ns))
        .bind(12, positive(m.ci_low_ns))
        .bind(13, positive(m.ci_high_ns))
        .bind(14, known(m.sm_clock_mhz))
        .bind(15, known(m.memory_clock_mhz))
        .bind(16, known(m.temperature_c))
        .bind(17, m.throttle_reasons)
        .bind(18, positive(m.power_w))
        .bind(19, m.throttled.empty() ? std::nullopt : std::optional(Json(m.throttled).dump()))
        .run();
  }
}

void SqliteStore::metric_rows(RowId evaluation, const EvaluationRecord& record, const OpenSession& session) {
  for (const Measurement& m : record.result->measurements) {
    if (m.role != MeasurementRole::candidate) continue;
    const RowId workload = workload_of(m.workload, record, session);
    for (const auto& [name, value] : m.counts)
      metric_row(
          evaluation, workload,
          {.kernel = "", .name = name, .unit = unit_of_count(name), .value = static_cast<double>(value)});
    if (!m.energy) continue;
    for (const EnergyMetric& metric : energy_metrics(*record.request->problem, m))
      metric_row(evaluation, workload,
                 {.kernel = "", .name = metric.name, .unit = metric.unit, .value = metric.value});
  }
  for (const Profile& profile : record.result->profiles) {
    const RowId workload = workload_of(profile.workload, record, session);
    for (const LaunchProfile& launch : profile.launches) {
      for (const auto& [name, value] : launch.metrics) {
        const auto unit = profile.units.find(name);
        metric_row(evaluation, workload,
                   {.kernel = launch.kernel,
                    .name = name,
                    .unit = unit == profile.units.end() ? std::string_view() : unit->second,
                    .value = value});
      }
      for (const LineSamples& line : launch.lines)
        for (const auto& [reason, samples] : line.samples) {
          const std::string name = line_metric(line.line, reason);
          metric_row(evaluation, workload,
                     {.kernel = launch.kernel,
                      .name = name,
                      .unit = "samples",
                      .value = static_cast<double>(samples)});
        }
    }
  }
}

void SqliteStore::metric_row(RowId evaluation, RowId workload, const MetricRow& row) {
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO metrics (uid, evaluation_id, workload_id, kernel, name, unit, value) VALUES "
          "(?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, evaluation)
      .bind(3, workload)
      .bind(4, row.kernel)
      .bind(5, row.name)
      .bind(6, row.unit)
      .bind(7, row.value)
      .run();
}

void SqliteStore::prediction_rows(const StoredEvaluation& stored, const EvaluationRecord& record,
                                  const OpenSession& session) {
  if (!record.predicted) return;
  for (const PredictedTime& time : record.predicted->times) {
    const Uid uid = random_uid();
    connection_
        .prepare(
            "INSERT INTO predictions (uid, variant_id, workload_id, device_id, model, predicted_ns, "
            "evaluation_id, low_ns, high_ns, limiter) VALUES (?,?,?,?,?,?,?,?,?,?)")
        .bind(1, Blob(uid))
        .bind(2, stored.variant)
        .bind(3, workload_of(time.workload, record, session))
        .bind(4, session.device)
        .bind(5, record.predicted->model)
        .bind(6, time.time_ns)
        .bind(7, stored.evaluation)
        .bind(8, time.low_ns)
        .bind(9, time.high_ns)
        .bind(10, time.limiter)
        .run();
  }
}

// Sessions are of the same driver and version, because both decide how fast the same source is.
std::vector<KnownPoint> SqliteStore::known_points(RowId session, const std::string& source_hash) {
  Statement& rows = connection_.prepare(
      "SELECT v.tunables, e.status, e.score_ns, e.depth FROM sessions me JOIN devices d ON d.id = "
      "me.device_id "
      "JOIN environments n ON n.id = me.environment_id "
      "JOIN sessions s ON s.definition_id = me.definition_id AND s.arch = me.arch AND s.workloads_hash = "
      "me.workloads_hash AND s.id <> me.id "
      "JOIN devices sd ON sd.id = s.device_id AND sd.kind = d.kind AND sd.name = d.name "
      "JOIN environments sn ON sn.id = s.environment_id AND sn.driver_version = n.driver_version AND "
      "sn.alphakernel_version = n.alphakernel_version "
      "JOIN evaluations e ON e.session_id = s.id AND e.device_id = s.device_id JOIN proposals p ON p.id = "
      "e.proposal_id AND p.arm NOT IN "
      "('comparison', 'profile') "
      "JOIN variants v ON v.id = e.variant_id JOIN sources t ON t.id = v.source_id AND t.content_hash = ? "
      "WHERE me.id = ? ORDER BY e.id");
  rows.bind(1, source_hash).bind(2, session);
  std::map<std::string, KnownPoint> points;  // by the text of the tunables; the last time of each
  std::set<std::string> wrong;
  while (rows.step()) {
    const std::string tunables = rows.text(0);
    const Status status = parse_status(rows.text(1)).value_or(Status::infrastructure_error);
    const bool passed = status == Status::ok || status == Status::duplicate;
    if (!passed && info(status).candidate_fault) wrong.insert(tunables);
    const auto score_ns = rows.real(2);
    const bool timed = passed && score_ns && rows.text(3) == to_string(Depth::time);
    if (!timed && !wrong.contains(tunables)) continue;
    points[tunables] = {.tunables = parse_json(tunables).get<TunableValues>(), .score_ns = score_ns};
    if (wrong.contains(tunables)) points[tunables].score_ns.reset();
  }
  rows.reset();
  std::vector<KnownPoint> known;
  for (auto& [text, point] : points) known.push_back(std::move(point));
  return known;
}

StoredEvaluation SqliteStore::commit(const EvaluationRecord& record) {
  AK_ASSERT(record.request && record.result, "an evaluation record refers to its request and result");
  const auto session = sessions_.find(record.session);
  AK_ASSERT(session != sessions_.end(), "evaluations are committed to a session begun by the same store");
  Transaction transaction(connection_);
  StoredEvaluation stored;
  stored.variant = variant_row(session->second.definition, *record.request);
  const RowId proposal = proposal_row(record, stored.variant);
  const std::optional<RowId> build = build_row(stored.variant, record);
  stored.evaluation = evaluation_row(record, session->second, stored.variant, proposal, build);
  check_rows(stored.evaluation, record, session->second);
  measurement_rows(stored.evaluation, record, session->second);
  metric_rows(stored.evaluation, record, session->second);
  prediction_rows(stored, record, session->second);
  journal_row(stored.evaluation, record);
  store_told();
  transaction.commit();
  told_.clear();
  return stored;
}

void SqliteStore::note_told(RowId evaluation, const TellRecord& told) {
  told_.emplace_back(evaluation, told);
}

// With the next transaction: one of its own would cost another write to the disk.
void SqliteStore::store_told() {
  for (const auto& [evaluation, told] : told_) {
    connection_
        .prepare(
            "UPDATE proposals SET told_ms = ?, tell_ns = ? WHERE id = (SELECT proposal_id FROM evaluations "
            "WHERE id = ?)")
        .bind(1, told.told_ms)
        .bind(2, told.tell_ns)
        .bind(3, evaluation)
        .run();
  }
}

RowId SqliteStore::begin_llm_call(const LlmCallRecord& record) {
  Transaction transaction(connection_);
  const Uid uid = random_uid();
  connection_
      .prepare(
          "INSERT INTO llm_calls (uid, session_id, model, arm, prompt_version, request, status, started_at, "
          "credited_arm, bottleneck) VALUES (?,?,?,?,?,?,'sent',?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, record.session)
      .bind(3, record.model)
      .bind(4, record.arm)
      .bind(5, record.prompt_version)
      .bind(6, dump(record.request))
      .bind(7, utc_now())
      .bind(8, record.credited_arm)
      .bind(9, record.bottleneck.empty() ? std::nullopt : std::optional(record.bottleneck))
      .run();
  const RowId id = connection_.last_row_id();
  transaction.commit();
  return id;
}

void SqliteStore::note_llm_reward(RowId call, double reward) {
  Transaction transaction(connection_);
  connection_.prepare("UPDATE llm_calls SET reward = ? WHERE id = ?").bind(1, reward).bind(2, call).run();
  transaction.commit();
}

void SqliteStore::end_llm_call(RowId call, const LlmReply& reply, double latency_ms) {
  Transaction transaction(connection_);
  connection_
      .prepare(
          "UPDATE llm_calls SET answer = ?, raw = ?, status = ?, message = ?, stop = ?, input_tokens = ?, "
          "cached_tokens = ?, output_tokens = ?, tokens_reported = ?, cost_usd = ?, attempts = ?, "
          "provider_request = ?, latency_ms = ?, ended_at = ? WHERE id = ?")
      .bind(1, reply.text)
      .bind(2, reply.raw)
      .bind(3, reply.failure ? info(reply.failure->fault).name : std::string_view("ok"))
      .bind(4, reply.failure ? reply.failure->message : reply.note)
      .bind(5, reply.failure ? std::nullopt : std::optional(ak::to_string(reply.stop)))
      .bind(6, reply.usage.input_tokens)
      .bind(7, reply.usage.cached_tokens)
      .bind(8, reply.usage.output_tokens)
      .bind(9, reply.usage.reported)
      .bind(10, reply.cost_usd)
      .bind(11, reply.attempts)
      .bind(12, reply.request_id)
      .bind(13, latency_ms)
      .bind(14, utc_now())
      .bind(15, call)
      .run();
  transaction.commit();
}

void SqliteStore::end_session(RowId session, std::string_view status, std::string_view reason,
                              std::optional<RowId> best_variant) {
  Transaction transaction(connection_);
  connection_
      .prepare("UPDATE sessions SET status = ?, reason = ?, best_variant_id = ?, ended_at = ? WHERE id = ?")
      .bind(1, status)
      .bind(2, reason)
      .bind(3, best_variant)
      .bind(4, utc_now())
      .bind(5, session)
      .run();
  store_told();
  transaction.commit();
  told_.clear();
  sessions_.erase(session);
  locks_->release(session);
}

void SqliteStore::commit_audit(const AuditRecord& record, const DeviceFacts& device, const Arch& arch) {
  AK_ASSERT(record.problem && record.audit, "an audit's record refers to its problem and findings");
  Transaction transaction(connection_);
  const Uid uid = random_uid();
  const RowId definition = definition_row(*record.problem), on = device_row(device);
  const RowId environment = environment_row(device, record.version);
  connection_
      .prepare(
          "INSERT INTO audits (uid, definition_id, device_id, environment_id, arch, content_hash, passed, "
          "audited_at) VALUES (?,?,?,?,?,?,?,?)")
      .bind(1, Blob(uid))
      .bind(2, definition)
      .bind(3, on)
      .bind(4, environment)
      .bind(5, arch.sm())
      .bind(6, record.content_hash)
      .bind(7, record.audit->passed())
      .bind(8, utc_now())
      .run();
  const RowId audit = connection_.last_row_id();
  for (const AuditFinding& finding : record.audit->findings) finding_row(audit, finding);
  transaction.commit();
}

void SqliteStore::finding_row(RowId audit, const AuditFinding& finding) {
  auto& insert = connection_.prepare(
      "INSERT INTO audit_findings (audit_id, kind, lesion, tensor, verdict, as_expected, checks, rejections, "
      "message, workload, distribution, input_seed, max_error, mean_error, tolerance) "
      "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  insert.bind(1, audit)
      .bind(2, ak::to_string(finding.kind))
      .bind(3, finding.name)
      .bind(4, finding.tensor)
      .bind(5, ak::to_string(finding.verdict))
      .bind(6, finding.as_expected())
      .bind(7, finding.checks)
      .bind(8, finding.rejections)
      .bind(9, finding.message);
  for (int column = 10; column <= 15; ++column) insert.bind(column, nullptr);
  if (const auto& check = finding.evidence) {
    insert.bind(10, check->workload)
        .bind(11, check->distribution)
        .bind(12, as_signed(check->seed))
        .bind(13, finite(check->max_error))
        .bind(14, finite(check->mean_error))
        .bind(15, finite(check->tolerance));
  }
  insert.run();
}

bool SqliteStore::audit_passed(const std::string& content_hash, const ProblemInstance& problem) {
  auto& query = connection_.prepare(
      "SELECT a.passed FROM audits a JOIN definitions d ON d.id = a.definition_id "
      "WHERE a.content_hash = ? AND d.content_hash = ? ORDER BY a.id DESC LIMIT 1");
  return find(query.bind(1, content_hash).bind(2, problem.definition.hash())).value_or(0) != 0;
}

namespace {

std::unique_ptr<SqliteStore> open_file(const std::filesystem::path& file) {
  if (const auto folder = file.parent_path(); !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
      fail(ExitCode::database, "cannot make the folder {} of the database: {}", folder.string(),
           error.message());
  }
  return std::make_unique<SqliteStore>(file);
}

}  // namespace

std::unique_ptr<VariantStore> open_store(const std::filesystem::path& file) { return open_file(file); }
std::unique_ptr<AuditStore> open_audit_store(const std::filesystem::path& file) { return open_file(file); }

std::filesystem::path default_database() {
  if (const char* file = std::getenv("ALPHAKERNEL_DB"); file && *file) return file;
  if (const char* folder = std::getenv("XDG_DATA_HOME"); folder && *folder)
    return std::filesystem::path(folder) / "alphakernel/alphakernel.db";
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::filesystem::path(home) / ".local/share/alphakernel/alphakernel.db";
  fail(ExitCode::database, "no place for the database: give --db FILE or set ALPHAKERNEL_DB");
}

}  // namespace ak::db
