// SPDX-License-Identifier: Apache-2.0
#include "db/read/evaluated_variant.h"

#include <algorithm>
#include <map>

#include "db/sqlite.h"
#include "db/store/line_metrics.h"
#include "db/store/stored_diagnostics.h"

namespace ak::db {
namespace {

constexpr StageId kStages[] = {StageId::pre_check, StageId::build,   StageId::resources,
                               StageId::predict,   StageId::check,   StageId::time,
                               StageId::recheck,   StageId::profile, StageId::verdict};

StageId stage_of(const std::string& name) {
  const auto found = std::ranges::find(kStages, name, [](StageId stage) { return to_string(stage); });
  return found == std::end(kStages) ? StageId::pre_check : *found;
}

WorkloadTier tier_of(const std::string& name) {
  if (name == "emulator") return WorkloadTier::emulator;
  return name == "deep" ? WorkloadTier::deep : WorkloadTier::gpu;
}

MeasurementRole role_of(const std::string& name) {
  if (name == "baseline") return MeasurementRole::baseline;
  return name == "champion" ? MeasurementRole::champion : MeasurementRole::candidate;
}

/// "A1B2...": pairs of digits, four bytes a sample, the lowest first.
std::vector<std::uint32_t> samples_of(const std::string& hex) {
  std::vector<std::uint32_t> samples;
  for (std::size_t i = 0; i + 8 <= hex.size(); i += 8) {
    std::uint32_t sample = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      sample |= static_cast<std::uint32_t>(std::stoul(hex.substr(i + 2 * byte, 2), nullptr, 16))
                << (8 * byte);
    samples.push_back(sample);
  }
  return samples;
}

// The times of a variant that later was found wrong are in `superseded`, so that what found it comes first.
constexpr const char* kEvaluation = R"sql(
SELECT e.id, e.session_id, p.arm, s.arch, dev.facts, e.status, e.stage, e.message, e.gate, e.diagnostics, e.score_ns,
       e.occupancy_ratio, e.occupancy_limiter, e.shared_bytes, coalesce(e.build_id, 0), s.command, s.proposer, s.strategy,
       s.reason, n.alphakernel_version, (julianday(s.ended_at) - julianday(s.started_at)) * 86400
FROM evaluations e JOIN proposals p ON p.id = e.proposal_id JOIN sessions s ON s.id = e.session_id
JOIN devices dev ON dev.id = e.device_id JOIN environments n ON n.id = s.environment_id
WHERE e.variant_id = ?1 AND p.arm NOT IN ('profile', 'comparison') AND (dev.name = ?2 OR ?2 = '')
ORDER BY EXISTS (SELECT 1 FROM superseded x WHERE x.evaluation = e.id), e.score_ns IS NULL,
         e.status NOT IN ('ok', 'duplicate', 'compiled_only'), dev.kind <> 'cuda', p.arm <> 'final', p.arm = 'ablation', e.id DESC LIMIT 1)sql";

constexpr const char* kMeasurements = R"sql(
SELECT w.name, m.role, m.label, m.method, m.cold, hex(m.samples), m.launches_per_sample, m.truncated, m.median_ns,
       m.ci_low_ns, m.ci_high_ns, m.throttled, m.sm_clock_mhz, m.memory_clock_mhz, m.temperature_c, m.throttle_reasons
FROM measurements m JOIN workloads w ON w.id = m.workload_id WHERE m.evaluation_id = ? ORDER BY m.id)sql";

// Of the evaluations of the session that timed baselines the last: the one of the final measurement.
constexpr const char* kBaselines = R"sql(
SELECT max(e.id) FROM evaluations e JOIN measurements m ON m.evaluation_id = e.id AND m.role = 'baseline'
WHERE e.session_id = ?)sql";

class VariantReader {
 public:
  explicit VariantReader(const std::filesystem::path& file) : connection_(file, OpenMode::read_only) {}

  std::optional<EvaluatedVariant> read(RowId variant, const std::string& device) {
    Statement& row = connection_.prepare(kEvaluation);
    row.bind(1, variant).bind(2, device);
    if (!row.step()) return std::nullopt;
    EvaluatedVariant found;
    found.variant = variant;
    const RowId build = read_evaluation(row, found);
    read_build(build, found.result);
    read_checks(found);
    found.result.measurements = measurements(found.evaluation);
    read_baselines(found);
    read_counts(found);
    read_profiles(found);
    read_workloads(found);
    read_later(found);
    read_session(found);
    return found;
  }

  std::vector<Measurement> measurements(RowId evaluation) {
    Statement& row = connection_.prepare(kMeasurements);
    row.bind(1, evaluation);
    std::vector<Measurement> list;
    while (row.step()) {
      Measurement m;
      m.workload = row.text(0);
      m.role = role_of(row.text(1));
      m.label = row.text(2);
      m.method = row.text(3);
      m.cold = row.integer(4) != 0;
      m.samples_ns = samples_of(row.text(5));
      m.launches_per_sample = static_cast<int>(row.integer(6));
      m.truncated = row.integer(7) != 0;
      m.median_ns = row.real(8).value_or(0);
      m.ci_low_ns = row.real(9).value_or(0);
      m.ci_high_ns = row.real(10).value_or(0);
      if (const std::string json = row.text(11); !json.empty())
        m.throttled = parse_json(json).get<std::vector<std::uint32_t>>();
      m.sm_clock_mhz = static_cast<int>(row.integer(12));
      m.memory_clock_mhz = static_cast<int>(row.integer(13));
      m.temperature_c = static_cast<int>(row.integer(14));
      m.throttle_reasons = row.text(15);
      list.push_back(std::move(m));
    }
    row.reset();
    return list;
  }

  std::vector<StoredPairs> pairs(RowId first, RowId second) {
    Statement& row = connection_.prepare(
        "SELECT DISTINCT evaluation, device FROM comparisons WHERE challenger = ? AND champion = ? AND "
        "status = 'ok' ORDER BY evaluation");
    std::vector<StoredPairs> list;
    for (const bool turned : {false, true}) {
      row.bind(1, turned ? second : first).bind(2, turned ? first : second);
      while (row.step()) {
        StoredPairs pairs{.evaluation = row.integer(0), .device = row.text(1), .result = {}};
        pairs.result.outcome.status = Status::ok;
        pairs.result.measurements = measurements(pairs.evaluation);
        if (turned) turn(pairs.result.measurements);
        list.push_back(std::move(pairs));
      }
      row.reset();
    }
    std::ranges::sort(list, {}, &StoredPairs::evaluation);
    return list;
  }

 private:
  static void turn(std::vector<Measurement>& measurements) {
    for (Measurement& m : measurements) {
      if (m.role == MeasurementRole::baseline) continue;
      m.role = m.role == MeasurementRole::candidate ? MeasurementRole::champion : MeasurementRole::candidate;
    }
  }

  /// Returns the row of its build, 0 without one.
  static RowId read_evaluation(Statement& row, EvaluatedVariant& found) {
    found.evaluation = row.integer(0);
    found.session = row.integer(1);
    found.arm = row.text(2);
    found.arch = parse_sm(row.text(3)).value_or(Arch{});
    found.device = device_facts_from_json(parse_json(row.text(4)));
    EvaluationResult& result = found.result;
    result.outcome.status = parse_status(row.text(5)).value_or(Status::infrastructure_error);
    result.outcome.stage = stage_of(row.text(6));
    result.outcome.message = row.text(7);
    result.outcome.gate = parse_gate(row.text(8));
    result.outcome.diagnostics = stored_diagnostics(row.text(9));
    result.score_ns = row.real(10);
    if (const auto ratio = row.real(11))
      result.occupancy = Occupancy{.blocks_per_sm = 0, .ratio = *ratio, .limiter = row.text(12)};
    if (const auto bytes = row.real(13)) result.shared_bytes = static_cast<std::int64_t>(*bytes);
    const RowId build = row.integer(14);
    found.command = row.text(15);
    found.proposer = row.text(16);
    found.strategy = row.text(17);
    found.reason = row.text(18);
    found.version = row.text(19);
    found.wall_s = row.real(20).value_or(0);
    row.reset();
    return build;
  }

  void read_build(RowId build, EvaluationResult& result) {
    if (build == 0) return;
    Statement& head = connection_.prepare("SELECT build_key, nvrtc_version, status FROM builds WHERE id = ?");
    head.bind(1, build);
    if (!head.step()) return;
    BuildResult& facts = result.build.emplace();
    facts.key = head.text(0);
    facts.nvrtc_version = head.text(1);
    facts.outcome.status = parse_status(head.text(2)).value_or(Status::infrastructure_error);
    head.reset();
    Statement& row = connection_.prepare(
        "SELECT kernel, lowered_name, registers, static_shared_bytes, spill_store_bytes, spill_load_bytes, "
        "stack_bytes FROM build_kernels WHERE build_id = ? ORDER BY id");
    row.bind(1, build);
    while (row.step()) {
      KernelFacts kernel{.expression = row.text(0), .lowered_name = row.text(1), .parameter_types = {}};
      kernel.registers = static_cast<int>(row.integer(2));
      kernel.static_shared_bytes = static_cast<int>(row.integer(3));
      kernel.spill_store_bytes = static_cast<int>(row.integer(4));
      kernel.spill_load_bytes = static_cast<int>(row.integer(5));
      kernel.stack_bytes = static_cast<int>(row.integer(6));
      facts.kernels.push_back(std::move(kernel));
    }
    row.reset();
  }

  void read_checks(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT w.name, c.distribution, c.tensor, c.passed, c.max_error, c.mean_error, c.tolerance, "
        "c.nonfinite_mismatches FROM checks c JOIN workloads w ON w.id = c.workload_id WHERE c.evaluation_id "
        "= ? ORDER BY c.id");
    row.bind(1, found.evaluation);
    while (row.step()) {
      CheckRecord check{.workload = row.text(0), .distribution = row.text(1), .tensor = row.text(2)};
      check.passed = row.integer(3) != 0;
      check.max_error = row.real(4).value_or(0);
      check.mean_error = row.real(5).value_or(0);
      check.tolerance = row.real(6).value_or(0);
      check.nonfinite_mismatches = row.integer(7);
      found.result.checks.push_back(std::move(check));
    }
    row.reset();
  }

  void read_baselines(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(kBaselines);
    row.bind(1, found.session);
    const RowId timed = row.step() ? row.integer(0) : 0;
    row.reset();
    if (timed == 0 || timed == found.evaluation) return;
    for (Measurement& m : measurements(timed))
      if (m.role == MeasurementRole::baseline) found.result.measurements.push_back(std::move(m));
  }

  void read_counts(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT w.name, m.name, m.value FROM metrics m JOIN workloads w ON w.id = m.workload_id WHERE "
        "m.evaluation_id = ? AND m.kernel = ''");
    row.bind(1, found.evaluation);
    while (row.step()) {
      for (Measurement& m : found.result.measurements) {
        if (m.workload != row.text(0) || m.role != MeasurementRole::candidate || m.method != kEmulatedMethod)
          continue;
        m.counts[row.text(1)] = static_cast<std::uint64_t>(row.real(2).value_or(0));
      }
    }
    row.reset();
  }

  /// Of the last profile of each workload on the same device.
  void read_profiles(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT w.name, m.kernel, m.name, m.unit, m.value, min(m.id) OVER (PARTITION BY m.kernel) AS place "
        "FROM metrics m JOIN workloads w ON w.id = m.workload_id WHERE m.kernel <> '' AND m.evaluation_id = "
        "(SELECT max(e.id) FROM evaluations e JOIN devices d ON d.id = e.device_id JOIN metrics k ON "
        "k.evaluation_id = e.id AND k.kernel <> '' WHERE e.variant_id = ? AND d.name = ?) ORDER BY w.id, "
        "place, m.id");
    row.bind(1, found.variant).bind(2, found.device.name);
    while (row.step()) {
      auto& profiles = found.result.profiles;
      if (profiles.empty() || profiles.back().workload != row.text(0)) profiles.emplace_back();
      Profile& profile = profiles.back();
      profile.workload = row.text(0);
      profile.method = "cupti";
      if (profile.launches.empty() || profile.launches.back().kernel != row.text(1))
        profile.launches.push_back({.kernel = row.text(1), .metrics = {}, .lines = {}});
      keep_metric(profile, row.text(2), row.text(3), row.real(4).value_or(0));
    }
    row.reset();
    for (Profile& profile : found.result.profiles)
      for (LaunchProfile& launch : profile.launches) std::ranges::sort(launch.lines, {}, &LineSamples::line);
  }

  /// A metric of the launch that was added last, or samples of one of its lines.
  static void keep_metric(Profile& profile, const std::string& name, const std::string& unit, double value) {
    LaunchProfile& launch = profile.launches.back();
    if (const auto sampled = line_of_metric(name)) {
      auto line = std::ranges::find(launch.lines, sampled->first, &LineSamples::line);
      if (line == launch.lines.end())
        line = launch.lines.insert(line, {.line = sampled->first, .samples = {}});
      line->samples[sampled->second] = static_cast<std::uint64_t>(value);
      return;
    }
    profile.units[name] = unit;
    launch.metrics[name] = value;
  }

  void read_workloads(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT w.name, w.workload_uid, w.axes, w.tier, w.weight, w.checked, w.timed FROM workloads w WHERE "
        "w.id IN (SELECT workload_id FROM checks WHERE evaluation_id = ?1 UNION SELECT workload_id FROM "
        "measurements WHERE evaluation_id = ?1) ORDER BY w.id");
    row.bind(1, found.evaluation);
    while (row.step()) {
      Workload workload{.name = row.text(0),
                        .uid = row.text(1),
                        .axes = parse_json(row.text(2)).get<AxisValues>(),
                        .roles = {},
                        .tier = tier_of(row.text(3)),
                        .weight = row.real(4).value_or(1)};
      if (row.integer(5) != 0) workload.roles.push_back(WorkloadRole::check);
      if (row.integer(6) != 0) workload.roles.push_back(WorkloadRole::time);
      found.workloads.push_back(std::move(workload));
    }
    row.reset();
  }

  void read_later(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT p.arm, e.status, e.message, d.name FROM evaluations e JOIN proposals p ON p.id = "
        "e.proposal_id JOIN devices d ON d.id = e.device_id WHERE e.variant_id = ? AND e.session_id = ? AND "
        "p.arm IN ('held_out', 'examination') ORDER BY e.id");
    row.bind(1, found.variant).bind(2, found.session);
    while (row.step())
      found.later.push_back(
          {.arm = row.text(0), .status = row.text(1), .message = row.text(2), .device = row.text(3)});
    row.reset();
  }

  void read_session(EvaluatedVariant& found) {
    Statement& row = connection_.prepare(
        "SELECT count(*), coalesce(sum(e.status IN ('ok', 'duplicate', 'compiled_only')), 0), "
        "max(s.best_variant_id IS ?2 AND s.proposer <> 'user') FROM evaluations e JOIN sessions s ON s.id = "
        "e.session_id JOIN proposals p ON p.id = e.proposal_id WHERE e.session_id = ?1 AND p.arm NOT IN "
        "('comparison', 'held_out', 'examination', 'final', 'profile')");
    row.bind(1, found.session).bind(2, found.variant);
    if (row.step()) {
      found.chosen = row.integer(2) != 0;
      found.evaluations = static_cast<int>(row.integer(0));
      found.verified = static_cast<int>(row.integer(1));
    }
    row.reset();
  }

  Connection connection_;
};

}  // namespace

std::optional<EvaluatedVariant> find_evaluation(const std::filesystem::path& file, RowId variant,
                                                const std::string& device) {
  return VariantReader(file).read(variant, device);
}

std::vector<StoredPairs> find_pairs(const std::filesystem::path& file, RowId first, RowId second) {
  return VariantReader(file).pairs(first, second);
}

}  // namespace ak::db
