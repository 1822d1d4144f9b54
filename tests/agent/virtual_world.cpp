// SPDX-License-Identifier: Apache-2.0
#include "tests/agent/virtual_world.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "core/error.h"

namespace ak::agent::test {

Ticket VirtualDevice::submit(EvaluationRequest request) {
  const auto takes = duration ? duration(request) : std::chrono::milliseconds(10);
  if (keep_requests) requests.push_back(request);
  running_.emplace(clock_.now() + takes, Running{next_, std::move(request)});
  peak_in_flight = std::max(peak_in_flight, running_.size());
  ++submitted;
  return next_++;
}

std::optional<Completed> VirtualDevice::wait_any(TimePoint deadline) {
  if (throws_at && waits_++ == *throws_at) fail(ExitCode::environment, "the device fell off the bus");
  if (running_.empty()) return std::nullopt;
  const auto first = running_.begin();
  if (first->first > deadline) {
    clock_.advance_to(deadline);
    return std::nullopt;
  }
  clock_.advance_to(first->first);
  Running ended = std::move(first->second);
  running_.erase(first);
  EvaluationResult result = ended.cancelled ? failed(Status::interrupted) : answer_(ended.request);
  return Completed{ended.ticket, std::move(ended.request), std::move(result)};
}

void VirtualDevice::cancel(Ticket ticket) {
  ++cancelled;
  if (ignores_cancel) return;
  for (auto it = running_.begin(); it != running_.end(); ++it) {
    if (it->second.ticket != ticket) continue;
    auto node = running_.extract(it);
    node.key() = clock_.now();
    node.mapped().cancelled = !finishes_cancelled;
    running_.insert(std::move(node));
    return;
  }
}

RowId VectorStore::begin_search(const SearchRecord&, const ProblemInstance&, const DeviceFacts&,
                                const Arch&) {
  ++begun;
  return 7;
}

StoredEvaluation VectorStore::commit(const EvaluationRecord& record) {
  if (throws_at_row == rows.size()) fail(ExitCode::database, "disk full");
  rows.push_back({record.iteration, record.arm, record.request->candidate.tunables,
                  record.result->outcome.status, std::string(record.asked ? record.asked->member : ""),
                  record.request->candidate.name, record.proposer, record.parents, record.llm_call,
                  record.hypothesis ? std::optional(*record.hypothesis) : std::nullopt,
                  record.result->build && !record.result->build->cubin.empty()});
  const RowId row = std::ssize(rows);
  return {.variant = 1000 + row, .evaluation = row};
}

void VectorStore::together(const std::function<void()>& commits) {
  const std::size_t before = rows.size();
  commits();
  most_together = std::max(most_together, rows.size() - before);
}

RowId VectorStore::begin_llm_call(const LlmCallRecord& record) {
  calls.push_back(record);
  return std::ssize(calls);
}

void VectorStore::end_llm_call(RowId, const LlmReply& reply, double) { replies.push_back(reply); }

void VectorStore::end_search(RowId, std::string_view status_name, std::string_view why,
                             std::optional<RowId> best) {
  ++ended;
  if (throws_at_end) fail(ExitCode::database, "disk full at the end");
  status = status_name;
  reason = why;
  best_variant = best;
}

std::shared_ptr<const ProblemInstance> make_problem(std::vector<Workload> workloads) {
  const Expression one = Expression::parse("1").value();
  return std::make_shared<const ProblemInstance>(ProblemInstance{.problem = "grid",
                                                                 .folder = {},
                                                                 .params = {},
                                                                 .definition = {},
                                                                 .aliases = {},
                                                                 .flops = one,
                                                                 .bytes_read = one,
                                                                 .bytes_written = one,
                                                                 .tolerance = {},
                                                                 .distributions = {},
                                                                 .mutations = {},
                                                                 .workloads = std::move(workloads),
                                                                 .reference_cu = {},
                                                                 .templates = {},
                                                                 .sources_cited = {}});
}

Candidate make_template(const std::string& name, std::vector<Tunable> tunables) {
  Candidate candidate;
  candidate.name = name;
  candidate.source = "/* " + name + " */";
  for (const Tunable& tunable : tunables) candidate.tunables[tunable.name] = tunable.default_value;
  candidate.plan.tunables = std::move(tunables);
  return candidate;
}

Candidate grid_template(const std::string& name, std::int64_t x, std::int64_t y) {
  std::vector<std::int64_t> xs(static_cast<std::size_t>(x)), ys(static_cast<std::size_t>(y));
  std::iota(xs.begin(), xs.end(), 0);
  std::iota(ys.begin(), ys.end(), 0);
  return make_template(name, {{"X", xs, 0}, {"Y", ys, 0}});
}

EvaluationResult timed(double score_ns, double relative_interval) {
  EvaluationResult result;
  result.outcome = {Status::ok, StageId::verdict, "", {}};
  result.build.emplace().outcome.status = Status::ok;
  result.score_ns = score_ns;
  Measurement m;
  m.workload = "w";
  m.median_ns = score_ns;
  m.ci_low_ns = score_ns * (1 - relative_interval);
  m.ci_high_ns = score_ns * (1 + relative_interval);
  result.measurements.push_back(m);
  return result;
}

EvaluationResult timed_in_pairs(double challenger_ns, double champion_ns) {
  EvaluationResult result = timed(challenger_ns);
  result.measurements.push_back(result.measurements.front());
  result.measurements[1].role = MeasurementRole::champion;
  std::mt19937 generator(5);
  std::normal_distribution<double> noise(1, 0.01);
  for (int i = 0; i < 40; ++i) {
    result.measurements[0].samples_ns.push_back(static_cast<std::uint32_t>(challenger_ns * noise(generator)));
    result.measurements[1].samples_ns.push_back(static_cast<std::uint32_t>(champion_ns * noise(generator)));
  }
  return result;
}

EvaluationResult failed(Status status) {
  EvaluationResult result;
  result.outcome = {status, StageId::build, "planned failure", {}};
  return result;
}

EvaluationResult built(int registers, int spill_bytes, double occupancy_ratio) {
  EvaluationResult result;
  result.outcome = {Status::compiled_only, StageId::verdict, "", {}};
  BuildResult& build = result.build.emplace();
  build.outcome.status = Status::ok;
  KernelFacts& kernel = build.kernels.emplace_back();
  kernel.registers = registers;
  kernel.spill_store_bytes = spill_bytes;
  result.occupancy = Occupancy{.blocks_per_sm = 1, .ratio = occupancy_ratio, .limiter = "registers"};
  return result;
}

double surface_ns(const TunableValues& point) {
  const auto dx = static_cast<double>(point.at("X") - 7), dy = static_cast<double>(point.at("Y") - 3);
  return 1000 + 50 * (dx * dx + dy * dy);
}

EvaluationResult on_surface(const EvaluationRequest& request) {
  return timed(surface_ns(request.candidate.tunables));
}

}  // namespace ak::agent::test
