// SPDX-License-Identifier: Apache-2.0
#include "agent/other_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/paired_comparison.h"
#include "agent/search_context.h"
#include "agent/seeds.h"
#include "core/text/hash.h"

namespace ak::agent {
namespace {

// GPUs of a model are apart by their clocks, a few percent; who forges times gains no more than this (chosen).
constexpr double kMostApart = 0.1;

bool has_joined(const PoolPlace& place) { return place.device != nullptr && place.reason.empty(); }

/// What a place says of the champion, and the evaluations that it was asked for.
struct Opinion {
  struct Kept {
    Completed completed;
    std::string arm;
  };
  const PoolPlace* place;
  OtherDeviceReport report;
  bool wrong = false;  ///< it finds the champion wrong
  bool apart = false;  ///< it finds another time, or order, than was said
  std::vector<Kept> evaluations = {};

  [[nodiscard]] bool against() const { return wrong || apart; }
};

class OtherDevices {
 public:
  using Evaluate = std::function<std::optional<Completed>(EvaluationRequest)>;
  using Commit = std::function<void(const Completed&, std::string)>;

  OtherDevices(const Champion& champion, const std::vector<PoolPlace>& places, bool on_gpu,
               const Evaluate& evaluate, const Commit& commit)
      : champion_(champion), on_gpu_(on_gpu), evaluate_(evaluate), commit_(commit) {
    const std::string& found_at = champion.best()->result.place;
    const auto finder = std::ranges::find(places, found_at, &PoolPlace::place);
    // Without a pool it is this machine's own device.
    const bool found_here = found_at.empty() || (finder != places.end() && finder->own);
    // On GPUs the first one decides who leads, on CPU devices the cost that was answered.
    const auto first = std::ranges::find_if(places, has_joined);
    const bool first_decides = on_gpu && first != places.end();
    const bool decided_elsewhere = first_decides && !first->own;
    trusted_ = found_here && !decided_elsewhere;
    // A device of this machine that found what another one made the champion is asked like the others.
    answerable_ = found_here && decided_elsewhere ? first->place : found_at;
    for (const PoolPlace& place : places) {
      const bool decided = first_decides && place.place == first->place;
      if (has_joined(place) && place.place != answerable_ && !decided) others_.push_back(&place);
    }
    std::ranges::stable_partition(others_, &PoolPlace::own);
  }

  OtherDevicesVerdict ask(int devices) {
    const int wanted = std::max(devices - 1, trusted_ ? 0 : 1);
    auto other = others_.begin();
    while (other != others_.end() && !refuted() && (agreeing() < wanted || undecided()))
      if (auto opinion = ask(**other++)) opinions_.push_back(*std::move(opinion));
    conclude(agreeing() < wanted);
    return std::move(verdict_);
  }

 private:
  /// Nothing where it says nothing of the champion.
  std::optional<Opinion> ask(const PoolPlace& place) {
    EvaluationRequest request = champion_.best()->request;
    request.champion_score_ns.reset();
    request.rival.reset();
    if (on_gpu_) {  // where times are noisy, inputs that no one knew
      request.changing_inputs = true;
      request.seed = derive_seed(random_seed(), 0);
    }
    Opinion opinion{.place = &place, .report = {.place = place.place, .agrees = true, .note = ""}};
    const Completed* completed = evaluate(std::move(request), opinion, "examination");
    const bool said = completed != nullptr && (completed->result.score_ns || opinion.wrong);
    if (said && opinion.wrong) {
      opinion.report.note = words(completed->result.outcome);
    } else if (said) {
      compare_times(*completed->result.score_ns, opinion);
      if (on_gpu_ && !opinion.apart) compare_with_runner_up(opinion);
    }
    if (said) return opinion;
    commit(opinion, false);
    return std::nullopt;
  }

  /// At its place; null where it did not end in time. Valid until the next call.
  const Completed* evaluate(EvaluationRequest request, Opinion& opinion, std::string arm) {
    request.place = opinion.place->place;
    auto completed = evaluate_(std::move(request));
    if (!completed) return nullptr;
    const EvaluationResult& result = completed->result;
    const bool of_champion = !completed->request.rival || result.rival_failed;
    opinion.wrong = opinion.wrong || (of_champion && is_verdict_of_examiner(result.outcome, false));
    return &opinion.evaluations.emplace_back(*std::move(completed), std::move(arm)).completed;
  }

  void compare_times(double there_ns, Opinion& opinion) const {
    const double claimed_ns = champion_.score_ns().value_or(there_ns);
    opinion.apart = std::abs(there_ns / claimed_ns - 1) > (on_gpu_ ? kMostApart : 0);
    opinion.report.agrees = !opinion.apart;
    const char* of = on_gpu_ ? "" : " of cost";  // the CPU device has no times
    opinion.report.note = opinion.apart ? fmt::format("{:.1f} us{} there, where {:.1f} us were said",
                                                      there_ns / 1e3, of, claimed_ns / 1e3)
                                        : fmt::format("{:.1f} us{} there", there_ns / 1e3, of);
  }

  /// That another GPU has another order is no lie, unless the one that decided may be lying.
  void compare_with_runner_up(Opinion& opinion) {
    const Completed& best = *champion_.best();
    const auto runner_up = std::ranges::find_if(champion_.ranking(), [&](const Champion::Entry& entry) {
      return entry.variant != champion_.variant() && entry.completed.result.outcome.status == Status::ok;
    });
    if (runner_up == champion_.ranking().end()) return;
    EvaluationRequest request = runner_up->completed.request;
    request.rival = std::make_shared<const Candidate>(best.request.candidate);
    request.tag = fmt::format("{}", *champion_.variant());
    const Completed* completed = evaluate(std::move(request), opinion, "comparison");
    if (completed == nullptr) return;
    OtherDeviceReport& report = opinion.report;
    if (opinion.wrong) report.note += ", and next to the runner-up " + words(completed->result.outcome);
    const auto verdict = judge_pairs(*completed);
    if (verdict) report.note += ", where the runner-up is " + verdict->text();
    const bool slower = verdict && verdict->faster;
    report.agrees = !slower && !opinion.wrong;
    opinion.apart = slower && opinion.place->own && !trusted_;
  }

  // ---- what follows from the opinions

  [[nodiscard]] int count(bool own, bool against) const {
    return static_cast<int>(std::ranges::count_if(opinions_, [&](const Opinion& opinion) {
      return opinion.place->own == own && opinion.against() == against;
    }));
  }
  [[nodiscard]] int agreeing() const { return count(true, false) + count(false, false); }
  /// This machine's own devices stand for the champion.
  [[nodiscard]] bool vouched() const { return trusted_ || count(true, false) > 0; }
  /// Workers elsewhere that stand for it, the one that found it included, less those that speak against it.
  [[nodiscard]] int majority() const { return 1 + count(false, false) - count(false, true); }
  [[nodiscard]] bool undecided() const { return !vouched() && majority() == 0; }
  [[nodiscard]] bool refuted_here() const {
    return std::ranges::any_of(opinions_, [&](const Opinion& opinion) {
      return opinion.place->own && (opinion.wrong || (opinion.apart && !trusted_));
    });
  }
  [[nodiscard]] bool refuted() const { return refuted_here() || (!vouched() && majority() < 0); }

  /// The others decide against this one.
  [[nodiscard]] bool deviates(const Opinion& opinion) const {
    if (opinion.place->own || undecided()) return false;
    return opinion.against() != refuted();
  }

  void conclude(bool too_few) {
    verdict_.refuted = refuted();
    verdict_.unconfirmed = undecided() || count(true, true) > 0;
    for (Opinion& opinion : opinions_) {
      opinion.report.deviates = deviates(opinion);
      if (opinion.report.deviates) verdict_.deviations.push_back(opinion.report);
      commit(opinion, refuted() && !opinion.report.deviates);
      verdict_.reports.push_back(std::move(opinion.report));
    }
    if (refuted() && !trusted_) name_who_is_answerable();
    if (undecided())
      say_undecided();
    else if (too_few && !refuted())
      say_too_few();
  }

  void name_who_is_answerable() {
    const auto other = std::ranges::find_if(opinions_, &Opinion::against);
    const auto& report = verdict_.reports[static_cast<std::size_t>(other - opinions_.begin())];
    verdict_.deviations.push_back(
        {.place = answerable_,
         .agrees = false,
         .deviates = true,
         .note = fmt::format("it stood for what {} refuted: {}", report.place, report.note)});
  }

  void say_undecided() {
    const auto other = std::ranges::find_if(opinions_, &Opinion::against);
    verdict_.reports.push_back(
        {.place = "",
         .agrees = false,
         .note = fmt::format("{} and {} contradict each other, and no other device was there to decide",
                             answerable_, other->place->place)});
  }

  void say_too_few() {
    verdict_.reports.push_back(
        {.place = "",
         .agrees = false,
         .note = trusted_ ? "no other device was there to ask"
                          : fmt::format("found by {}, and no other device was there to ask", answerable_)});
  }

  /// @param believed also what it finds wrong
  void commit(Opinion& opinion, bool believed) {
    for (Opinion::Kept& kept : opinion.evaluations) {
      if (kept.completed.result.rival_failed) name_the_rival(kept.completed);
      if (!believed && !opinion.place->own) disbelieve(kept.completed);
      commit_(kept.completed, std::move(kept.arm));
    }
    opinion.evaluations.clear();
  }

  const Champion& champion_;
  bool on_gpu_;
  const Evaluate& evaluate_;
  const Commit& commit_;
  bool trusted_ = false;    ///< devices of this machine made it the champion
  std::string answerable_;  ///< place whose word made it the champion; elsewhere where it is not trusted
  std::vector<const PoolPlace*> others_;
  std::vector<Opinion> opinions_;
  OtherDevicesVerdict verdict_;
};

}  // namespace

OtherDevicesVerdict ask_other_devices(
    const Champion& champion, const std::vector<PoolPlace>& places, int devices, bool on_gpu,
    const std::function<std::optional<Completed>(EvaluationRequest)>& evaluate,
    const std::function<void(const Completed&, std::string)>& commit) {
  const std::string& found_at = champion.best()->result.place;
  // A GPU of this machine checks and times it at the end; a CPU device takes the cost for known.
  if (places.empty() && (on_gpu || found_at.empty())) return {};
  return OtherDevices(champion, places, on_gpu, evaluate, commit).ask(devices);
}

std::vector<PoolPlace> second_opinions(const std::vector<PoolPlace>& places, const std::string& place) {
  constexpr std::size_t kToDecide = 2;
  const auto found_it = std::ranges::find(places, place, &PoolPlace::place);
  if (found_it == places.end() || found_it->own) return {};
  std::vector<PoolPlace> others;
  for (const PoolPlace& other : places) {
    if (!has_joined(other) || &other == &*found_it) continue;
    if (other.own) return {other};
    if (others.size() < kToDecide) others.push_back(other);
  }
  return others;
}

void disbelieve(Completed& completed) {
  Outcome& outcome = completed.result.outcome;
  if (!info(outcome.status).candidate_fault) return;
  outcome.message = fmt::format("not believed of {}: {}", completed.result.place, words(outcome));
  outcome.status = Status::infrastructure_error;
}

}  // namespace ak::agent
