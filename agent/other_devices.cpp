// SPDX-License-Identifier: Apache-2.0
#include "agent/other_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/paired_comparison.h"
#include "agent/seeds.h"
#include "core/text/hash.h"

namespace ak::agent {
namespace {

// GPUs of a model are apart by their clocks, a few percent; who forges times gains no more than this (chosen).
constexpr double kMostApart = 0.1;

bool has_joined(const PoolPlace& place) { return place.device != nullptr && place.reason.empty(); }

class OtherDevices {
 public:
  using EvaluateThere = std::function<std::optional<Completed>(EvaluationRequest, std::string)>;

  OtherDevices(const Champion& champion, const std::vector<PoolPlace>& places, bool on_gpu,
               const EvaluateThere& evaluate)
      : champion_(champion), on_gpu_(on_gpu), evaluate_(evaluate) {
    // On GPUs the first one decides who leads, on CPU devices the cost that was answered.
    const auto first = std::ranges::find_if(places, has_joined);
    for (const PoolPlace& place : places) {
      const bool claims = place.place == champion.best()->result.place ||
                          (on_gpu && first != places.end() && place.place == first->place);
      if (claims)
        trusted_ = trusted_ && place.own;
      else if (has_joined(place))
        others_.push_back(&place);
    }
    std::ranges::stable_partition(others_, &PoolPlace::own);
  }

  OtherDevicesVerdict ask(int devices) {
    int wanted = std::max(devices - 1, trusted_ ? 0 : 1);
    for (auto other = others_.begin(); wanted > 0 && other != others_.end() && !verdict_.refuted; ++other)
      if (ask(**other)) --wanted;
    if (wanted > 0 && !verdict_.refuted)
      verdict_.reports.push_back({.place = "", .agrees = false, .note = "no other device was there to ask"});
    return std::move(verdict_);
  }

 private:
  /// False where it said nothing of the champion.
  bool ask(const PoolPlace& place) {
    EvaluationRequest request = champion_.best()->request;
    request.place = place.place;
    request.champion_score_ns.reset();
    request.rival.reset();
    if (on_gpu_) {  // where times are noisy, inputs that no one knew
      request.changing_inputs = true;
      request.seed = derive_seed(random_seed(), 0);
    }
    const auto completed = evaluate_(std::move(request), "examination");
    const bool fault = completed && info(completed->result.outcome.status).candidate_fault;
    if (!completed || (!completed->result.score_ns && !fault)) return false;
    OtherDeviceReport report{.place = place.place, .agrees = !fault, .note = ""};
    if (fault) {
      verdict_.refuted = true;
      report.note = fmt::format("{}: {}", to_string(completed->result.outcome.status),
                                completed->result.outcome.message);
    } else {
      compare_times(place, *completed->result.score_ns, report);
      if (on_gpu_ && report.agrees) compare_with_runner_up(place, report);
    }
    verdict_.reports.push_back(std::move(report));
    return true;
  }

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
    request.place = place.place;
    const auto completed = evaluate_(std::move(request), "comparison");
    const auto verdict = completed ? judge_pairs(*completed) : std::nullopt;
    if (!verdict) return;
    report.note += ", where the runner-up is " + verdict->text();
    report.agrees = !verdict->faster;
    if (verdict->faster && place.own && !trusted_) verdict_.refuted = true;
  }

  const Champion& champion_;
  bool on_gpu_;
  const EvaluateThere& evaluate_;
  bool trusted_ = true;  ///< devices of this machine made it the champion
  std::vector<const PoolPlace*> others_;
  OtherDevicesVerdict verdict_;
};

}  // namespace

OtherDevicesVerdict ask_other_devices(
    const Champion& champion, const std::vector<PoolPlace>& places, int devices, bool on_gpu,
    const std::function<std::optional<Completed>(EvaluationRequest, std::string)>& evaluate) {
  if (places.empty()) return {};
  return OtherDevices(champion, places, on_gpu, evaluate).ask(devices);
}

}  // namespace ak::agent
