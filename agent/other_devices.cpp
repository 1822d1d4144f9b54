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

class OtherDevices {
 public:
  using Evaluate = std::function<std::optional<Completed>(EvaluationRequest)>;
  using Commit = std::function<void(const Completed&, std::string)>;

  OtherDevices(const Champion& champion, const std::vector<PoolPlace>& places, bool on_gpu,
               const Evaluate& evaluate, const Commit& commit)
      : champion_(champion), on_gpu_(on_gpu), evaluate_(evaluate), commit_(commit) {
    const std::string& found_at = champion.best()->result.place;
    trusted_ = found_at.empty();  // without a pool, by this machine's own device
    // On GPUs the first one decides who leads, on CPU devices the cost that was answered.
    const auto first = std::ranges::find_if(places, has_joined);
    const bool decided_elsewhere = on_gpu && first != places.end() && !first->own;
    for (const PoolPlace& place : places) {
      const bool found_it = place.place == found_at;
      trusted_ = trusted_ || (found_it && place.own);
      const bool decided = on_gpu && first != places.end() && place.place == first->place;
      if (has_joined(place) && !found_it && !decided) others_.push_back(&place);
    }
    trusted_ = trusted_ && !decided_elsewhere;
    std::ranges::stable_partition(others_, &PoolPlace::own);
  }

  OtherDevicesVerdict ask(int devices) {
    int wanted = std::max(devices - 1, trusted_ ? 0 : 1);
    for (auto other = others_.begin(); wanted > 0 && other != others_.end() && !verdict_.refuted; ++other)
      if (ask(**other)) --wanted;
    if (wanted > 0 && !verdict_.refuted)
      verdict_.reports.push_back(
          {.place = "",
           .agrees = false,
           .note = trusted_ ? "no other device was there to ask"
                            : fmt::format("found by {}, and no other device was there to ask",
                                          champion_.best()->result.place)});
    return std::move(verdict_);
  }

 private:
  /// False where it said nothing of the champion.
  bool ask(const PoolPlace& place) {
    EvaluationRequest request = champion_.best()->request;
    request.champion_score_ns.reset();
    request.rival.reset();
    if (on_gpu_) {  // where times are noisy, inputs that no one knew
      request.changing_inputs = true;
      request.seed = derive_seed(random_seed(), 0);
    }
    const auto completed = evaluate(std::move(request), place, "examination");
    if (!completed) return false;
    const EvaluationResult& result = completed->result;
    const bool fault = is_verdict_of_examiner(result.outcome.status);
    if (!result.score_ns && !fault) return false;
    OtherDeviceReport report{.place = place.place, .agrees = !fault, .note = ""};
    if (fault) {
      report.note = words(result.outcome);
    } else {
      compare_times(place, *result.score_ns, report);
      if (on_gpu_ && report.agrees) compare_with_runner_up(place, report);
    }
    verdict_.reports.push_back(std::move(report));
    return true;
  }

  /// There, and commits what is believed of the answer. A fault of the champion's refutes it, or leaves it unconfirmed.
  std::optional<Completed> evaluate(EvaluationRequest request, const PoolPlace& place, std::string arm) {
    request.place = place.place;
    auto completed = evaluate_(std::move(request));
    if (!completed) return std::nullopt;
    Completed kept = *completed;
    const bool of_champion = !kept.request.rival || kept.result.rival_failed;
    if (kept.result.rival_failed) name_the_rival(kept);
    if (Outcome& outcome = kept.result.outcome; info(outcome.status).candidate_fault) {
      const bool counts = of_champion && is_verdict_of_examiner(outcome.status);
      if (!is_believed(place)) {
        outcome.message = fmt::format("not believed of {}: {}", place.place, words(outcome));
        outcome.status = Status::infrastructure_error;
        verdict_.unconfirmed = verdict_.unconfirmed || counts;
      } else if (counts) {
        verdict_.refuted = true;
      }
    }
    commit_(kept, std::move(arm));
    return completed;
  }

  /// No worker elsewhere takes a champion from this machine's own devices.
  [[nodiscard]] bool is_believed(const PoolPlace& place) const { return place.own || !trusted_; }

  void compare_times(const PoolPlace& place, double there_ns, OtherDeviceReport& report) {
    const double claimed_ns = champion_.score_ns().value_or(there_ns);
    const double apart = std::abs(there_ns / claimed_ns - 1);
    report.agrees = apart <= (on_gpu_ ? kMostApart : 0);
    report.note = report.agrees ? fmt::format("{:.1f} us there", there_ns / 1e3)
                                : fmt::format("{:.1f} us there, where {:.1f} us were said", there_ns / 1e3,
                                              claimed_ns / 1e3);
    if (report.agrees) return;
    verdict_.refuted = place.own && !trusted_;
    verdict_.unconfirmed = true;
  }

  /// That another GPU has another order is no lie, unless the one that decided may be lying.
  void compare_with_runner_up(const PoolPlace& place, OtherDeviceReport& report) {
    const Completed& best = *champion_.best();
    const auto runner_up = std::ranges::find_if(champion_.ranking(), [&](const Champion::Entry& entry) {
      return entry.variant != champion_.variant() && entry.completed.result.outcome.status == Status::ok;
    });
    if (runner_up == champion_.ranking().end()) return;
    EvaluationRequest request = runner_up->completed.request;
    request.rival = std::make_shared<const Candidate>(best.request.candidate);
    request.tag = fmt::format("{}", *champion_.variant());
    const auto completed = evaluate(std::move(request), place, "comparison");
    if (!completed) return;
    const EvaluationResult& result = completed->result;
    if (result.rival_failed && is_verdict_of_examiner(result.outcome.status)) {
      report.agrees = false;
      report.note += ", and next to the runner-up " + words(result.outcome);
    }
    const auto verdict = judge_pairs(*completed);
    if (!verdict) return;
    report.note += ", where the runner-up is " + verdict->text();
    report.agrees = !verdict->faster;
    if (verdict->faster && place.own && !trusted_) verdict_.refuted = true;
  }

  const Champion& champion_;
  bool on_gpu_;
  const Evaluate& evaluate_;
  const Commit& commit_;
  bool trusted_ = false;  ///< devices of this machine made it the champion
  std::vector<const PoolPlace*> others_;
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

}  // namespace ak::agent
