// SPDX-License-Identifier: Apache-2.0
#include "app/sets/member_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "agent/evaluate_one.h"
#include "agent/seeds.h"
#include "app/setup/assembler.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

// Of inputs: not those of the searches, on which candidates were chosen.
constexpr std::uint64_t kMemberStream = 17;
// For each shape, references and all distributions included (chosen; a candidate in a search has 60 s for all shapes).
constexpr auto kTimeOfShape = std::chrono::seconds(60);

SearchRecord record_of(const SearchRun& run, RowId set) {
  SearchRecord record;
  record.command = run.command;
  record.proposer = "search";
  record.strategy = run.strategy;
  record.seed = run.seed;
  record.budgets = Json::object();
  record.version = AK_VERSION;
  record.audited = run.audited;
  record.set = SetPart{.set = set, .role = "members"};
  return record;
}

}  // namespace

MemberMeasurements::MemberMeasurements(const SearchRun& run, const Config& config, VariantStore& store,
                                       RowId set, const std::atomic<bool>& stop)
    : run_(run), store_(store), stop_(stop) {
  runtime::EvaluatorOptions options = evaluator_options(run.target, config);
  if (run.one_by_one) options.max_emulators = 1;
  evaluator_ = runtime::make_local_evaluator(std::move(options), source_assembler());
  device_ = evaluator_->capabilities().device;
  search_ = store_.begin_search(record_of(run, set), *run.problem, device_, run.target.arch);
}

MemberMeasurements::~MemberMeasurements() {
  try {
    store_.end_search(search_, stop_.load() ? "stopped" : "finished", "all members were measured",
                      std::nullopt);
  } catch (const std::exception&) {
    // The store may be what failed; whoever used it last has said so.
  }
}

bool MemberMeasurements::takes(const Candidate& candidate, const AxisValues& sizes) const {
  Environment environment = run_.problem->environment(sizes);
  for (const auto& [name, value] : candidate.tunables) environment[name] = value;
  environment.merge(device_environment(device_, run_.target.arch));
  return resolve(candidate.plan, environment).ok();
}

std::optional<MemberTimes> MemberMeasurements::time(const Candidate& candidate,
                                                    const std::vector<Workload>& workloads) {
  std::vector<Workload> timed;
  for (Workload workload : workloads) {
    if (!takes(candidate, workload.axes)) continue;
    workload.roles = {WorkloadRole::check, WorkloadRole::time};
    timed.push_back(std::move(workload));
  }
  auto found =
      timed.empty() ? std::optional(MemberTimes{}) : evaluate(candidate, timed, Depth::time, "member");
  if (!found) return std::nullopt;
  std::vector<double> by_workload;
  for (const Workload& workload : workloads) {
    const auto at = std::ranges::find(timed, workload.name, &Workload::name);
    by_workload.push_back(at == timed.end() ? std::numeric_limits<double>::infinity()
                                            : found->times_ns[static_cast<std::size_t>(at - timed.begin())]);
  }
  found->times_ns = std::move(by_workload);
  return found;
}

std::optional<MemberTimes> MemberMeasurements::check(const Candidate& candidate,
                                                     const std::vector<Workload>& workloads,
                                                     std::string arm) {
  return evaluate(candidate, workloads, Depth::check, std::move(arm));
}

std::shared_ptr<const ProblemInstance> MemberMeasurements::problem_of(
    const std::vector<Workload>& workloads) {
  std::string key;
  for (const Workload& workload : workloads)
    key += fmt::format("{} {} {}\n", workload.name, workload.uid, workload.has(WorkloadRole::time));
  auto& problem = problems_[key];
  if (problem) return problem;
  auto copy = std::make_shared<ProblemInstance>(*run_.problem);
  copy->workloads = workloads;
  return problem = std::move(copy);
}

std::optional<MemberTimes> MemberMeasurements::evaluate(const Candidate& candidate,
                                                        const std::vector<Workload>& workloads, Depth depth,
                                                        std::string arm) {
  EvaluationRequest request;
  request.problem = problem_of(workloads);
  request.candidate = candidate;
  request.arch = run_.target.arch;
  request.depth = depth;
  request.seed = agent::derive_seed(run_.seed, kMemberStream);
  for (const Workload& workload : workloads) request.workloads.push_back(workload.name);
  request.changing_inputs = depth == Depth::time && device_.kind == DeviceKind::cuda;
  request.deadline = kTimeOfShape * static_cast<int>(workloads.size());
  const auto give_up = clock_.now() + 2 * request.deadline;
  const auto completed = agent::evaluate_one(*evaluator_, std::move(request), clock_, give_up, &stop_);
  if (!completed) return std::nullopt;
  EvaluationRecord record;
  record.search = search_;
  record.iteration = iteration_++;
  record.proposer = "search";
  record.arm = std::move(arm);
  record.request = &completed->request;
  record.result = &completed->result;
  const StoredEvaluation stored = store_.commit(record);
  if (completed->result.outcome.status == Status::infrastructure_error) return std::nullopt;
  MemberTimes times{.variant = stored.variant, .outcome = completed->result.outcome, .times_ns = {}};
  for (const Workload& workload : workloads) {
    double time_ns = std::numeric_limits<double>::infinity();
    for (const Measurement& m : completed->result.measurements)
      if (m.role == MeasurementRole::candidate && m.cold && m.workload == workload.name && m.median_ns > 0)
        time_ns = m.median_ns;
    times.times_ns.push_back(time_ns);
  }
  return times;
}

}  // namespace ak::app
