// SPDX-License-Identifier: Apache-2.0
#include "app/sets/member_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "agent/evaluate_one.h"
#include "agent/paired_comparison.h"
#include "agent/seeds.h"
#include "app/setup/assembler.h"
#include "core/text/hash.h"

namespace ak::app {
namespace {

// Of inputs: not those of the searches, on which candidates were chosen.
constexpr std::uint64_t kMemberStream = 17;
// For each shape, references and all distributions included (chosen; a candidate in a search has 60 s for all shapes).
constexpr auto kTimeOfShape = std::chrono::seconds(60);

constexpr double kNotTaken = std::numeric_limits<double>::infinity();

std::vector<Workload> at(const std::vector<Workload>& workloads, const std::vector<std::size_t>& chosen) {
  std::vector<Workload> some;
  for (const std::size_t i : chosen) some.push_back(workloads[i]);
  return some;
}

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
  options.time_baseline = false;  // members are compared with one another, on shapes drawn for that, too
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

Environment MemberMeasurements::environment(const AxisValues& sizes) const {
  Environment environment = run_.problem->environment(sizes);
  environment.merge(device_environment(device_, run_.target.arch));
  return environment;
}

bool MemberMeasurements::takes(const Candidate& candidate, const AxisValues& sizes) const {
  Environment names = environment(sizes);
  for (const auto& [name, value] : candidate.tunables) names[name] = value;
  return resolve(candidate.plan, names).ok();
}

std::vector<std::string> MemberMeasurements::taken_by(std::initializer_list<const Candidate*> candidates,
                                                      const std::vector<Workload>& workloads) const {
  std::vector<std::string> names;
  for (const Workload& workload : workloads) {
    const auto takes_it = [&](const Candidate* candidate) { return takes(*candidate, workload.axes); };
    if (std::ranges::all_of(candidates, takes_it)) names.push_back(workload.name);
  }
  return names;
}

void MemberMeasurements::build(std::span<const Candidate> candidates) {
  std::vector<Ticket> tickets;
  for (const Candidate& candidate : candidates)
    tickets.push_back(evaluator_->submit(request_of(candidate, run_.problem, {}, Depth::build)));
  for (std::size_t left = tickets.size(); left > 0 && !stop_.load();)
    if (evaluator_->wait_any(clock_.now() + agent::kPollInterval)) --left;
  for (const Ticket ticket : tickets) evaluator_->cancel(ticket);  // those that were not waited for
}

std::optional<MemberTimes> MemberMeasurements::time(const Candidate& candidate,
                                                    const std::vector<Workload>& workloads,
                                                    TimeQuality quality) {
  std::vector<std::size_t> all(workloads.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return time(candidate, workloads, all, quality);
}

std::optional<MemberTimes> MemberMeasurements::time(const Candidate& candidate,
                                                    const std::vector<Workload>& workloads,
                                                    const std::vector<std::size_t>& chosen,
                                                    TimeQuality quality) {
  std::vector<std::string> taken = taken_by({&candidate}, at(workloads, chosen));
  if (taken.empty())
    return MemberTimes{.variant = 0, .outcome = {}, .times_ns = std::vector(workloads.size(), kNotTaken)};
  EvaluationRequest request =
      request_of(candidate, timed_problem_of(workloads), std::move(taken), Depth::time);
  request.coarse_times = quality == TimeQuality::coarse;
  const auto answer = answer_to(std::move(request), "member");
  if (!answer) return std::nullopt;
  const auto& [variant, result] = *answer;
  MemberTimes times{.variant = variant, .outcome = result.outcome, .times_ns = {}};
  for (const Workload& workload : workloads) {
    double time_ns = kNotTaken;
    for (const Measurement& m : result.measurements)
      if (m.role == MeasurementRole::candidate && m.cold && m.workload == workload.name && m.median_ns > 0)
        time_ns = m.median_ns;
    times.times_ns.push_back(time_ns);
  }
  return times;
}

std::vector<double> paired_ratios(const EvaluationResult& result, const std::vector<Workload>& workloads) {
  std::vector<double> ratios;
  for (const Workload& workload : workloads) {
    const Measurement* own = agent::other_of(result, workload.name, MeasurementRole::candidate);
    const Measurement* other = agent::other_of(result, workload.name, MeasurementRole::champion);
    const bool paired =
        own != nullptr && other != nullptr && !own->samples_ns.empty() && !other->samples_ns.empty();
    const double launches =
        paired ? static_cast<double>(other->launches_per_sample) / own->launches_per_sample : 1;
    ratios.push_back(paired ? launches * paired_ratio(std::array{agent::pair_up(*own, *other, 1)}).ratio
                            : kNotTaken);
  }
  return ratios;
}

std::optional<MemberTimes> MemberMeasurements::time_in_turns(const Candidate& candidate,
                                                             const Candidate& other, RowId other_variant,
                                                             const std::vector<Workload>& workloads,
                                                             const std::vector<std::size_t>& chosen) {
  std::vector<std::string> taken = taken_by({&candidate, &other}, at(workloads, chosen));
  if (taken.empty()) return std::nullopt;
  EvaluationRequest request =
      request_of(candidate, timed_problem_of(workloads), std::move(taken), Depth::time);
  request.rival = std::make_shared<const Candidate>(other);
  request.tag = fmt::format("{}", other_variant);  // what the view `comparisons` shows
  const auto answer = answer_to(std::move(request), "comparison");
  if (!answer || answer->second.rival_failed) return std::nullopt;
  return MemberTimes{.variant = answer->first,
                     .outcome = answer->second.outcome,
                     .times_ns = paired_ratios(answer->second, workloads)};
}

std::optional<MemberTimes> MemberMeasurements::check(const Candidate& candidate,
                                                     const std::vector<Workload>& workloads,
                                                     std::string arm) {
  std::vector<std::string> names;
  for (const Workload& workload : workloads) names.push_back(workload.name);
  const auto answer =
      answer_to(request_of(candidate, problem_of(workloads), std::move(names), Depth::check), std::move(arm));
  if (!answer) return std::nullopt;
  return MemberTimes{.variant = answer->first, .outcome = answer->second.outcome, .times_ns = {}};
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

std::shared_ptr<const ProblemInstance> MemberMeasurements::timed_problem_of(std::vector<Workload> workloads) {
  for (Workload& workload : workloads) workload.roles = {WorkloadRole::check, WorkloadRole::time};
  return problem_of(workloads);
}

EvaluationRequest MemberMeasurements::request_of(const Candidate& candidate,
                                                 std::shared_ptr<const ProblemInstance> problem,
                                                 std::vector<std::string> workloads, Depth depth) const {
  EvaluationRequest request;
  request.problem = std::move(problem);
  request.candidate = candidate;
  request.arch = run_.target.arch;
  request.depth = depth;
  request.seed = agent::derive_seed(run_.seed, kMemberStream);
  request.workloads = std::move(workloads);
  request.deadline = kTimeOfShape * static_cast<int>(request.workloads.size());
  return request;
}

std::optional<std::pair<RowId, EvaluationResult>> MemberMeasurements::answer_to(EvaluationRequest request,
                                                                                std::string arm) {
  const auto give_up = clock_.now() + 2 * request.deadline;
  auto completed = agent::evaluate_one(*evaluator_, std::move(request), clock_, give_up, &stop_);
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
  return std::pair(stored.variant, std::move(completed->result));
}

}  // namespace ak::app
