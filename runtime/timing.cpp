// SPDX-License-Identifier: Apache-2.0
#include "runtime/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/stats.h"
#include "runtime/check.h"
#include "runtime/sampling.h"

namespace ak::runtime {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kSets =
    2;  ///< of inputs and outputs: a result kept from the call before is wrong for this one
// Untimed samples, for clocks, instruction cache and lazy loading: until the last three agree to 2 %, as far
// as noise lets them.
constexpr std::size_t kFewestWarmUps = 3, kMostWarmUps = 12;
constexpr double kSteady = 0.02, kWarmUpNs = 50e6;
// Throttling lasts for milliseconds at least; asking NVML takes tens of microseconds.
constexpr std::size_t kSamplesPerProbe = 10;
// 40 pairs tell 1 % apart under noise of 1 % (tests/core/stats_test.cpp); slow kernels, which have less of
// it, get by with fewer.
constexpr std::size_t kMostPairs = 40, kFewestPairs = 12;
constexpr double kPairsNs = 400e6;
constexpr double kClearlySlower = 1.02;
// Enqueueing a launch takes 2-4 us of host time; the GPU is kept busy that long, so that launches run back to
// back.
constexpr std::uint64_t kHostNsPerLaunch = 5'000;
constexpr std::chrono::milliseconds kReportInterval{250};

// Over twice the L2, as half of it may stay resident under a replacement policy that is not plain LRU.
std::size_t flush_bytes(const DeviceFacts& facts) {
  return std::max<std::size_t>(64u << 20, 2 * static_cast<std::size_t>(facts.l2_bytes) + (16u << 20));
}

Outcome timing_fault(CUresult result, const CandidateRun& run) {
  Outcome outcome = outcome_of(result, StageId::time, run.name());
  outcome.message += fmt::format(" while timing workload {}", run.data().workload->name);
  return outcome;
}

// Of what was not throttled, if enough is left to say anything.
std::vector<double> telling_samples(const SampleSeries& series) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < series.times_ns.size(); ++i) {
    if (!std::ranges::binary_search(series.throttled, i)) kept.push_back(series.times_ns[i]);
  }
  return kept.size() * 2 < series.times_ns.size() ? series.times_ns : kept;
}

void summarize(Measurement& measurement, const SampleSeries& series) {
  for (const double sample : series.times_ns)
    measurement.samples_ns.push_back(static_cast<std::uint32_t>(std::min(std::lround(sample), 0xFFFFFFFFl)));
  measurement.throttled = series.throttled;
  measurement.truncated = series.truncated;
  const std::vector<double> telling = telling_samples(series);
  const Interval interval = median_interval_95(telling);
  measurement.median_ns = median(telling);
  measurement.ci_low_ns = interval.low;
  measurement.ci_high_ns = interval.high;
}

/// Marks samples that were taken while the device was held down, all since the last look at a time.
class ThrottleWatch {
 public:
  explicit ThrottleWatch(const NvmlProbe& nvml) : nvml_(nvml) {}

  void probe(SampleSeries& series, bool last) {
    const std::size_t count = series.times_ns.size();
    if (!last && count < seen_ + kSamplesPerProbe) return;
    const bool held_down = nvml_.held_down();
    for (; seen_ < count; ++seen_) {
      if (held_down) series.throttled.push_back(static_cast<std::uint32_t>(seen_));
    }
  }

 private:
  const NvmlProbe& nvml_;
  std::size_t seen_ = 0;
};

bool steady(std::span<const double> samples) {
  if (samples.size() < kFewestWarmUps) return false;
  const auto [low, high] = std::ranges::minmax(samples.last(kFewestWarmUps));
  return high <= low * (1 + kSteady);
}

std::size_t pairs_within(double pair_ns) {
  return std::clamp(static_cast<std::size_t>(kPairsNs / std::max(pair_ns, 1.0)), kFewestPairs, kMostPairs);
}

}  // namespace

Timer::Timer(Workbench& bench, DataStore& store)
    : bench_(bench),
      store_(store),
      flush_(flush_bytes(bench.context.facts()), "the L2 flush buffer"),
      before_(create_event()),
      after_(create_event()),
      nvml_(bench.context.facts().uuid) {}

Result<Timer::Sets, Outcome> Timer::make_sets(const TimingTarget& target, std::uint64_t seed) {
  Sets sets;
  for (std::size_t i = 0; i < kSets; ++i) {
    auto data = store_.get(target.workload, bench_.problem.distributions.front().name, seed + i);
    const bool crowded = !sets.empty() && !data && data.error().status == Status::out_of_memory;
    if (crowded) break;
    if (!data) return data.error();
    auto run = target.bind(data.value());
    if (!run && !sets.empty() && run.error().status == Status::out_of_memory) break;
    if (!run) return run.error();
    sets.push_back(std::move(run).value());
  }
  return sets;
}

void Timer::report_now_and_then(const CandidateRun& run) {
  if (steady_clock::now() - reported_ <= kReportInterval) return;
  reported_ = steady_clock::now();
  bench_.report({.doing = "candidate",
                 .what = fmt::format("timing {} on workload {}", run.name(), run.data().workload->name),
                 .limit_ms = std::max(2'000.0, 20 * run.data().reference_ms)});
}

// Everything is enqueued in one go behind the flush, so that the GPU is never idle between the two events.
Result<double, Outcome> Timer::sample_ns(const CandidateRun& run) {
  report_now_and_then(run);
  // Lines that the call before marked as persisting would survive the flush.
  check(driver().cuCtxResetPersistingL2Cache(), "resetting persisting L2 lines");
  run.reset();
  bench_.kernels.spin(kHostNsPerLaunch * run.launch_count());
  bench_.kernels.flush(flush_.view());
  check(driver().cuEventRecord(before_.get(), bench_.stream), "recording an event");
  if (auto failed = run.enqueue()) return *failed;
  check(driver().cuEventRecord(after_.get(), bench_.stream), "recording an event");
  if (const CUresult result = driver().cuStreamSynchronize(bench_.stream); result != CUDA_SUCCESS)
    return timing_fault(result, run);
  float elapsed_ms = 0;
  check(driver().cuEventElapsedTime(&elapsed_ms, before_.get(), after_.get()),
        "reading the time between two events");
  return static_cast<double>(elapsed_ms) * 1e6;
}

Result<double, Outcome> Timer::warm_up(const Sets& sets) {
  std::vector<double> samples;
  double spent_ns = 0;
  while (samples.size() < kMostWarmUps && !steady(samples)) {
    if (samples.size() >= kFewestWarmUps && spent_ns > kWarmUpNs) break;
    const auto sample = sample_ns(sets[samples.size() % sets.size()]);
    if (!sample) return sample.error();
    samples.push_back(sample.value());
    spent_ns += sample.value();
  }
  return median(samples);
}

std::optional<Outcome> Timer::sample_all(const Sets& sets, const TimingTarget& target,
                                         const TimingBudget& budget, SampleSeries& series) {
  if (const auto warm = warm_up(sets); !warm) return warm.error();
  ThrottleWatch watch(nvml_);
  Sampling state = Sampling::go_on;
  while (state == Sampling::go_on) {
    const auto sample = sample_ns(sets[bench_.random() % sets.size()]);
    if (!sample) return sample.error();
    series.times_ns.push_back(sample.value());
    state = decide(series.times_ns, budget, target.incumbent_ns);
    watch.probe(series, state != Sampling::go_on);
  }
  series.truncated = state != Sampling::converged;
  return std::nullopt;
}

Result<Measurement, Outcome> Timer::conclude(const TimingTarget& target, const Sets& sets,
                                             const SampleSeries& series) {
  Measurement measurement;
  measurement.workload = target.workload.name;
  measurement.role = target.role;
  measurement.label = target.label;
  summarize(measurement, series);
  const DeviceCondition condition = nvml_.read();
  measurement.sm_clock_mhz = condition.sm_clock_mhz;
  measurement.memory_clock_mhz = condition.memory_clock_mhz;
  measurement.temperature_c = condition.temperature_c;
  measurement.power_w = condition.power_w;
  measurement.throttle_reasons = condition.throttle_reasons;
  bench_.report({.doing = "harness", .what = "checking timed results", .limit_ms = 30'000});
  std::vector<CheckRecord> ignored;
  std::vector<CheckRecord>& records = target.records != nullptr ? *target.records : ignored;
  for (const CandidateRun& run : sets) {
    if (auto failed = run.verify_memory(StageId::recheck)) return *failed;
    if (auto failed = compare_outputs(bench_, run, StageId::recheck, "in the last timed call", records))
      return *failed;
  }
  return measurement;
}

Result<Measurement, Outcome> Timer::measure(const TimingTarget& target, std::uint64_t seed,
                                            const TimingBudget& budget) {
  const auto sets = make_sets(target, seed);
  if (!sets) return sets.error();
  SampleSeries series;
  if (auto failed = sample_all(*sets, target, budget, series)) return *failed;
  return conclude(target, *sets, series);
}

std::optional<Outcome> Timer::sample_pairs(const std::array<Sets, 2>& sets, std::size_t pairs,
                                           std::array<SampleSeries, 2>& series) {
  ThrottleWatch watch(nvml_);
  std::vector<double> ratios;
  const std::size_t common = std::min(sets[0].size(), sets[1].size());
  while (ratios.size() < pairs) {
    const std::size_t first = bench_.random() % 2, inputs = bench_.random() % common;
    for (const std::size_t which : {first, 1 - first}) {
      const auto sample = sample_ns(sets[which][inputs]);
      if (!sample) return sample.error();
      series[which].times_ns.push_back(sample.value());
    }
    ratios.push_back(series[0].times_ns.back() / series[1].times_ns.back());
    watch.probe(series[0], ratios.size() == pairs);
    if (ratios.size() == kFewestPairs && median(ratios) > kClearlySlower) break;
  }
  series[1].throttled = series[0].throttled;
  for (SampleSeries& one : series) one.truncated = ratios.size() < pairs;
  return std::nullopt;
}

Result<std::array<Measurement, 2>, Outcome> Timer::measure_in_pairs(const TimingTarget& challenger,
                                                                    const TimingTarget& champion,
                                                                    std::uint64_t seed) {
  std::array<Sets, 2> sets;
  double pair_ns = 0;
  for (const auto& [target, own] : {std::pair(&challenger, &sets[0]), std::pair(&champion, &sets[1])}) {
    auto made = make_sets(*target, seed);
    if (!made) return made.error();
    *own = std::move(made).value();
    const auto warm = warm_up(*own);
    if (!warm) return warm.error();
    pair_ns += *warm;
  }
  std::array<SampleSeries, 2> series;
  if (auto failed = sample_pairs(sets, pairs_within(pair_ns), series)) return *failed;
  auto first = conclude(challenger, sets[0], series[0]);
  if (!first) return first.error();
  auto second = conclude(champion, sets[1], series[1]);
  if (!second) return second.error();
  return std::array{std::move(first).value(), std::move(second).value()};
}

}  // namespace ak::runtime
