// SPDX-License-Identifier: Apache-2.0
#include "agent/paired_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace ak::agent {
namespace {

// Of what decides a race: the loser by chance is nearly as fast, and a race that decides nothing leaves an early leader
// that is not (chosen: experiments/results/2026-11-27_races).
constexpr double kLikely = 0.75;

double weight_of(std::span<const Workload> workloads, const std::string& name) {
  const auto found = std::ranges::find(workloads, name, &Workload::name);
  return found == workloads.end() ? 1 : found->weight;
}

}  // namespace

const Measurement* other_of(const EvaluationResult& result, const std::string& workload,
                            MeasurementRole role) {
  const auto found = std::ranges::find_if(
      result.measurements, [&](const Measurement& m) { return m.role == role && m.workload == workload; });
  return found == result.measurements.end() ? nullptr : &*found;
}

PairedSamples pair_up(const Measurement& challenger, const Measurement& champion, double weight) {
  PairedSamples pairs{.challenger_ns = {}, .champion_ns = {}, .weight = weight};
  const std::size_t count = std::min(challenger.samples_ns.size(), champion.samples_ns.size());
  for (const std::size_t i : usable_samples(count, challenger.throttled)) {
    pairs.challenger_ns.push_back(std::max(challenger.samples_ns[i], 1u));
    pairs.champion_ns.push_back(std::max(champion.samples_ns[i], 1u));
  }
  return pairs;
}

std::string PairedVerdict::text() const {
  const auto gain = [](double time_ratio) { return 100 * (1 - time_ratio); };
  return fmt::format("{:.2f} % {} in pairs (99 % interval {:.2f} to {:.2f} %)", std::abs(gain(ratio.ratio)),
                     ratio.ratio <= 1 ? "faster" : "slower", gain(ratio.interval.high),
                     gain(ratio.interval.low));
}

std::optional<PairedVerdict> judge_pairs(const Completed& comparison) {
  return judge_pairs(comparison.result, comparison.request.problem->workloads);
}

std::optional<PairedVerdict> judge_pairs(const EvaluationResult& result,
                                         std::span<const Workload> workloads) {
  if (result.outcome.status != Status::ok) return std::nullopt;
  std::vector<PairedSamples> samples;
  std::vector<double> challenger_ns, champion_ns, weights;
  for (const Measurement& m : result.measurements) {
    const Measurement* champion = m.role == MeasurementRole::candidate
                                      ? other_of(result, m.workload, MeasurementRole::champion)
                                      : nullptr;
    if (champion == nullptr || m.samples_ns.empty() || champion->samples_ns.empty()) continue;
    weights.push_back(weight_of(workloads, m.workload));
    samples.push_back(pair_up(m, *champion, weights.back()));
    challenger_ns.push_back(median(samples.back().challenger_ns) / m.launches_per_sample);
    champion_ns.push_back(median(samples.back().champion_ns) / champion->launches_per_sample);
  }
  if (samples.empty()) return std::nullopt;
  PairedVerdict verdict{.ratio = paired_ratio(samples),
                        .challenger_ns = weighted_geometric_mean(challenger_ns, weights),
                        .champion_ns = weighted_geometric_mean(champion_ns, weights)};
  const bool gains = verdict.ratio.ratio <= 1 - kMinGain;
  verdict.faster = gains && verdict.ratio.interval.high < 1;
  verdict.likely_faster = gains && paired_ratio(samples, kLikely).interval.high < 1;
  return verdict;
}

void name_the_rival(Completed& comparison) {
  comparison.request.candidate = *comparison.request.rival;
  comparison.result.build.reset();
}

}  // namespace ak::agent
