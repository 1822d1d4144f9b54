// SPDX-License-Identifier: Apache-2.0
#include "agent/confirmation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "agent/evaluate_one.h"
#include "agent/other_devices.h"
#include "agent/paired_comparison.h"
#include "agent/search_context.h"
#include "agent/seeds.h"
#include "core/error.h"
#include "core/text/hash.h"

namespace ak::agent {
namespace {

using std::chrono::steady_clock;

// Enough for a slow machine to build references and for a few candidates (chosen); a long search may take
// as long again.
constexpr auto kStepTime = std::chrono::minutes(2);

// A worker that was killed says nothing of the candidate, and is started again (chosen: as often as a pool sends a task).
constexpr int kExaminationTries = 2;

bool was_lost(const Completed& completed) {
  return completed.result.outcome.status == Status::infrastructure_error;
}

// Small shapes that a leader is examined on where the problem lists none: the examiners need seconds
// for each (chosen).
constexpr int kExaminedShapes = 4;

constexpr const char* kNoOtherShape = "its launch plan is for the given shape alone";

// Further apart is not a tie: by the scores of the search such are not compared, and in pairs an interval that
// holds 1 all the same says that the pairs were too noisy (chosen).
constexpr double kTieReach = 0.02;

}  // namespace

Confirmation::Confirmation(const LoopOptions& options, Evaluator& evaluator, const Clock& clock, Depth depth,
                           Champion& champion, Commit commit)
    : options_(options),
      evaluator_(evaluator),
      clock_(clock),
      depth_(depth),
      on_gpu_(evaluator.capabilities().device.kind == DeviceKind::cuda),
      champion_(champion),
      commit_(std::move(commit)),
      examiners_(options.examiners.size()) {}

void Confirmation::announce(std::string_view step) const {
  if (options_.on_confirm) options_.on_confirm(step);
}

bool Confirmation::stopped() const {
  return options_.stop_requested != nullptr && options_.stop_requested->load();
}

/// Why nothing can be confirmed, or nothing.
std::string Confirmation::unavailable_reason() const {
  if (depth_ == Depth::build) return "nothing was executed";
  if (!champion_.best()) return "no candidate passed the listed shapes";
  return stopped() ? "interrupted" : "";
}

std::optional<Completed> Confirmation::evaluate(Evaluator& evaluator, EvaluationRequest request) {
  return evaluate_one(evaluator, std::move(request), clock_, deadline_, options_.stop_requested);
}

/// Takes a step; the leader stays where the step could not be taken, and `note` says why. A search that has
/// ended is not lost to what only confirms it; what the store cannot keep is lost, and ends it.
template <class Step>
bool Confirmation::attempt(std::string& note, Step step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.code() == ExitCode::database) throw;
    note = error.what();
    return true;
  }
}

void Confirmation::run(steady_clock::duration search_time, LoopResult& result) {
  const auto begin_reports = [&](const std::string& note) {
    result.held_out.note = result.final_measurement.note = result.profile.note = note;
    result.examinations.clear();
    result.other_devices.clear();
    unconfirmed_ = false;
    for (const auto& examiner : options_.examiners)
      result.examinations.push_back({.examiner = examiner.name, .passed = false, .note = note});
  };
  begin_reports(result.suspended ? "the search is suspended" : unavailable_reason());
  if (!result.held_out.note.empty()) return;
  const auto next_step = [&] {
    deadline_ = clock_.now() + std::max<steady_clock::duration>(kStepTime, search_time);
  };
  while (champion_.best()) {
    begin_reports("");
    fault_.clear();
    next_step();
    bool confirmed = attempt(result.held_out.note, [&] { return held_out(result); });
    next_step();
    confirmed = confirmed && examined(result.examinations);
    next_step();
    std::string no_ties;  // of which nothing is said
    confirmed = confirmed && attempt(no_ties, [&] { return compared(result.ties); });
    next_step();
    std::string no_others;
    confirmed = confirmed && attempt(no_others, [&] { return agreed(result); });
    next_step();
    confirmed = confirmed &&
                attempt(result.final_measurement.note, [&] { return measured(result.final_measurement); });
    if (confirmed) {
      next_step();
      std::string no_turns;
      static_cast<void>(attempt(no_turns, [&] {
        in_turns_with_libraries(result.library_turns);
        return true;
      }));
      if (!no_turns.empty()) result.library_turns.notes.push_back(no_turns);
      next_step();
      static_cast<void>(attempt(result.profile.note, [&] {
        profile(result.profile);
        return true;
      }));
      return;
    }
    ++result.held_out.disqualified;
    result.held_out.faults.push_back(fault_);
    result.held_out.passed = false;
    champion_.disqualify();
  }
}

bool Confirmation::held_out(LoopResult& result) {
  HeldOutReport& report = result.held_out;
  const DeviceFacts device = evaluator_.capabilities().device;
  if (!shapes_) shapes_.emplace(options_, device, device.kind, options_.held_out_shapes);
  const EvaluationRequest request = shapes_->request(champion_.best()->request.candidate);
  report.shapes = shapes_->count();
  report.drawn = shapes_->text();
  if (report.shapes == 0) {
    report.note = shapes_->around_shape() ? kNoOtherShape
                                          : "the problem has no ranges of held-out shapes for this device";
    return true;
  }
  announce("held-out shapes");
  for (const bool last : {false, true}) {
    auto completed = evaluate(evaluator_, request);
    if (!completed) {
      report.note = unfinished();
      return true;
    }
    const Outcome outcome = completed->result.outcome;
    if (info(outcome.status).candidate_fault) {
      fault_ = words(outcome);
      const auto wrong = found_wrong(*completed, result);
      report.passed = wrong == false;
      unconfirmed_ = !wrong.has_value();
      if (!wrong)
        report.note =
            fmt::format("a worker elsewhere finds {}, and no other device decided it", words(outcome));
      return !wrong.value_or(false);
    }
    commit_(*completed, nullptr, "held_out");
    report.passed = is_verified(outcome.status);
    if (report.passed) return true;
    if (last) report.note = words(outcome);
  }
  return true;
}

/// Whether a fault is the champion's, by those that may be asked beside the place that found it; nothing: as many say the
/// one as the other, or none of them answered. A device of this machine outweighs it.
std::optional<bool> Confirmation::found_wrong(Completed& found, LoopResult& result) {
  constexpr int kOwnWeight = 2;
  int wrong = 1, right = 0;
  std::string who_passed;
  std::vector<Completed> answers;
  const std::vector<PoolPlace> others = second_opinions(evaluator_.pool_places(), found.result.place);
  for (const PoolPlace& place : others) {
    if (wrong > right + 1) break;
    EvaluationRequest request = found.request;
    request.place = place.place;
    auto answer = evaluate(evaluator_, std::move(request));
    if (!answer) continue;
    const Outcome& outcome = answer->result.outcome;
    const int weight = place.own ? kOwnWeight : 1;
    if (info(outcome.status).candidate_fault) wrong += weight;
    if (is_verified(outcome.status)) {
      right += weight;
      who_passed = place.place;
    }
    answers.push_back(*std::move(answer));
  }
  // Who stands alone where others could have been asked decides nothing.
  const bool alone = wrong == 1 && !others.empty();
  const bool is_wrong = wrong > right && !alone;
  if (right > wrong)
    result.deviations.push_back({.place = found.result.place,
                                 .agrees = false,
                                 .deviates = true,
                                 .note = fmt::format("on held-out shapes that {} finds right {}", who_passed,
                                                     words(found.result.outcome))});
  answers.insert(answers.begin(), std::move(found));
  for (Completed& answer : answers) {
    if (!is_wrong) disbelieve(answer);
    commit_(answer, nullptr, "held_out");
  }
  return is_wrong || right > wrong ? std::optional(is_wrong) : std::nullopt;
}

bool Confirmation::examined(std::vector<ExaminationReport>& reports) {
  std::vector<ExaminationReport> made;
  // On a smaller device it would run as it did where multiprocessors do not matter; the smallest with room for it is enough.
  bool is_smaller_needless = !champion_.best()->request.candidate.asks_for_multiprocessors();
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const bool is_smaller = options_.examiners[i].is_smaller;
    if (is_smaller && is_smaller_needless) continue;
    if (!attempt(reports[i].note, [&] { return examined(i, reports[i]); })) return false;
    is_smaller_needless = is_smaller_needless || (is_smaller && reports[i].passed);
    made.push_back(reports[i]);
  }
  reports = std::move(made);
  return true;
}

/// Of the champion on the problem's small shapes, or on small ones that are drawn where it lists none.
EvaluationRequest Confirmation::examination_request(const DeviceFacts& device) {
  EvaluationRequest request = champion_.best()->request;
  for (const Workload& workload : options_.problem->workloads) {
    if (workload.tier == WorkloadTier::emulator) request.workloads.push_back(workload.name);
  }
  if (!request.workloads.empty()) return request;
  HeldOutShapes small(options_, device, DeviceKind::emulator, kExaminedShapes);
  const EvaluationRequest& drawn = small.request(request.candidate);
  request.problem = drawn.problem;
  request.workloads = drawn.workloads;
  request.tag = drawn.tag;
  return request;
}

bool Confirmation::examined(std::size_t examiner, ExaminationReport& report) {
  auto& evaluator = examiners_[examiner];
  if (!evaluator) evaluator = options_.examiners[examiner].make();
  EvaluationRequest request = examination_request(evaluator->capabilities().device);
  if (request.workloads.empty()) {
    report.note = shapes_ && shapes_->around_shape() ? kNoOtherShape : "no shape is small enough";
    return true;
  }
  announce("small shapes on " + options_.examiners[examiner].name);
  request.depth = Depth::check;
  request.seed = derive_seed(options_.held_out_seed.value_or(random_seed()), examiner);
  std::optional<Completed> completed;
  for (int tries = 0; tries < kExaminationTries && (!completed || was_lost(*completed)); ++tries) {
    completed = evaluate(*evaluator, request);
    if (!completed) {
      report.note = unfinished();
      return true;
    }
    const DeviceFacts device = evaluator->capabilities().device;
    commit_(*completed, &device, "examination");
  }
  const Outcome& outcome = completed->result.outcome;
  report.passed = is_verified(outcome.status);
  if (!report.passed) fault_ = report.note = words(outcome);
  return report.passed || !is_verdict_of_examiner(outcome, options_.examiners[examiner].is_smaller);
}

bool Confirmation::agreed(LoopResult& result) {
  if (depth_ != Depth::time) return true;
  OtherDevicesVerdict verdict = ask_other_devices(
      champion_, evaluator_.pool_places(), options_.confirm_devices, on_gpu_,
      [&](EvaluationRequest request) {
        announce("on " + request.place);
        return evaluate(evaluator_, std::move(request));
      },
      [&](const Completed& completed, std::string arm) { commit_(completed, nullptr, std::move(arm)); });
  result.other_devices = std::move(verdict.reports);
  std::ranges::move(verdict.deviations, std::back_inserter(result.deviations));
  unconfirmed_ |= verdict.unconfirmed;
  if (verdict.refuted) fault_ = "other devices of the pool contradict it";
  return !verdict.refuted;
}

bool Confirmation::measured(FinalMeasurement& report) {
  // What is measured at last counts as confirmed.
  if (unconfirmed_) {
    report.note = "another device of the pool contradicts it";
    return true;
  }
  if (!on_gpu_ || depth_ != Depth::time) {
    report.note = "no time was measured";
    return true;
  }
  announce("its times in a fresh process");
  EvaluationRequest request = champion_.best()->request;
  request.fresh_process = request.energy = true;
  request.seed = derive_seed(random_seed(), 0);
  request.champion_score_ns.reset();
  auto completed = evaluate(evaluator_, std::move(request));
  if (!completed) {
    report.note = unfinished();
    return true;
  }
  commit_(*completed, nullptr, "final");
  const Outcome& outcome = completed->result.outcome;
  if (!is_verified(outcome.status)) {
    fault_ = report.note = words(outcome);
    return !info(outcome.status).candidate_fault;
  }
  report.search_ns = champion_.score_ns();
  champion_.replace_result(std::move(completed->result));
  return true;
}

/// What follows the champion closely. False when the champion was found wrong.
bool Confirmation::compared(std::vector<Tie>& ties) {
  ties.clear();
  if (depth_ != Depth::time) return true;
  const double reach_ns = champion_.score_ns().value_or(0) * (1 + (on_gpu_ ? kTieReach : kMinGain));
  std::vector<Champion::Entry> close;
  for (const Champion::Entry& entry : champion_.ranking()) {
    const EvaluationResult& result = entry.completed.result;
    if (entry.variant == champion_.variant() || result.outcome.status == Status::duplicate) continue;
    if (!result.score_ns || *result.score_ns > reach_ns || !predicted_alike(entry)) continue;
    if (close.size() < kMaxTies) close.push_back(entry);
  }
  if (!close.empty()) announce("against those close to it");
  for (const Champion::Entry& entry : close) {
    bool champion_failed = false;
    const auto ratio = ratio_to_champion(entry, champion_failed);
    if (champion_failed) return false;
    if (!ratio) continue;
    const double apart = std::abs(ratio->ratio - 1);
    const bool indistinct = ratio->interval.low <= 1 && ratio->interval.high >= 1;
    const bool tied = apart <= (indistinct ? kTieReach : kMinGain);
    const Completed& completed = entry.completed;
    if (tied)
      ties.push_back(
          {.with = {completed.request.candidate, completed.result.score_ns, entry.variant, entry.predicted},
           .ratio = *ratio});
  }
  return true;
}

/// Where predicted times rank, equal costs alone are no tie.
bool Confirmation::predicted_alike(const Champion::Entry& other) const {
  const PredictedScore* champion = champion_.predicted();
  if (champion == nullptr || !other.predicted) return champion == nullptr;
  return std::abs((other.predicted->score / champion->score).value() - 1) <= kMinGain;
}

/// By pairs where times are noisy, else by their costs.
std::optional<PairedRatio> Confirmation::ratio_to_champion(const Champion::Entry& other,
                                                           bool& champion_failed) {
  if (!on_gpu_) {
    const double ratio = *other.completed.result.score_ns / *champion_.score_ns();
    return PairedRatio{.ratio = ratio, .interval = {ratio, ratio}};
  }
  EvaluationRequest request = other.completed.request;
  request.rival = std::make_shared<const Candidate>(champion_.best()->request.candidate);
  request.tag = fmt::format("{}", *champion_.variant());
  auto completed = evaluate(evaluator_, std::move(request));
  if (!completed) return std::nullopt;
  EvaluationResult& result = completed->result;
  const auto verdict = judge_pairs(*completed);
  if (verdict) result.outcome.message = verdict->text();
  if (result.rival_failed) {
    name_the_rival(*completed);
    champion_failed = info(result.outcome.status).candidate_fault;
    if (champion_failed) fault_ = words(result.outcome);
  }
  commit_(*completed, nullptr, "comparison");
  return verdict ? std::optional(verdict->ratio) : std::nullopt;
}

void Confirmation::in_turns_with_libraries(LibraryTurnsReport& report) {
  if (!on_gpu_ || depth_ != Depth::time) return;
  report = turns_with_libraries(
      champion_.best()->request,
      [&](EvaluationRequest request) -> std::optional<EvaluationResult> {
        auto completed = evaluate(evaluator_, std::move(request));
        if (!completed) return std::nullopt;
        commit_(*completed, nullptr, "comparison");
        return std::move(completed->result);
      },
      [&](const std::string& what) { announce(what); });
}

// For whoever wants to know why the leader takes as long as it does; no verdict.
void Confirmation::profile(ProfileReport& report) {
  if (!options_.profile || !on_gpu_ || depth_ != Depth::time) {
    report.note = "not asked for";
    return;
  }
  announce("its profile");
  EvaluationRequest request = champion_.best()->request;
  request.profile = options_.profile;
  request.champion_score_ns.reset();
  auto completed = evaluate(evaluator_, std::move(request));
  if (!completed) {
    report.note = unfinished();
    return;
  }
  commit_(*completed, nullptr, "profile");
  report.profiles = std::move(completed->result.profiles);
  if (report.profiles.empty()) report.note = words(completed->result.outcome);
}

}  // namespace ak::agent
